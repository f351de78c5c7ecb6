#pragma once

#include <boxsum/histogram_pipeline.hpp>
#include <boxsum/histogram_tasks.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

/// Streams of random frames and bins as tasks, on the host or on devices.
namespace boxsum::bench {

struct frame_run {
    std::int64_t rows = 0, cols = 0, bins = 0;
    int frames = 1;  ///< that count
    frame_request request = {};
    pipeline_options options = {};
    /// Whether every frame is copied into its buffer. Else buffers keep what they got first, as if a camera had written
    /// there, and reading takes no time.
    bool copies = true;
    /// Looks at the first frame, which does not count; nothing: nobody looks.
    std::function<void(const frame_result&)> look = {};
};

/// Sends four random frames of 8u round and round through a pipeline; bins are uniform ranges over [0, 256). The report
/// leaves out the first frames, two for every buffer, which touch fresh memory. Throws what the pipeline throws.
pipeline_report run_frames(const frame_run& run);

/// The busiest stage of a report, in seconds: nothing is faster. Kernels of a device share a stream.
double slowest_stage(const pipeline_report& report, bool on_device);

/// Seconds that `bytes` bytes take from the device to page-locked memory, alone; the best of five.
double link_seconds(int device, std::int64_t bytes);

/// Reports of `repetitions` runs, behind one that touches the memory and does not count.
std::vector<histogram_tasks_report> repeat_tasks(int repetitions, const std::function<histogram_tasks_report()>& run);

/// The same pseudo-random pixels for the same number of them.
std::vector<std::uint8_t> random_pixels(std::int64_t count);

}  // namespace boxsum::bench
