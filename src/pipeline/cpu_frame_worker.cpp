// Frames on this machine's CPU: nothing is copied. The tensor is computed from the memory that the source wrote to, in
// one thread (and its team), while another thread queries the tensor of the frame before.

#include "core/visit_histogram.hpp"
#include "pipeline/frame_request.hpp"
#include "pipeline/frame_worker.hpp"

#include <boxsum/table.hpp>

#include <algorithm>
#include <span>
#include <type_traits>

namespace boxsum::detail {
namespace {

struct cpu_memory final : frame_slot::memory {
    owned_table image, weights;
    owned_tensor tensor;
};

enum step : int { compute_step, query_step, step_count };

class cpu_frame_worker final : public frame_worker {
  public:
    explicit cpu_frame_worker(const frame_job& job) : job_(job) {}

    void prepare(frame_slot& slot) override {
        auto memory = std::make_unique<cpu_memory>();
        memory->image = allocate_table({}, job_.format.type, job_.format.rows, job_.format.cols, 1, 1);
        slot.image = {memory->image.memory.data(), memory->image.shape};
        if (job_.weighted) {
            memory->weights = allocate_table({}, dtype::f32, job_.format.rows, job_.format.cols, 1, 1);
            slot.weights = {memory->weights.memory.data(), memory->weights.shape};
        }
        slot.own = std::move(memory);
    }

    int steps() const override { return step_count; }
    int planned_step() const override { return compute_step; }
    pipeline_stage stage_of(int step) const override {
        return step == compute_step ? pipeline_stage::compute : pipeline_stage::query;
    }
    void stop() noexcept override {}

    void run(int step, frame_slot& slot) override {
        if (step == compute_step) return compute(slot);
        if (slot.request->boxes.empty() && slot.request->grids.empty()) return;
        visit_one_of(histogram_entries{}, job_.entries, [&]<typename Entry>() { query<Entry>(slot); });
    }

  private:
    void compute(frame_slot& slot) {
        const stage_timer timer(slot, pipeline_stage::compute);
        const box region = region_of(*slot.request, job_.format);
        owned_tensor& tensor = static_cast<cpu_memory&>(*slot.own).tensor;
        const std::int64_t rows = table_rows(region.rows, job_.histogram.layout);
        const std::int64_t cols = table_cols(region.cols, job_.histogram.layout);
        if (tensor.shape.rows != rows || tensor.shape.cols != cols) {
            tensor = {};  // back to the pool before another is taken
            tensor = allocate_tensor(memory_pool::shared(), job_.entries, 1, job_.bins.bins(), rows, cols);
        }
        const any_tensor_view result{tensor.memory.data(), tensor.shape};
        if (job_.weighted)
            integral_histogram(part_of_frame(slot.image, region), part_of_frame(slot.weights, region), job_.bins,
                               result, job_.histogram);
        else
            integral_histogram(part_of_frame(slot.image, region), job_.bins, result, job_.histogram);
        slot.result.region = region;
        slot.result.tensor = {tensor.memory.data(), tensor.shape};
        slot.result.layout = job_.histogram.layout;
    }

    template <typename Entry>
    void query(frame_slot& slot) {
        const stage_timer timer(slot, pipeline_stage::query);
        const frame_request& request = *slot.request;
        frame_result& result = slot.result;
        if (!request.boxes.empty())
            count(result, boxes_in_region(request, result.region), answers<Entry>(result.histograms, result.sums));
        if (request.grids.empty()) return;
        result.matches = best_windows(result.tensor, grids_in_region(request, result.region), request.target,
                                      request.distance, request.count, result.layout);
        if (request.match_histograms && !result.matches.empty()) {
            std::vector<box> places;
            for (const histogram_match& m : result.matches) places.push_back(m.where);
            count(result, places, answers<Entry>(result.match_histograms, result.match_sums));
        }
        for (histogram_match& m : result.matches) {
            m.where.row += result.region.row;
            m.where.col += result.region.col;
        }
    }

    /// Where entries go: counts, or sums of weights.
    template <typename Entry>
    struct answers {
        std::vector<std::uint32_t>& counts;
        std::vector<float>& sums;

        answers(std::vector<std::uint32_t>& to_counts, std::vector<float>& to_sums)
            : counts(to_counts), sums(to_sums) {}
    };

    template <typename Entry>
    void count(const frame_result& result, const std::vector<box>& boxes, const answers<Entry>& to) const {
        std::vector<Entry> found(boxes.size() * static_cast<std::size_t>(job_.bins.bins()));
        box_histograms<Entry>(result.tensor, boxes, std::span<Entry>(found), result.layout);
        if constexpr (std::is_floating_point_v<Entry>)
            to.sums = std::move(found);
        else
            to.counts.assign(found.begin(), found.end());
    }

    frame_job job_;
};

}  // namespace

std::unique_ptr<frame_worker> make_cpu_frame_worker(const frame_job& job) {
    return std::make_unique<cpu_frame_worker>(job);
}

}  // namespace boxsum::detail
