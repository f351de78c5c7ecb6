#include "core/visit_types.hpp"

#include <boxsum/sat.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

template <typename T>
double number(T pixel) {
    if constexpr (std::is_same_v<T, float16>)
        return static_cast<double>(to_float(pixel));
    else
        return static_cast<double>(pixel);
}

}  // namespace

std::vector<double> image_means(const const_any_view& image) {
    detail::check_image(image);
    const view_shape& s = image.shape;
    std::vector<double> means(static_cast<std::size_t>(s.planes * s.channels));
    visit_dtype(s.type, [&]<typename T>() {
        const image_view<const T> view(static_cast<const T*>(image.data), s);
        const double n = static_cast<double>(s.rows) * static_cast<double>(s.cols);
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (std::int64_t k = 0; k < s.channels; ++k) {
                double sum = 0;
                for (std::int64_t r = 0; r < s.rows; ++r) {
                    std::array<double, 8> lanes{};  // independent, so that additions overlap
                    const T* const row = &view(r, 0, k, plane);
                    const std::int64_t step = s.pixel_stride();
                    const auto at = [&](std::int64_t c) {
                        return number(*reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(row) +
                                                                  (s.cols == 1 ? 0 : c * step)));
                    };
                    std::int64_t c = 0;
                    for (; c + 8 <= s.cols; c += 8)
                        for (std::int64_t i = 0; i < 8; ++i) lanes[static_cast<std::size_t>(i)] += at(c + i);
                    for (; c < s.cols; ++c) lanes[0] += at(c);
                    for (const double lane : lanes) sum += lane;
                }
                means[static_cast<std::size_t>(plane * s.channels + k)] = sum / n;
            }
    });
    return means;
}

}  // namespace boxsum
