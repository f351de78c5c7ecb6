// Bin tasks on one CUDA device. The image goes up once, shared with other devices where they reach each other; then two
// tasks are in flight: while the bins of one travel to the host on their own stream, those of the next are computed.
//
//     compute stream   | task 0 |   task 1 |   task 2 |
//     copy stream               | bins of 0 | bins of 1 | ...
//
// The buffer of a task is used again two tasks later, when its copy has been waited for.

#include "pipeline/bin_worker.hpp"

#include "core/visit_histogram.hpp"
#include "cuda/pipeline/device_input.hpp"
#include "cuda/pipeline/shared_upload.hpp"
#include "cuda/pipeline/tensor_copy.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/event.hpp"
#include "pipeline/histogram_lists.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/table.hpp>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

namespace boxsum::detail {
namespace {

using cuda::device_scope;
using cuda::event;

constexpr std::size_t in_flight = 2;
constexpr std::int64_t bins_counted_together = 32;

struct timed_copy {
    event begin, end;
};

/// A plan enqueues no more than kernels, so it must live until they have run: it holds the look-up table.
struct started_task {
    bin_task task;
    cuda::histogram_plan plan;
    cuda::device_buffer tensor;
    histogram_shape shape;
    event done;
};

histogram_shape shape_of(const bin_job& job, std::int64_t bins) {
    const view_shape& image = job.inputs.image.shape;
    return cuda::device_histogram_shape(job.entries(), bins, image.rows, image.cols, job.tensor.form, image.planes);
}

std::size_t bytes_of(const histogram_shape& s) {
    return static_cast<std::size_t>(s.entries.planes * s.entries.plane_stride);
}

class kept_on_device final : public kept_bins {
  public:
    kept_on_device(int device, std::shared_ptr<cuda::stream> stream, cuda::device_buffer memory,
                   const histogram_shape& shape)
        : device_(device), stream_(std::move(stream)), memory_(std::move(memory)), shape_(shape) {}
    kept_on_device(const kept_on_device&) = delete;
    kept_on_device& operator=(const kept_on_device&) = delete;

    /// By the caller's thread, which has a device of its own.
    ~kept_on_device() override {
        const cuda::quiet_device_scope scope(device_);
        memory_ = {};
        stream_ = nullptr;
    }

    std::optional<int> device() const override { return device_; }
    const_any_histogram_view tensor() const override { return {{memory_.data(), shape_.entries}, shape_.form}; }

    histogram_list box_histograms(std::span<const box> boxes, std::int64_t plane) const override {
        const device_scope scope(device_);
        const cuda::stream stream;  // of this call: others may ask at the same time
        histogram_list list;
        visit_one_of(histogram_entries{}, shape_.entries.type, [&]<typename Entry>() {
            std::vector<Entry> found(boxes.size() * static_cast<std::size_t>(shape_.entries.bins));
            cuda::box_histograms<Entry>(tensor(), boxes, std::span<Entry>(found), stream, plane);
            list = as_list<Entry>(found);
        });
        return list;
    }

  private:
    int device_;
    std::shared_ptr<cuda::stream> stream_;  ///< that the memory is freed on
    cuda::device_buffer memory_;
    histogram_shape shape_;
};

class cuda_bin_worker final : public bin_worker {
  public:
    explicit cuda_bin_worker(int device) : device_(device), name_("cuda:" + std::to_string(device)) {
        (void)cuda::describe_device(device);  // says that there is none
    }

    std::string name() const override { return name_; }
    std::optional<int> device() const override { return device_; }
    bool wants_pinned_memory() const override { return true; }
    std::size_t depth() const override { return in_flight; }

    std::int64_t most_bins(const bin_job& job) const override {
        // Half for the tensors in flight; the rest for workspaces, the image, and others on the device.
        const std::size_t available = cuda::describe_device(device_).free_bytes / 2 / in_flight;
        return static_cast<std::int64_t>(available / bytes_of(shape_of(job, 1)));
    }

    /// Half as many bins as the production kernel counts at once take more than half the time: whatever is counted
    /// once more. Where results travel, the link is what takes time, and should not wait.
    std::int64_t bins_together(const bin_job& job) const override { return job.keeps() ? bins_counted_together : 1; }

    void begin(const bin_job& job) override {
        const device_scope scope(device_);
        job_ = &job;
        compute_ = std::make_shared<cuda::stream>();
        copy_ = std::make_shared<cuda::stream>();
        input_ = std::make_shared<device_input>(job, device_, compute_);
        upload_.emplace();
        upload_->begin.record(*compute_);
        others_missing_ = job.upload != nullptr;
        if (others_missing_)
            job.upload->begin(job, input_);
        else
            input_->upload(job, {0, input_->rows()});
        upload_->end.record(*compute_);
    }

    void start(const bin_task& task) override {
        const device_scope scope(device_);
        const histogram_shape shape = shape_of(*job_, task.bins);
        const histogram_inputs inputs = input_->inputs();
        histogram_shapes shapes{inputs.image.shape, shape};
        if (job_->weighted()) shapes.weights = inputs.weights.shape;
        started_.push_back({task, cuda::histogram_plan(shapes, bins_of(*job_, task), job_->histogram),
                            free_buffer(bytes_of(shape)), shape, event()});
        started_task& s = started_.back();
        workspace_.reserve(s.plan.workspace_bytes(), *compute_);
        // Not before the first task is ready: the others had the time until here.
        if (std::exchange(others_missing_, false)) {
            sources_ = job_->upload->complete(*job_, *input_);
            upload_->end.record(*compute_);
        }
        const any_histogram_view tensor{{s.tensor.data(), shape.entries}, shape.form};
        s.plan.run_async(inputs, {tensor}, workspace_, *compute_);
        s.done.record(*compute_);
        if (job_->keeps()) return;
        s.done.precede(*copy_);
        cuda::copy_tensor_async(tensor.entries, part_of(*job_, task).entries, *copy_);
        s.done.record(*copy_);
    }

    std::unique_ptr<kept_bins> finish(const bin_task&) override {
        const device_scope scope(device_);
        started_task& s = started_.front();
        s.done.synchronize();
        for (const auto& source : std::exchange(sources_, {})) source->wait_published();
        std::unique_ptr<kept_bins> kept;
        if (job_->keeps())
            kept = std::make_unique<kept_on_device>(device_, compute_, std::move(s.tensor), s.shape);
        else
            free_ = std::move(s.tensor);
        started_.pop_front();
        return kept;
    }

    double upload_seconds() const override {
        const device_scope scope(device_);
        upload_->end.synchronize();
        return upload_->end.seconds_since(upload_->begin);
    }

    void end() noexcept override {
        try {
            const device_scope scope(device_);
            // After a failure copies to the caller's memory may be under way still, and from that of other devices.
            for (const auto& stream : {compute_, copy_})
                if (stream != nullptr) (void)cudaStreamSynchronize(stream->get());
            started_.clear();
            free_ = {};
            workspace_ = {};
            sources_.clear();
            input_ = nullptr;  // unless it is shared: then it is held until the end of the run
            upload_.reset();
            copy_ = nullptr;
            compute_ = nullptr;  // unless results are kept, whose memory is freed on it
        } catch (...) {          // the device is gone, and what was on it
        }
        job_ = nullptr;
    }

  private:
    /// The buffer of the task before the last one where it is large enough; all but the last task are of one size.
    cuda::device_buffer free_buffer(std::size_t bytes) {
        if (free_.size() >= bytes) return std::move(free_);
        return cuda::device_buffer(bytes, *compute_);
    }

    int device_;
    std::string name_;
    const bin_job* job_ = nullptr;
    std::shared_ptr<cuda::stream> compute_, copy_;  ///< outlive what is allocated on them
    std::shared_ptr<device_input> input_;
    bool others_missing_ = false;                               ///< of `input_`: the shares that other devices upload
    std::vector<std::shared_ptr<const device_input>> sources_;  ///< of copies that may be under way
    cuda::workspace workspace_;
    cuda::device_buffer free_;
    std::optional<timed_copy> upload_;
    std::deque<started_task> started_;
};

}  // namespace

std::unique_ptr<bin_worker> make_cuda_bin_worker(int device) {
    return std::make_unique<cuda_bin_worker>(device);
}

std::shared_ptr<void> pin_host_memory(void* data, std::size_t bytes) {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) (void)cudaGetLastError();
    if (attributes.type == cudaMemoryTypeHost) return nullptr;  // is page-locked
    if (cudaHostRegister(data, bytes, cudaHostRegisterPortable) != cudaSuccess) {
        (void)cudaGetLastError();  // copies work all the same, slower
        return nullptr;
    }
    return {data, [](void* registered) { (void)cudaHostUnregister(registered); }};
}

}  // namespace boxsum::detail
