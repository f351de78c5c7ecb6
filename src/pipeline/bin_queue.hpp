#pragma once

#include "pipeline/bin_worker.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace boxsum::detail {

/// How many tasks one of `workers` takes at once: half of its share of those that wait, of at most `bins` in all, so
/// that what is left balances the workers (the factoring of Hummel et al. 1992).
struct task_batch {
    std::size_t workers = 1;
    std::int64_t bins = 1;
};

/// Who does which task. Each is waiting, with a worker, or done; a worker that fails gives its tasks back. Thread-safe.
class bin_queue {
  public:
    /// Bins in groups of `bins_per_task`, the last one smaller where they do not divide.
    bin_queue(std::int64_t bins, std::int64_t bins_per_task);

    std::size_t size() const { return tasks_.size(); }

    /// The next task, or tasks: one at least. Nothing when all are done, or, unless `wait` is set, when none is there:
    /// a worker without tasks waits for those of others, which may come back.
    std::optional<bin_task> take(std::size_t worker, bool wait, const task_batch& most = {});

    /// Throws std::logic_error for a task that this worker does not have: it would be in the result twice.
    void done(std::size_t worker, const bin_task& taken);

    /// Returns the tasks of a worker to the queue, those that are done too where their results are lost with it.
    void give_back(std::size_t worker, bool done_ones_too);

    bool all_done() const;

    /// Tasks of a worker that are done.
    std::int64_t done_by(std::size_t worker) const;

  private:
    enum class place : std::uint8_t { waiting, taken, done };
    struct entry {
        bin_task task;
        place where = place::waiting;
        std::size_t worker = 0;
    };

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<entry> tasks_;
    std::vector<std::size_t> waiting_;  ///< the next one last; room for all, so that giving back needs no memory
    std::size_t done_ = 0;
};

}  // namespace boxsum::detail
