#include "measure/pipeline_runs.hpp"

#include "measure/host_data.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/memory.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

namespace boxsum::bench {

std::vector<std::uint8_t> random_pixels(std::int64_t count) {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count));
    fill_random(pixels.data(), dtype::u8, count);
    return pixels;
}

pipeline_report run_frames(const frame_run& run) {
    constexpr int different = 4;
    const std::int64_t size = run.rows * run.cols;
    const std::vector<std::uint8_t> pixels = random_pixels(different * size);
    const int warm_up = 2 * run.options.buffers;
    int given = 0;
    std::set<const void*> filled;
    const auto source = [&](const frame_memory& memory) {
        const any_view& frame = memory.image;
        if (given == warm_up + run.frames) return false;
        const std::uint8_t* const from = pixels.data() + given++ % different * size;
        if (!filled.insert(frame.data).second && !run.copies) return true;
        for (std::int64_t r = 0; r < run.rows; ++r)
            std::memcpy(static_cast<std::byte*>(frame.data) + r * frame.shape.row_stride, from + r * run.cols,
                        static_cast<std::size_t>(run.cols));
        return true;
    };
    histogram_pipeline pipeline({dtype::u8, run.rows, run.cols}, binning::uniform(run.bins, 0, 256), {run.request},
                                source, run.options);
    pipeline_report before;
    int n = 0;
    while (const frame_result* const result = pipeline.next()) {
        if (++n == 1 && run.look) run.look(*result);
        if (n == warm_up) before = pipeline.report();
    }
    pipeline_report all = pipeline.report();
    all.frames -= before.frames;
    all.seconds -= before.seconds;
    for (std::size_t i = 0; i < all.busy.size(); ++i) all.busy[i] -= before.busy[i];
    return all;
}

double slowest_stage(const pipeline_report& report, bool on_device) {
    const auto busy = [&](pipeline_stage stage) { return report.busy[static_cast<std::size_t>(stage)]; };
    const double slowest = *std::max_element(report.busy.begin(), report.busy.end());
    return on_device ? std::max(slowest, busy(pipeline_stage::compute) + busy(pipeline_stage::query)) : slowest;
}

double link_seconds(int device, std::int64_t bytes) {
    cuda::set_device(device);
    const cuda::stream stream;
    const cuda::device_buffer from(static_cast<std::size_t>(bytes), stream);
    const cuda::pinned_buffer to(static_cast<std::size_t>(bytes));
    const view_shape row{dtype::u8, 1, 1, bytes, 1, bytes, 0};
    double best = 0;
    for (int i = 0; i < 6; ++i) {
        const auto start = std::chrono::steady_clock::now();
        cuda::copy(const_any_view{from.data(), row}, any_view{to.data(), row}, stream);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (i == 1 || (i > 1 && seconds < best)) best = seconds;  // the first one touches the memory
    }
    return best;
}

std::vector<histogram_tasks_report> repeat_tasks(int repetitions, const std::function<histogram_tasks_report()>& run) {
    (void)run();
    std::vector<histogram_tasks_report> reports;
    for (int i = 0; i < repetitions; ++i) reports.push_back(run());
    return reports;
}

}  // namespace boxsum::bench
