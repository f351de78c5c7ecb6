#pragma once

#include "cpu/filters/bands.hpp"
#include "cpu/filters/row_kernels.hpp"
#include "filters/window_job.hpp"

#include <functional>

namespace boxsum::filters {

/// A window job with what does it on the CPU.
struct row_job : window_job {
    const row_kernels* kernels = nullptr;

    /// `threads` becomes the number that is used.
    explicit row_job(const window_job& job);
};

/// Calls work(band, thread) over the image's rows on the job's threads.
void for_each_band(const row_job& job, const std::function<void(const band&, int thread)>& work);

}  // namespace boxsum::filters
