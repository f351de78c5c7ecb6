#include "pipeline/frame_pipeline.hpp"

#include "pipeline/frame_request.hpp"

#include <string>

namespace boxsum::detail {
namespace {

std::string text_of(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "an exception of an unknown type";
    }
}

}  // namespace

frame_pipeline::frame_pipeline(const frame_format& format, const binning& bins, frame_plan plan, frame_source source,
                               int buffers, std::unique_ptr<frame_worker> worker)
    : format_(format),
      bins_(bins),
      plan_(std::move(plan)),
      source_(std::move(source)),
      worker_(std::move(worker)),
      free_(static_cast<std::size_t>(buffers)) {
    for (int i = 0; i < buffers; ++i) {
        slots_.push_back(std::make_unique<frame_slot>());
        worker_->prepare(*slots_.back());
        free_.push(slots_.back().get());
    }
    const int steps = worker_->steps();
    for (int i = 0; i <= steps; ++i) queues_.push_back(std::make_unique<slot_queue>(slots_.size()));
    try {
        threads_.emplace_back([this] { read_frames(); });
        for (int step = 0; step < steps; ++step) threads_.emplace_back([this, step] { run_step(step); });
    } catch (...) {
        end_threads();
        throw;
    }
}

frame_pipeline::~frame_pipeline() {
    end_threads();
}

void frame_pipeline::end_threads() noexcept {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        answered_.notify_all();
    }
    free_.abandon();
    for (const auto& queue : queues_) queue->abandon();
    for (std::thread& thread : threads_) thread.join();
    worker_->stop();
}

/// What is behind `step` keeps running: its frames come first.
void frame_pipeline::close_before(int step) {
    free_.close();
    for (int i = 0; i <= step; ++i) queues_[static_cast<std::size_t>(i)]->close();
}

void frame_pipeline::read_frames() {
    slot_queue& out = *queues_.front();
    for (std::int64_t frame = 0;; ++frame) {
        const auto slot = free_.pop();
        if (!slot) break;
        frame_slot& s = **slot;
        s.frame = frame;
        s.busy = {};
        s.result = {};
        s.failure = nullptr;
        {
            const std::lock_guard lock(mutex_);
            if (!start_) start_ = clock::now();
        }
        bool read = false;
        try {
            const stage_timer timer(s, pipeline_stage::read);
            read = source_(s.memory);
        } catch (...) {
            s.failure = std::current_exception();
            s.failed_at = pipeline_stage::read;
        }
        if (!read && !s.failure) break;
        const bool failed = s.failure != nullptr;  // `s` is another thread's once it is pushed
        if (!out.push(&s) || failed) break;
    }
    source_ = {};  // what it holds (a file, a camera) need not wait for the pipeline's end
    out.close();
}

/// False when the pipeline ends before the answer is there.
bool frame_pipeline::wait_for_answer(std::int64_t frame) {
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [&] { return stopping_ || (answer_ && answer_->frame == frame); });
    return !stopping_;
}

void frame_pipeline::publish_answer(const frame_slot& slot) {
    const std::lock_guard lock(mutex_);
    answer_ = static_cast<const frame_answer&>(slot.result);
    answered_.notify_all();
}

void frame_pipeline::plan(frame_slot& slot) {
    slot.request = plan_.request;
    if (slot.request) return;
    // Unlocked: the next answer is the one of this frame.
    auto request = std::make_shared<const frame_request>(plan_.planner(slot.frame, answer_ ? &*answer_ : nullptr));
    check_request(*request, format_, bins_);
    slot.request = std::move(request);
}

void frame_pipeline::run_step(int step) {
    slot_queue& in = *queues_[static_cast<std::size_t>(step)];
    slot_queue& out = *queues_[static_cast<std::size_t>(step) + 1];
    const bool planned = step == worker_->planned_step(), last = step + 1 == worker_->steps();
    while (const auto slot = in.pop()) {
        frame_slot& s = **slot;
        // A frame that fails behind this step is never answered, and neither are those after it: then `in` is closed,
        // and the destructor ends the wait.
        if (!s.failure && planned && !plan_.request && s.frame > 0 && !wait_for_answer(s.frame - 1)) break;
        if (!s.failure) try {
                if (planned) plan(s);
                s.result.frame = s.frame;
                worker_->run(step, s);
                if (last && !plan_.request) publish_answer(s);
            } catch (...) {
                s.failure = std::current_exception();
                s.failed_at = worker_->stage_of(step);
            }
        const bool failed = s.failure != nullptr;  // as above
        if (failed) close_before(step);
        if (!out.push(&s) || failed) break;
    }
    out.close();
}

const frame_result* frame_pipeline::next() {
    if (failure_) throw pipeline_error(*failure_);
    if (held_ != nullptr) free_.push(std::exchange(held_, nullptr));
    const auto slot = queues_.back()->pop();
    if (!slot) return nullptr;
    held_ = *slot;
    if (held_->failure) {
        failure_.emplace(held_->frame, held_->failed_at, text_of(held_->failure), held_->failure);
        throw pipeline_error(*failure_);
    }
    if (!held_->request->tensor) held_->result.tensor = {};
    held_->result.image = held_->memory.image;
    held_->result.weights = held_->memory.weights;
    const std::lock_guard lock(mutex_);
    ++report_.frames;
    report_.seconds = std::chrono::duration<double>(clock::now() - *start_).count();
    for (std::size_t i = 0; i < report_.busy.size(); ++i) report_.busy[i] += held_->busy[i];
    return &held_->result;
}

pipeline_report frame_pipeline::report() const {
    const std::lock_guard lock(mutex_);
    return report_;
}

}  // namespace boxsum::detail
