#pragma once

#include "pipeline/bounded_queue.hpp"
#include "pipeline/frame_worker.hpp"

#include <boxsum/histogram_pipeline.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace boxsum::detail {

/// The checked work of a pipeline: a request, or a planner, what that says being checked frame by frame.
struct frame_plan {
    std::shared_ptr<const frame_request> request;
    frame_planner planner;
};

/// Moves frames through the source and the steps of a worker, and hands them out in order.
///
///     free slots -> [source] -> queue 0 -> [step 0] -> queue 1 -> [step 1] -> ... -> last queue -> next()
///          ^                                                                                        |
///          +----------------------------------------------------------------------------------------+
///
/// Each bracket is a thread. As many slots circulate as there are buffers. Slots stay in order in every queue, so a
/// failed one reaches the caller behind all frames before it. Whoever fails passes its slot on and closes the queues
/// before itself: the threads there end at their next push.
/// Hidden here and not in the public header: GCC warns of a field whose type shows less than its class does.
class __attribute__((visibility("hidden"))) frame_pipeline {
  public:
    frame_pipeline(const frame_format& format, const binning& bins, frame_plan plan, frame_source source, int buffers,
                   std::unique_ptr<frame_worker> worker);
    frame_pipeline(const frame_pipeline&) = delete;
    frame_pipeline& operator=(const frame_pipeline&) = delete;
    ~frame_pipeline();

    const frame_result* next();
    pipeline_report report() const;

  private:
    using clock = std::chrono::steady_clock;
    using slot_queue = bounded_queue<frame_slot*>;

    void read_frames();
    void run_step(int step);
    void plan(frame_slot& slot);
    bool wait_for_answer(std::int64_t frame);
    void publish_answer(const frame_slot& slot);
    void close_before(int step);
    void end_threads() noexcept;

    frame_format format_;
    binning bins_;
    frame_plan plan_;
    frame_source source_;
    std::unique_ptr<frame_worker> worker_;

    std::vector<std::unique_ptr<frame_slot>> slots_;
    slot_queue free_;
    std::vector<std::unique_ptr<slot_queue>> queues_;  ///< before each step, and behind the last

    mutable std::mutex mutex_;  ///< of everything below
    std::condition_variable answered_;
    std::optional<frame_answer> answer_;  ///< for a planner: of the last frame that left the last step
    bool stopping_ = false;
    pipeline_report report_;
    std::optional<clock::time_point> start_;

    frame_slot* held_ = nullptr;             ///< what the caller looks at
    std::optional<pipeline_error> failure_;  ///< once delivered
    std::vector<std::thread> threads_;
};

}  // namespace boxsum::detail
