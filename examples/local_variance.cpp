// Sums and sums of squares in one pass; the variance of a box from eight reads. With integer tables it is exact before
// the last division, and never negative.

#include <boxsum/sat.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
    const std::int64_t rows = 64, cols = 100;
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(rows * cols));
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i % 10 < 5 ? 200 : 130);
    const boxsum::image_view<const std::uint8_t> image{pixels.data(), rows, cols};

    const auto moments = boxsum::sat_squares<std::uint32_t, std::uint64_t>(image);

    // Five columns of 200 and five of 130: deviations of 35 from the mean of 165.
    const boxsum::box window{.row = 20, .col = 30, .rows = 5, .cols = 10};
    std::printf("variance %.4f\n", boxsum::box_variance(moments, window));
}
