// Filters whose cost a pixel does not grow with the window, from integral histograms (Porikli 2008, O(1) bilateral
// filtering, which Poostchi et al. 2017 start from): the median of a window, also over frames, and the bilateral filter
// with a box in space. Each beside its definition.

#include <boxsum/integral_histogram.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

constexpr std::int64_t rows = 40, cols = 50, radius = 4;

/// The window around a pixel, cut at the image's edges.
boxsum::box window(std::int64_t r, std::int64_t c) {
    const std::int64_t top = std::max<std::int64_t>(r - radius, 0), left = std::max<std::int64_t>(c - radius, 0);
    return {top, left, std::min(r + radius + 1, rows) - top, std::min(c + radius + 1, cols) - left};
}

double likeness(std::int64_t difference) {
    return std::exp(-static_cast<double>(difference * difference) / (2 * 20.0 * 20.0));
}

}  // namespace

int main() {
    std::vector<std::uint8_t> pixels(2 * rows * cols);  // two frames
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint8_t>((i * 7919 + i * i / 37) % 251);
    const boxsum::image_view<const std::uint8_t> image(pixels.data(), rows, cols, 0, 1, 2);
    const auto h = boxsum::integral_histogram<std::uint32_t>(image, boxsum::binning::uniform(256, 0, 256));
    const auto sorted = [&](const boxsum::box& w, std::int64_t frames) {
        std::vector<std::uint8_t> values;
        for (std::int64_t frame = 0; frame < frames; ++frame)
            for (std::int64_t r = w.row; r < w.row + w.rows; ++r)
                for (std::int64_t c = w.col; c < w.col + w.cols; ++c) values.push_back(image(r, c, 0, frame));
        std::sort(values.begin(), values.end());
        return values;
    };

    // [median]
    const auto median = [](const std::vector<std::uint32_t>& counts) {
        const auto half = (std::accumulate(counts.begin(), counts.end(), 0U) + 1) / 2;
        std::uint32_t below = 0;
        std::size_t value = 0;
        while ((below += counts[value]) < half) ++value;
        return value;
    };
    // [median]

    // [bilateral]
    const auto bilateral = [](const std::vector<std::uint32_t>& counts, std::int64_t centre) {
        double sum = 0, weights = 0;
        for (std::size_t value = 0; value < counts.size(); ++value) {
            const double weight = counts[value] * likeness(static_cast<std::int64_t>(value) - centre);
            sum += weight * static_cast<double>(value);
            weights += weight;
        }
        return sum / weights;
    };
    // [bilateral]

    int medians = 0, over_frames = 0, bilaterals = 0;
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            const boxsum::box w = window(r, c);
            std::vector<std::uint32_t> counts = boxsum::box_histogram(h, w);
            const std::vector<std::uint8_t> values = sorted(w, 1), of_both = sorted(w, 2);
            medians += median(counts) != values[(values.size() - 1) / 2] ? 1 : 0;

            double sum = 0, weights = 0;
            for (const std::uint8_t value : values) {
                const double weight = likeness(std::int64_t{value} - image(r, c));
                sum += weight * value;
                weights += weight;
            }
            bilaterals += std::abs(bilateral(counts, image(r, c)) - sum / weights) > 1e-9 ? 1 : 0;

            const std::vector<std::uint32_t> next = boxsum::box_histogram(h, w, 1);
            for (std::size_t b = 0; b < counts.size(); ++b) counts[b] += next[b];
            over_frames += median(counts) != of_both[(of_both.size() - 1) / 2] ? 1 : 0;
        }
    std::printf("of %d pixels wrong: median %d, over two frames %d, bilateral %d\n", int{rows * cols}, medians,
                over_frames, bilaterals);
    return medians + over_frames + bilaterals == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
