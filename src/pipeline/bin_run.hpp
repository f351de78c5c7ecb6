#pragma once

#include "pipeline/bin_worker.hpp"

#include <memory>
#include <span>
#include <vector>

namespace boxsum::detail {

struct bin_run_result {
    histogram_tasks_report report;
    /// Where the job keeps results: by number, null for tasks that were done with one before.
    std::vector<std::unique_ptr<kept_bins>> kept;
};

/// Bins of a task: `wanted`, or for 0 as many as give each worker at least 4 tasks; at most what every worker can hold.
std::int64_t choose_bins_per_task(const bin_job& job, std::int64_t wanted,
                                  std::span<const std::unique_ptr<bin_worker>> workers);

/// Does all tasks of a job, each worker on a thread of its own. Throws workers_failed when none is left before the end.
bin_run_result run_bins(const bin_job& job, std::int64_t bins_per_task,
                        std::span<const std::unique_ptr<bin_worker>> workers);

}  // namespace boxsum::detail
