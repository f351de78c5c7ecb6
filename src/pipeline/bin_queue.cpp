#include "pipeline/bin_queue.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace boxsum::detail {

bin_queue::bin_queue(std::int64_t bins, std::int64_t bins_per_task) {
    for (std::int64_t first = 0; first < bins; first += bins_per_task) {
        const auto number = static_cast<std::int64_t>(tasks_.size());
        tasks_.push_back({{number, first, std::min(bins_per_task, bins - first)}});
    }
    for (std::size_t i = tasks_.size(); i-- > 0;) waiting_.push_back(i);
}

std::optional<bin_task> bin_queue::take(std::size_t worker, bool wait, const task_batch& most) {
    std::unique_lock lock(mutex_);
    if (wait) changed_.wait(lock, [&] { return !waiting_.empty() || done_ == tasks_.size(); });
    if (waiting_.empty()) return {};
    const std::size_t half_share = (waiting_.size() + 2 * most.workers - 1) / (2 * most.workers);
    bin_task taken{static_cast<std::int64_t>(waiting_.back()), tasks_[waiting_.back()].task.first_bin, 0, 0};
    const auto fits = [&](std::size_t next) {
        const bin_task& task = tasks_[next].task;
        return task.first_bin == taken.first_bin + taken.bins && taken.bins + task.bins <= most.bins;
    };
    do {
        entry& e = tasks_[waiting_.back()];
        waiting_.pop_back();
        e.where = place::taken;
        e.worker = worker;
        taken.bins += e.task.bins;
        ++taken.tasks;
    } while (static_cast<std::size_t>(taken.tasks) < half_share && fits(waiting_.back()));
    return taken;
}

void bin_queue::done(std::size_t worker, const bin_task& taken) {
    const std::lock_guard lock(mutex_);
    for (std::int64_t number = taken.number; number < taken.number + taken.tasks; ++number) {
        entry& e = tasks_.at(static_cast<std::size_t>(number));
        if (e.where != place::taken || e.worker != worker)
            throw std::logic_error("task " + std::to_string(number) + " is not with worker " + std::to_string(worker));
        e.where = place::done;
        if (++done_ == tasks_.size()) changed_.notify_all();
    }
}

void bin_queue::give_back(std::size_t worker, bool done_ones_too) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = tasks_.size(); i-- > 0;) {
        entry& e = tasks_[i];
        if (e.where == place::waiting || e.worker != worker || (e.where == place::done && !done_ones_too)) continue;
        if (e.where == place::done) --done_;
        e.where = place::waiting;
        waiting_.push_back(i);  // others may be waiting for it; in order
    }
    changed_.notify_all();
}

bool bin_queue::all_done() const {
    const std::lock_guard lock(mutex_);
    return done_ == tasks_.size();
}

std::int64_t bin_queue::done_by(std::size_t worker) const {
    const std::lock_guard lock(mutex_);
    return std::count_if(tasks_.begin(), tasks_.end(),
                         [&](const entry& e) { return e.where == place::done && e.worker == worker; });
}

}  // namespace boxsum::detail
