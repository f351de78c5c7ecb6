#include "report/histogram_query.hpp"

#include "papers/printed.hpp"
#include "report/axis.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace boxsum::bench {

std::vector<histogram_line> gpu_lines() {
    std::vector<histogram_line> lines;
    for (const char* name : {"cw-b", "cw-sts", "cw-tis", "wf-tis", "fast"}) lines.push_back({name, "cuda", name, 0});
    return lines;
}

std::vector<histogram_line> cpu_lines(const bench_record& record) {
    std::set<std::pair<int, std::string>> found;  // by threads; the paper's algorithm behind ours would be odd
    for (const histogram_row& r : record.histograms)
        if (r.what == "tensor" && r.backend == "cpu") found.insert({r.threads, r.algorithm});
    std::vector<histogram_line> lines;
    for (const bool sequential : {true, false})
        for (const auto& [threads, algorithm] : found)
            if ((algorithm == "sequential") == sequential)
                lines.push_back({algorithm + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads"),
                                 "cpu", algorithm, threads});
    return lines;
}

std::vector<histogram_line> all_lines(const bench_record& record) {
    std::vector<histogram_line> lines = gpu_lines();
    for (histogram_line& line : cpu_lines(record)) lines.push_back(std::move(line));
    return lines;
}

const histogram_row* tensor_row(const bench_record& record, const histogram_line& line, const histogram_size& size) {
    for (const histogram_row& r : record.histograms)
        if (r.what == "tensor" && r.backend == line.backend && r.algorithm == line.algorithm && r.parameters.empty() &&
            r.threads == line.threads && histogram_size{r.rows, r.cols, r.bins} == size)
            return &r;
    return nullptr;
}

std::optional<double> plain_us(const bench_record& record, std::string_view what, const histogram_size& size) {
    for (const histogram_row& r : record.histograms)
        if (r.what == what && histogram_size{r.rows, r.cols, r.bins} == size) return r.us;
    return {};
}

std::optional<double> frame_us(const bench_record& record, const histogram_line& line, const histogram_size& size) {
    const histogram_row* const row = tensor_row(record, line, size);
    if (row == nullptr || !row->us) return {};
    if (line.backend == "cpu") return row->us;
    const auto up = plain_us(record, "upload", size), down = plain_us(record, "download", size);
    if (!up || !down) return {};
    return std::max(*row->us, *up + *down);
}

std::vector<std::int64_t> square_sizes(const bench_record& record) {
    std::set<std::int64_t> sizes;
    for (const histogram_row& r : record.histograms)
        if (r.what == "tensor" && r.rows == r.cols && r.bins == paper_bins && r.image.empty()) sizes.insert(r.rows);
    return {sizes.begin(), sizes.end()};
}

bins_at varied_bins(const bench_record& record) {
    std::map<std::int64_t, std::set<std::int64_t>> bins_of;
    for (const histogram_row& r : record.histograms)
        if (r.what == "tensor" && r.rows == r.cols) bins_of[r.rows].insert(r.bins);
    bins_at best;
    for (const auto& [size, bins] : bins_of)
        if (bins.size() > best.bins.size() || (bins.size() == best.bins.size() && size == 512))
            best = {size, {bins.begin(), bins.end()}};
    return best;
}

std::string place_of(const nlohmann::ordered_json& figure) {
    return printed("poostchi-2017")["citation"].get<std::string>() + ", " + figure["source"].get<std::string>() +
           (figure.contains("machine") ? ", " + figure["machine"].get<std::string>() : std::string());
}

cell ms_cell(const histogram_row* row) {
    if (row == nullptr) return {"not measured", emphasis::muted};
    if (row->wrong()) return {"wrong", emphasis::wrong};
    return row->us ? cell{three_digits(*row->us / 1000)} : cell{"-", emphasis::muted};
}

cell value_cell(std::optional<double> value, bool refused) {
    return value ? cell{three_digits(*value)} : cell{refused ? "-" : "not measured", emphasis::muted};
}

std::vector<cell> not_measured(const std::string& name, std::size_t columns) {
    std::vector<cell> row{{name}};
    row.resize(columns, {"not measured", emphasis::muted});
    return row;
}

}  // namespace boxsum::bench
