#include "measure/buffer_sets.hpp"

#include "support/device_oracle.hpp"

#include <algorithm>

namespace boxsum::bench {

view_shape packed(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t planes) {
    view_shape s{type, planes, rows, cols, channels, 0, 0};
    s.row_stride = cols * channels * static_cast<std::int64_t>(size_of(type));
    s.plane_stride = rows * s.row_stride;
    return s;
}

buffer_sets::buffer_sets(const view_shape& image, const view_shape& table, const std::optional<view_shape>& squares,
                         cuda::stream_ref stream, std::int64_t level)
    : image_(image), table_(table), squares_(squares) {
    const std::size_t bytes =
        cuda::span_bytes(image) + cuda::span_bytes(table) + (squares ? cuda::span_bytes(*squares) : 0);
    constexpr std::size_t beyond_cache = std::size_t{400} << 20;
    const std::size_t count = std::clamp<std::size_t>(beyond_cache / bytes + 1, 2, 48);
    // Floats are compared with exact sums, so those of pixels that have one sign must stay below 2^24.
    const bool grows = table.type == dtype::f32 && (image.type == dtype::u8 || image.type == dtype::u16);
    const std::int64_t one_in = grows ? 1 + image.planes * image.rows * image.cols * 127 / (1 << 23) : 1;
    for (std::size_t i = 0; i < count; ++i) {
        memory_.push_back({cuda::device_buffer(cuda::span_bytes(image), stream),
                           cuda::device_buffer(cuda::span_bytes(table), stream),
                           cuda::device_buffer(squares ? cuda::span_bytes(*squares) : 0, stream)});
        test::fill_exact({memory_.back().image.data(), image}, 255, i + 1, stream, one_in,
                         image.type == dtype::u8 ? 0 : level);
    }
}

}  // namespace boxsum::bench
