#include "core/visit_histogram.hpp"
#include "pipeline/bin_worker.hpp"

#include <boxsum/table.hpp>

#include <limits>

namespace boxsum::detail {
namespace {

class kept_on_host final : public kept_bins {
  public:
    explicit kept_on_host(owned_tensor tensor) : tensor_(std::move(tensor)) {}

    std::optional<int> device() const override { return {}; }
    const_any_tensor_view tensor() const override { return {tensor_.memory.data(), tensor_.shape}; }

    std::vector<std::uint32_t> box_histograms(std::span<const box> boxes, table_layout layout,
                                              std::int64_t plane) const override {
        std::vector<std::uint32_t> counts;
        visit_one_of(histogram_counts{}, tensor_.shape.type, [&]<typename Entry>() {
            std::vector<Entry> found(boxes.size() * static_cast<std::size_t>(tensor_.shape.bins));
            boxsum::box_histograms<Entry>(tensor(), boxes, std::span<Entry>(found), layout, plane);
            counts.assign(found.begin(), found.end());
        });
        return counts;
    }

    std::vector<float> box_sums(std::span<const box> boxes, table_layout layout, std::int64_t plane) const override {
        std::vector<float> found(boxes.size() * static_cast<std::size_t>(tensor_.shape.bins));
        boxsum::box_histograms<float>(tensor(), boxes, std::span<float>(found), layout, plane);
        return found;
    }

  private:
    owned_tensor tensor_;
};

/// Computes a task when it is started, straight into the result.
class cpu_bin_worker final : public bin_worker {
  public:
    explicit cpu_bin_worker(int number) : name_("cpu:" + std::to_string(number)) {}

    std::string name() const override { return name_; }
    std::int64_t most_bins(const bin_job&) const override { return std::numeric_limits<std::int64_t>::max(); }
    void begin(const bin_job& job) override { job_ = &job; }

    void start(const bin_task& task) override {
        any_tensor_view destination;
        if (job_->keeps()) {
            const view_shape& image = job_->image.shape;
            const table_layout layout = job_->histogram.layout;
            tensor_ = allocate_tensor(memory_pool::shared(), job_->entries, image.planes, task.bins,
                                      table_rows(image.rows, layout), table_cols(image.cols, layout));
            destination = {tensor_.memory.data(), tensor_.shape};
        } else {
            destination = part_of(*job_, task);
        }
        if (job_->weights)
            integral_histogram(job_->image, *job_->weights, bins_of(*job_, task), destination, job_->histogram);
        else
            integral_histogram(job_->image, bins_of(*job_, task), destination, job_->histogram);
    }

    std::unique_ptr<kept_bins> finish(const bin_task&) override {
        if (!job_->keeps()) return nullptr;
        return std::make_unique<kept_on_host>(std::move(tensor_));
    }

    void end() noexcept override {
        tensor_ = {};
        job_ = nullptr;
    }

  private:
    std::string name_;
    const bin_job* job_ = nullptr;
    owned_tensor tensor_;
};

}  // namespace

std::unique_ptr<bin_worker> make_cpu_bin_worker(int number) {
    return std::make_unique<cpu_bin_worker>(number);
}

}  // namespace boxsum::detail
