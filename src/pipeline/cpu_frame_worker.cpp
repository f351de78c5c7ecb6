// Frames on this machine's CPU: nothing is copied. The tensor is computed from the memory that the source wrote to, in
// one thread (and its team), while another thread queries the tensor of the frame before.

#include "pipeline/frame_request.hpp"
#include "pipeline/frame_worker.hpp"
#include "pipeline/histogram_lists.hpp"

#include <boxsum/table.hpp>

#include <utility>
#include <vector>

namespace boxsum::detail {
namespace {

struct cpu_memory final : frame_slot::worker_memory {
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
        slot.memory.image = {memory->image.memory.data(), memory->image.shape};
        if (job_.weighted()) {
            memory->weights = allocate_table({}, dtype::f32, job_.format.rows, job_.format.cols, 1, 1);
            slot.memory.weights = {memory->weights.memory.data(), memory->weights.shape};
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
        query(slot);
    }

  private:
    void compute(frame_slot& slot) {
        const stage_timer timer(slot, pipeline_stage::compute);
        const box region = region_of(*slot.request, job_.format);
        owned_tensor& tensor = static_cast<cpu_memory&>(*slot.own).tensor;
        const std::int64_t rows = job_.form.table_extent(region.rows);
        const std::int64_t cols = job_.form.table_extent(region.cols);
        if (tensor.shape.rows != rows || tensor.shape.cols != cols) {
            tensor = {};  // back to the pool before another is taken
            tensor = allocate_tensor({}, job_.entries, 1, job_.bins.bins(), rows, cols);
        }
        const any_histogram_view result{{tensor.memory.data(), tensor.shape}, job_.form};
        integral_histogram(part_of_frame({slot.memory.image, slot.memory.weights}, region), job_.bins, {result},
                           job_.histogram);
        slot.result.region = region;
        slot.result.tensor = result;
    }

    void query(frame_slot& slot) {
        const frame_request& request = *slot.request;
        if (request.boxes.empty() && request.grids.empty()) return;
        const stage_timer timer(slot, pipeline_stage::query);
        frame_result& result = slot.result;
        result.histograms = histograms_of(result.tensor, boxes_in_region(request, result.region));
        if (request.grids.empty()) return;
        result.matches = best_windows(result.tensor, grids_in_region(request, result.region), request.target,
                                      request.distance, request.count);
        if (request.match_histograms) {
            std::vector<box> places;
            for (const histogram_match& m : result.matches) places.push_back(m.where);
            result.match_histograms = histograms_of(result.tensor, places);
        }
        for (histogram_match& m : result.matches) {
            m.where.row += result.region.row;
            m.where.col += result.region.col;
        }
    }

    frame_job job_;
};

}  // namespace

std::unique_ptr<frame_worker> make_cpu_frame_worker(const frame_job& job) {
    return std::make_unique<cpu_frame_worker>(job);
}

}  // namespace boxsum::detail
