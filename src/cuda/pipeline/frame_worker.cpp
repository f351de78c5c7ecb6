// Frames on a CUDA device (Algorithm 6 of Poostchi et al., with n buffers). Three streams, one for each direction of
// the link and one for the kernels (and a fourth where histograms of matches are asked for, once these are known);
// events order the stages of a frame, and nothing else orders frames, so that the frames of different buffers overlap.
// Hosts wait only for finished frames, in the last step. Algorithm 6 has a stream for each buffer instead, and issues
// the copies and kernels of its two buffers breadth first: on GPUs with one queue in hardware their order made the
// overlap.
//
//     upload     | frame 0 | frame 1 | frame 2 |
//     compute              | 0: tensor, queries | 1 ...
//     download                                  | 0: tensor, answers | 1 ...

#include "pipeline/frame_worker.hpp"

#include "cuda/pipeline/frame_queries.hpp"
#include "cuda/pipeline/tensor_copy.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/event.hpp"
#include "pipeline/frame_request.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/table.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace boxsum::detail {
namespace {

using cuda::device_scope;
using cuda::event;

/// The time of a stage on its stream.
struct timed_stage {
    event begin, end;
};

struct cuda_memory final : frame_slot::worker_memory {
    cuda::pinned_buffer host_frame, host_weights;
    cuda::device_buffer frame, weights;
    cuda::device_buffer tensor;
    cuda::pinned_buffer host_tensor;
    histogram_shape shape;
    cuda::frame_queries queries;
    timed_stage upload, compute, download;
    event queried;  ///< the queries begin where `compute` ends
};

enum step : int { upload_step, compute_step, finish_step, step_count };

class cuda_frame_worker final : public frame_worker {
  public:
    cuda_frame_worker(const frame_job& job, int device)
        : job_(job),
          device_(device),
          frame_shape_(cuda::device_shape(job.format.type, job.format.rows, job.format.cols)),
          weights_shape_(cuda::device_shape(dtype::f32, job.format.rows, job.format.cols)) {
        (void)cuda::describe_device(device);  // says that there is none
        const device_scope scope(device);
        for (auto* stream : {&upload_, &compute_, &download_}) stream->emplace();
        if (job.region) (void)plan_for(job.region->rows, job.region->cols);  // says what cannot be computed
    }

    void prepare(frame_slot& slot) override {
        const device_scope scope(device_);
        auto memory = std::make_unique<cuda_memory>();
        memory->host_frame = cuda::pinned_buffer(cuda::span_bytes(frame_shape_));
        memory->frame = cuda::device_buffer(cuda::span_bytes(frame_shape_), *upload_);
        slot.memory.image = {memory->host_frame.data(), frame_shape_};
        if (job_.weighted()) {
            memory->host_weights = cuda::pinned_buffer(cuda::span_bytes(weights_shape_));
            memory->weights = cuda::device_buffer(cuda::span_bytes(weights_shape_), *upload_);
            slot.memory.weights = {memory->host_weights.data(), weights_shape_};
        }
        slot.own = std::move(memory);
    }

    int steps() const override { return step_count; }
    int planned_step() const override { return compute_step; }
    pipeline_stage stage_of(int step) const override {
        return step == upload_step    ? pipeline_stage::upload
               : step == compute_step ? pipeline_stage::compute
                                      : pipeline_stage::download;
    }

    void run(int step, frame_slot& slot) override {
        const device_scope scope(device_);
        auto& memory = static_cast<cuda_memory&>(*slot.own);
        if (step == upload_step) return upload(slot, memory);
        if (step == compute_step) return compute(slot, memory);
        finish(slot, memory);
    }

    void stop() noexcept override {
        for (const auto* stream : {&upload_, &compute_, &download_}) (void)cudaStreamSynchronize((*stream)->get());
    }

  private:
    void upload(frame_slot& slot, cuda_memory& m) {
        m.upload.begin.record(*upload_);
        cuda::copy_async(slot.memory.image, any_view{m.frame.data(), frame_shape_}, *upload_);
        if (job_.weighted())
            cuda::copy_async(slot.memory.weights, any_view{m.weights.data(), weights_shape_}, *upload_);
        m.upload.end.record(*upload_);
    }

    void compute(frame_slot& slot, cuda_memory& m) {
        const frame_request& request = *slot.request;
        const box region = region_of(request, job_.format);
        const cuda::histogram_plan& plan = plan_for(region.rows, region.cols);
        m.shape = shape_of(region.rows, region.cols);
        const auto bytes = static_cast<std::size_t>(m.shape.entries.plane_stride);
        if (m.tensor.size() < bytes) {
            m.tensor = {};
            m.tensor = cuda::device_buffer(bytes, *compute_);
        }
        if (request.tensor && m.host_tensor.size() < bytes) {
            m.host_tensor = {};
            m.host_tensor = cuda::pinned_buffer(bytes);
        }
        workspace_.reserve(plan.workspace_bytes(), *compute_);
        m.queries.prepare(slot.request, region, m.shape, *compute_);

        m.upload.end.precede(*compute_);
        m.compute.begin.record(*compute_);
        histogram_inputs frame{any_view{m.frame.data(), frame_shape_}};
        if (job_.weighted()) frame.weights = any_view{m.weights.data(), weights_shape_};
        const any_histogram_view tensor{{m.tensor.data(), m.shape.entries}, m.shape.form};
        plan.run_async(part_of_frame(frame, region), {tensor}, workspace_, *compute_);
        m.compute.end.record(*compute_);

        if (m.queries.any()) {
            m.queries.enqueue_kernels(tensor, *compute_);
            m.queried.record(*compute_);
        }
        // The tensor need not wait for the queries; answers that come back alone do not hold up the next frame's
        // kernels.
        (request.tensor || !m.queries.any() ? m.compute.end : m.queried).precede(*download_);
        m.download.begin.record(*download_);
        if (request.tensor) download(m, bytes);
        if (m.queries.any()) {
            if (request.tensor) m.queried.precede(*download_);
            m.queries.enqueue_download(*download_);
        }
        m.download.end.record(*download_);
        slot.result.region = region;
    }

    /// Both sides are laid out alike and are ours. One run of bytes travels faster than rows unless gaps are a good
    /// part of them.
    void download(cuda_memory& m, std::size_t bytes) {
        const tensor_shape& s = m.shape.entries;
        const std::int64_t used = s.cols * static_cast<std::int64_t>(size_of(s.type));
        if ((s.row_stride - used) * 16 <= used)
            BOXSUM_CUDA_TRY(cudaMemcpyAsync(m.host_tensor.data(), m.tensor.data(), bytes, cudaMemcpyDeviceToHost,
                                            download_->get()));
        else
            cuda::copy_tensor_async(const_any_tensor_view{m.tensor.data(), s}, {m.host_tensor.data(), s}, *download_);
    }

    void finish(frame_slot& slot, cuda_memory& m) {
        const frame_request& request = *slot.request;
        m.download.end.synchronize();
        const bool queried = m.queries.any();
        m.queries.collect(slot.result.region, slot.result);
        if (request.tensor) slot.result.tensor = {{m.host_tensor.data(), m.shape.entries}, m.shape.form};
        add(slot, pipeline_stage::download, m.download.begin, m.download.end);
        add(slot, pipeline_stage::upload, m.upload.begin, m.upload.end);
        add(slot, pipeline_stage::compute, m.compute.begin, m.compute.end);
        if (queried) add(slot, pipeline_stage::query, m.compute.end, m.queried);
    }

    static void add(frame_slot& slot, pipeline_stage stage, const event& begin, const event& end) {
        slot.busy[static_cast<std::size_t>(stage)] += end.seconds_since(begin);
    }

    histogram_shape shape_of(std::int64_t rows, std::int64_t cols) const {
        return cuda::device_histogram_shape(job_.entries, job_.bins.bins(), rows, cols, job_.form);
    }

    /// Plans are kept: regions of a tracker have few shapes, those in the middle of the frame a single one.
    const cuda::histogram_plan& plan_for(std::int64_t rows, std::int64_t cols) {
        const auto known = plans_.find({rows, cols});
        if (known != plans_.end()) return known->second;
        if (plans_.size() >= most_plans) {
            compute_->synchronize();  // their kernels may still read look-up tables
            plans_.clear();
        }
        const auto part_of = [&](view_shape shape) {
            shape.rows = rows;
            shape.cols = cols;
            return shape;
        };
        histogram_shapes shapes{part_of(frame_shape_), shape_of(rows, cols)};
        if (job_.weighted()) shapes.weights = part_of(weights_shape_);
        return plans_.try_emplace({rows, cols}, shapes, job_.bins, job_.histogram).first->second;
    }

    static constexpr std::size_t most_plans = 64;

    frame_job job_;
    int device_;
    view_shape frame_shape_, weights_shape_;
    std::optional<cuda::stream> upload_, compute_, download_;  ///< outlive what is allocated on them
    cuda::workspace workspace_;  ///< used by one frame after the other on the compute stream
    std::map<std::pair<std::int64_t, std::int64_t>, cuda::histogram_plan> plans_;
};

}  // namespace

std::unique_ptr<frame_worker> make_cuda_frame_worker(const frame_job& job, int device) {
    return std::make_unique<cuda_frame_worker>(job, device);
}

}  // namespace boxsum::detail
