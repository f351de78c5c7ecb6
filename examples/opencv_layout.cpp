// Tables in memory of one's own, in the layout of OpenCV, MATLAB and NPP: one row and one column more than the image,
// the first of each zero. A cv::Mat's data and step fit an image_view as they are.

#include <boxsum/sat.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
    const std::int64_t rows = 128, cols = 128;
    std::vector<std::int16_t> pixels(static_cast<std::size_t>(rows * cols));
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::int16_t>(i % 256);

    std::vector<std::int64_t> memory(static_cast<std::size_t>((rows + 1) * (cols + 1)));
    const boxsum::image_view<const std::int16_t> image{pixels.data(), rows, cols};
    const boxsum::image_view<std::int64_t> table{memory.data(), rows + 1, cols + 1};
    boxsum::sat({image}, {{table, boxsum::table_layout::padded}});

    // The last entry is the sum of the whole image: 64 times 0 + 1 + ... + 255.
    std::printf("bottom right entry %lld\n", static_cast<long long>(table(rows, cols)));
}
