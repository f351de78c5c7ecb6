#include "pipeline/bin_worker.hpp"

#include <vector>

namespace boxsum::detail {

binning bins_of(const bin_job& job, const bin_task& task) {
    std::vector<std::uint16_t> table(job.inputs.image.shape.type == dtype::u8 ? 256 : 65536);
    for (std::size_t v = 0; v < table.size(); ++v) {
        const std::int64_t bin = job.bins->bin_of(static_cast<double>(v)) - task.first_bin;
        table[v] = bin >= 0 && bin < task.bins ? static_cast<std::uint16_t>(bin) : binning::no_bin;
    }
    return binning::lookup(task.bins, table);
}

any_histogram_view part_of(const bin_job& job, const bin_task& task) {
    any_histogram_view part = job.tensor;
    part.entries.data = static_cast<std::byte*>(part.entries.data) + task.first_bin * part.entries.shape.bin_stride;
    part.entries.shape.bins = task.bins;
    return part;
}

}  // namespace boxsum::detail
