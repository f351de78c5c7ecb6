// A pipeline over frames: a region is followed while the next frames are read.

#include <boxsum/histogram_pipeline.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::int64_t rows = 120, cols = 160, side = 20, frames = 30;

/// A bright textured square that moves by one row and two columns a frame; false behind the last frame.
bool draw(std::int64_t frame, const boxsum::any_view& image) {
    if (frame == frames) return false;
    const boxsum::image_view<std::uint8_t> view(static_cast<std::uint8_t*>(image.data), rows, cols,
                                                image.shape.row_stride);
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            const std::int64_t y = r - 10 - frame, x = c - 10 - 2 * frame;
            const bool inside = y >= 0 && y < side && x >= 0 && x < side;
            view(r, c) = static_cast<std::uint8_t>(inside ? 120 + (7 * y + 3 * x) % 130 : (r * 31 + c * 17) % 90);
        }
    return true;
}

}  // namespace

int main() {
    const boxsum::box start{.row = 10, .col = 10, .rows = side, .cols = side};

    // [pipeline]
    std::int64_t next_frame = 0;
    const auto source = [&](const boxsum::frame_memory& frame) { return draw(next_frame++, frame.image); };

    std::vector<double> target;
    const auto plan = [&](std::int64_t, const boxsum::frame_answer* previous) {
        boxsum::frame_request request;
        if (previous == nullptr) {  // the first frame gives what to look for
            request.boxes = {start};
            return request;
        }
        if (target.empty()) target.assign(previous->histograms.counts.begin(), previous->histograms.counts.end());
        request.grids = {{.rows = start.rows, .cols = start.cols}};
        request.target = target;
        return request;
    };

    boxsum::histogram_pipeline pipeline({boxsum::dtype::u8, rows, cols}, boxsum::binning::uniform(32, 0, 256),
                                        {.planner = plan}, source, {.buffers = 3});
    boxsum::box at = start;
    while (const boxsum::frame_result* result = pipeline.next())
        if (!result->matches.empty()) at = result->matches.front().where;

    const boxsum::pipeline_report report = pipeline.report();
    // [pipeline]
    std::printf("%lld frames, last seen at row %lld, column %lld\n", static_cast<long long>(report.frames),
                static_cast<long long>(at.row), static_cast<long long>(at.col));
    std::printf("%.0f frames a second, overlap %.2f\n", report.frames_per_second(), report.overlap());
}
