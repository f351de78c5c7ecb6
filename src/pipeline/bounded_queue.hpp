#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace boxsum::detail {

/// Hands values from one thread to another, at most `capacity` at a time. Thread-safe.
template <typename T>
class bounded_queue {
  public:
    explicit bounded_queue(std::size_t capacity) : capacity_(capacity) {}

    /// Waits while the queue is full. False, and the value is dropped, once it is closed.
    bool push(T value) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || values_.size() < capacity_; });
        if (closed_) return false;
        values_.push_back(std::move(value));
        changed_.notify_all();
        return true;
    }

    /// Waits for a value. Nothing once the queue is closed and empty.
    std::optional<T> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || !values_.empty(); });
        if (values_.empty()) return {};
        T value = std::move(values_.front());
        values_.pop_front();
        changed_.notify_all();
        return value;
    }

    /// Takes no more values; those inside are still handed out.
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }

    /// Closes the queue and drops what is inside.
    void abandon() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        values_.clear();
        changed_.notify_all();
    }

  private:
    const std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<T> values_;
    bool closed_ = false;
};

}  // namespace boxsum::detail
