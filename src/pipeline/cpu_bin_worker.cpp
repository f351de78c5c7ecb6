#include "pipeline/bin_worker.hpp"
#include "pipeline/histogram_lists.hpp"

#include <boxsum/table.hpp>

#include <limits>

namespace boxsum::detail {
namespace {

class kept_on_host final : public kept_bins {
  public:
    kept_on_host(owned_tensor tensor, table_form form) : tensor_(std::move(tensor)), form_(form) {}

    std::optional<int> device() const override { return {}; }
    const_any_histogram_view tensor() const override { return {{tensor_.memory.data(), tensor_.shape}, form_}; }
    histogram_list box_histograms(std::span<const box> boxes, std::int64_t plane) const override {
        return histograms_of(tensor(), boxes, plane);
    }

  private:
    owned_tensor tensor_;
    table_form form_;
};

/// Computes a task when it is started, straight into the result.
class cpu_bin_worker final : public bin_worker {
  public:
    explicit cpu_bin_worker(int number) : name_("cpu:" + std::to_string(number)) {}

    std::string name() const override { return name_; }
    std::int64_t most_bins(const bin_job&) const override { return std::numeric_limits<std::int64_t>::max(); }
    void begin(const bin_job& job) override { job_ = &job; }

    void start(const bin_task& task) override {
        any_histogram_view destination;
        if (job_->keeps()) {
            const tensor_shape& all = job_->tensor.entries.shape;
            tensor_ = allocate_tensor({}, all.type, all.planes, task.bins, all.rows, all.cols);
            destination = {{tensor_.memory.data(), tensor_.shape}, job_->tensor.form};
        } else {
            destination = part_of(*job_, task);
        }
        integral_histogram(job_->inputs, bins_of(*job_, task), {destination}, job_->histogram);
    }

    std::unique_ptr<kept_bins> finish(const bin_task&) override {
        if (!job_->keeps()) return nullptr;
        return std::make_unique<kept_on_host>(std::move(tensor_), job_->tensor.form);
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
