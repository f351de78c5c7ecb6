#pragma once

#include <boxsum/histogram_pipeline.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

/// What a pipeline of frames asks of a backend. The pipeline owns order, threads and errors; a worker owns memory and
/// computation.
namespace boxsum::detail {

/// One of the pipeline's buffers: a frame on its way, from the source to the caller. At any time it belongs to one
/// thread.
struct frame_slot {
    /// A worker's memory for the slot, host and device.
    struct worker_memory {
        virtual ~worker_memory() = default;
    };

    std::unique_ptr<worker_memory> own;  ///< made by the worker
    frame_memory memory;                 ///< of the host, set by the worker once; weights where the job has them

    std::int64_t frame = 0;
    std::shared_ptr<const frame_request> request;  ///< checked; set before the worker's planned step
    frame_result result;                           ///< complete after the worker's last step
    std::array<double, static_cast<std::size_t>(pipeline_stage::count)> busy{};  ///< seconds, added by the worker

    std::exception_ptr failure;
    pipeline_stage failed_at = pipeline_stage::read;
};

/// Steps of a worker run on a thread each, every one for frames in order; step s of a frame comes after step s - 1 of
/// the same frame. A step may enqueue work and return; after the last one the result is complete.
class frame_worker {
  public:
    virtual ~frame_worker() = default;

    /// Called before any step, once per slot.
    virtual void prepare(frame_slot& slot) = 0;

    virtual int steps() const = 0;

    /// The first step that needs the frame's request.
    virtual int planned_step() const = 0;

    /// The stage that an exception of a step is reported as.
    virtual pipeline_stage stage_of(int step) const = 0;

    virtual void run(int step, frame_slot& slot) = 0;

    /// Called by the thread that destroys the pipeline, after all steps have returned: waits for enqueued work.
    virtual void stop() noexcept = 0;
};

/// What a worker is made for.
struct frame_job {
    frame_format format;
    binning bins;
    dtype entries = dtype::u32;
    table_form form;
    histogram_options histogram;
    std::optional<box> region = {};  ///< of every frame; nothing: planned frame by frame

    bool weighted() const { return entries == dtype::f32; }
};

std::unique_ptr<frame_worker> make_cpu_frame_worker(const frame_job& job);

/// Throws unsupported without CUDA, or without such a device.
std::unique_ptr<frame_worker> make_cuda_frame_worker(const frame_job& job, int device);

/// Adds the time of its life to a stage of a slot.
class stage_timer {
  public:
    stage_timer(frame_slot& slot, pipeline_stage stage) : seconds_(slot.busy[static_cast<std::size_t>(stage)]) {}
    stage_timer(const stage_timer&) = delete;
    stage_timer& operator=(const stage_timer&) = delete;
    ~stage_timer() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  private:
    double& seconds_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace boxsum::detail
