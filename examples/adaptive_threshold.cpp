// Ink on an unevenly lit page: one threshold for the whole page fails, one per window does not, and the window's size
// costs nothing.

#include <boxsum/filters.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
    // Light falls from 240 on the left to 80 on the right; ink takes a third of it away. Ink on the left is brighter
    // than paper on the right.
    const std::int64_t rows = 200, cols = 320;
    std::vector<std::uint8_t> page(static_cast<std::size_t>(rows * cols)), ink(page.size());
    const auto is_ink = [](std::int64_t r, std::int64_t c) { return r % 20 < 4 && c % 16 < 8; };
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            const std::int64_t light = 240 - c / 2;
            page[static_cast<std::size_t>(r * cols + c)] =
                static_cast<std::uint8_t>(is_ink(r, c) ? light * 2 / 3 : light);
        }

    const boxsum::image_view<const std::uint8_t> image{page.data(), rows, cols};
    const boxsum::image_view<std::uint8_t> result{ink.data(), rows, cols};
    boxsum::adaptive_threshold({image}, {result}, {.method = boxsum::threshold_method::bradley}, {.window = 41});

    std::int64_t wrong = 0;
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) wrong += (result(r, c) == 0) != is_ink(r, c);
    std::printf("%lld of %lld pixels wrong\n", static_cast<long long>(wrong), static_cast<long long>(rows * cols));
}
