#include "cpu/filters/widened_image.hpp"

#include "core/visit_types.hpp"
#include "filters/window_job.hpp"

#include <algorithm>
#include <type_traits>

namespace boxsum::filters {
namespace {

using widened_types = type_list<f16, u32, s32>;

template <typename Pixel>
auto widened(Pixel x) {
    if constexpr (std::is_same_v<Pixel, f16>)
        return to_float(x);
    else
        return static_cast<f64>(x);
}

}  // namespace

widened_image::widened_image(const const_any_view& given, dtype type, int threads) : view_(given) {
    if (given.shape.type == type) return;
    view_shape& s = view_.shape;
    const std::int64_t n = s.cols * s.channels;
    s.type = type;
    s.col_stride = packed_pixels;  // of the wider type; the given one may be said in bytes
    s.row_stride = n * static_cast<std::int64_t>(size_of(type));
    s.plane_stride = s.rows * s.row_stride;
    memory_ = memory_pool::shared().acquire(static_cast<std::size_t>(s.planes * s.plane_stride));
    view_.data = memory_.data();
    const any_view to{memory_.data(), s};
    visit_type(widened_types{}, given.shape.type, [&]<typename Pixel>() {
        for_each_band(s.planes, s.rows, threads, [&](const band& b, int) {
            for (std::int64_t row = b.first; row < b.end; ++row) {
                const Pixel* const x = row_of<Pixel>(given, row, b.plane);
                std::transform(x, x + n, row_of<decltype(widened(Pixel{}))>(to, row, b.plane), widened<Pixel>);
            }
        });
    });
}

}  // namespace boxsum::filters
