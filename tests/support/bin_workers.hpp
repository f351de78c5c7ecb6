#pragma once

#include "pipeline/bin_worker.hpp"

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

/// Workers with faults, around real ones of any kind.
namespace boxsum::test {

/// Passes everything on.
class wrapped_worker : public detail::bin_worker {
  public:
    explicit wrapped_worker(std::unique_ptr<detail::bin_worker> inner) : inner_(std::move(inner)) {}

    std::string name() const override { return inner_->name(); }
    std::optional<int> device() const override { return inner_->device(); }
    bool wants_pinned_memory() const override { return inner_->wants_pinned_memory(); }
    std::size_t depth() const override { return inner_->depth(); }
    std::int64_t most_bins(const detail::bin_job& job) const override { return inner_->most_bins(job); }
    std::int64_t bins_together(const detail::bin_job& job) const override { return inner_->bins_together(job); }
    void begin(const detail::bin_job& job) override { inner_->begin(job); }
    void start(const detail::bin_task& task) override { inner_->start(task); }
    std::unique_ptr<detail::kept_bins> finish(const detail::bin_task& task) override { return inner_->finish(task); }
    double upload_seconds() const override { return inner_->upload_seconds(); }
    void end() noexcept override { inner_->end(); }

  private:
    std::unique_ptr<detail::bin_worker> inner_;
};

/// Fails in its begin(), or when it starts or finishes its `after`-th task (from 0).
class failing_worker : public wrapped_worker {
  public:
    enum class at { begin, start, finish };

    failing_worker(std::unique_ptr<detail::bin_worker> inner, at where, int after = 0)
        : wrapped_worker(std::move(inner)), where_(where), after_(after) {}

    /// Happens with the failure.
    std::shared_future<void> failure() { return failed_.get_future().share(); }

    void begin(const detail::bin_job& job) override {
        if (where_ == at::begin) fail("broken at begin");
        wrapped_worker::begin(job);
    }
    void start(const detail::bin_task& task) override {
        if (where_ == at::start && after_-- == 0) fail("broken at start");
        wrapped_worker::start(task);
    }
    std::unique_ptr<detail::kept_bins> finish(const detail::bin_task& task) override {
        if (where_ == at::finish && after_-- == 0) fail("broken at finish");
        return wrapped_worker::finish(task);
    }

  private:
    [[noreturn]] void fail(const char* text) {
        failed_.set_value();
        throw std::runtime_error(text);
    }

    at where_;
    int after_;
    std::promise<void> failed_;
};

/// Time for two workers of which one takes `ratio` times as long for a task as the other. Nothing waits for a clock:
/// the fast one may not run ahead of the slow one, nor the slow one of it, by more than their speeds allow.
class virtual_time {
  public:
    virtual_time(int ratio, int tasks) : ratio_(ratio), tasks_(tasks) {}

    void fast_task() {
        std::unique_lock lock(mutex_);
        ++fast_begun_;
        changed_.notify_all();
        // Its task number n (from 0) ends while the slow one is busy with its task n / ratio.
        changed_.wait(lock, [&] { return fast_done_ < ratio_ * slow_begun_ || none_left(); });
        ++fast_done_;
        changed_.notify_all();
    }

    void slow_task() {
        std::unique_lock lock(mutex_);
        ++slow_begun_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return fast_done_ >= ratio_ * slow_begun_ || none_left(); });
    }

  private:
    /// All tasks are with a worker: whoever is left ends.
    bool none_left() const { return fast_begun_ + slow_begun_ == tasks_; }

    const int ratio_, tasks_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int fast_begun_ = 0, fast_done_ = 0, slow_begun_ = 0;
};

class paced_worker : public wrapped_worker {
  public:
    paced_worker(std::unique_ptr<detail::bin_worker> inner, virtual_time& time, void (virtual_time::*task)())
        : wrapped_worker(std::move(inner)), time_(time), task_(task) {}

    void start(const detail::bin_task& task) override {
        for (std::int64_t i = 0; i < task.tasks; ++i) (time_.*task_)();
        wrapped_worker::start(task);
    }

  private:
    virtual_time& time_;
    void (virtual_time::*task_)();
};

/// Starts nothing before an event: others get their tasks first.
class waiting_worker : public wrapped_worker {
  public:
    waiting_worker(std::unique_ptr<detail::bin_worker> inner, std::shared_future<void> event)
        : wrapped_worker(std::move(inner)), event_(std::move(event)) {}

    void start(const detail::bin_task& task) override {
        event_.wait();
        wrapped_worker::start(task);
    }

  private:
    std::shared_future<void> event_;
};

}  // namespace boxsum::test
