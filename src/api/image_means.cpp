#include "core/lane_sums.hpp"
#include "core/visit_types.hpp"

#include <boxsum/sat.hpp>

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

/// at(c): pixel c.
template <typename At>
double sum_of_row(std::int64_t cols, At&& at) {
    constexpr auto lanes = static_cast<std::int64_t>(sum_lanes{}.size());
    sum_lanes sums{};
    std::int64_t first = 0;
    for (; first + lanes <= cols; first += lanes)
        for (std::int64_t i = 0; i < lanes; ++i) sums[static_cast<std::size_t>(i)] += at(first + i);
    for (std::int64_t i = 0; first + i < cols; ++i) sums[static_cast<std::size_t>(i)] += at(first + i);
    return sum_of(sums);
}

/// `step`: bytes from a pixel to the next.
template <typename T>
double sum_of_row(const T* row, std::int64_t cols, std::int64_t step) {
    if (step == sizeof(T)) return sum_of_row(cols, [row](std::int64_t c) { return number(row[c]); });
    return sum_of_row(cols, [row, step](std::int64_t c) {
        return number(*reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(row) + c * step));
    });
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
                sum_lanes sums{};
                for (std::int64_t r = 0; r < s.rows; ++r)
                    sums[static_cast<std::size_t>(r) % sums.size()] +=
                        sum_of_row(&view(r, 0, k, plane), s.cols, s.pixel_stride());
                means[static_cast<std::size_t>(plane * s.channels + k)] = sum_of(sums) / n;
            }
    });
    return means;
}

}  // namespace boxsum
