// Histograms of regions in constant time, and the window that looks most like another one.

#include <boxsum/histogram_search.hpp>
#include <boxsum/integral_histogram.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
    constexpr std::int64_t rows = 200, cols = 300;
    std::vector<std::uint8_t> pixels(rows * cols, 20);
    const auto paint = [&](std::int64_t row, std::int64_t col) {  // a textured patch of 40 x 30 pixels
        for (std::int64_t r = 0; r < 40; ++r)
            for (std::int64_t c = 0; c < 30; ++c)
                pixels[static_cast<std::size_t>((row + r) * cols + col + c)] =
                    static_cast<std::uint8_t>(100 + 5 * (r % 8) + 9 * (c % 8));
    };
    paint(10, 20);
    paint(137, 211);
    const boxsum::image_view<const std::uint8_t> image(pixels.data(), rows, cols);

    // [histogram]
    const auto h = boxsum::integral_histogram<std::uint32_t>(image, boxsum::binning::uniform(32, 0, 256));
    const boxsum::box patch{.row = 10, .col = 20, .rows = 40, .cols = 30};
    const std::vector<std::uint32_t> counts = boxsum::box_histogram(h, patch);
    // [histogram]
    std::printf("%u pixels in bin 16\n", counts[16]);

    // [search]
    const std::vector<double> target(counts.begin(), counts.end());
    const boxsum::window_grid lower_half{.rows = 40, .cols = 30, .region = boxsum::box{100, 0, 100, 300}};
    const auto matches =
        boxsum::best_windows(h, std::vector{lower_half}, target, boxsum::histogram_distance::bhattacharyya, 1);
    // [search]
    const boxsum::histogram_match& best = matches.front();
    std::printf("nearest window: row %lld, column %lld, distance %.3f\n", static_cast<long long>(best.where.row),
                static_cast<long long>(best.where.col), best.distance);
}
