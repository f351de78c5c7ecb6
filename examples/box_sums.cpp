// The shortest use: a table of a grey image, and the sum and mean of a box from four reads of it.

#include <boxsum/sat.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
    const std::int64_t rows = 480, cols = 640;
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(rows * cols));
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) pixels[static_cast<std::size_t>(r * cols + c)] = c < 320 ? 138 : 40;

    // [readme]
    boxsum::image_view<const std::uint8_t> image{pixels.data(), rows, cols};  // no copy; any row stride

    const auto table = boxsum::sat<std::uint32_t>(image);  // one pass over the image

    const boxsum::box window{.row = 100, .col = 200, .rows = 10, .cols = 12};
    const std::uint32_t sum = boxsum::box_sum(table, window);  // four reads, however large the box
    const double mean = boxsum::box_mean(table, window);
    // [readme]

    std::printf("sum %u, mean %.2f\n", sum, mean);
}
