#pragma once

#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

/// Which pixels count, in windows and in tables.
namespace boxsum::filters {

/// A value that an element of `type` can hold; infinities and NaN are values of floating types, too. Throws
/// invalid_argument, as the below.
void check_value(std::string_view argument, double value, std::string_view whose, dtype type);

/// A pixel of that value, so of the image's type: what lies beyond a constant border, nodata. Windows along rows and
/// columns meet it in double and in that type, and must see the same.
double as_pixel(double value, dtype image);

/// Mask and weights that are given, nan, and nodata, against the image. Throws unsupported for other types.
void check_samples(const view_shape& image, const std::optional<view_shape>& mask,
                   const std::optional<view_shape>& weights, nan_mode nan, const std::optional<double>& nodata);

/// Whether a pixel, of a type that numbers are computed in, does not count for its value. `nodata` is of its type.
template <typename T>
bool is_nodata(T pixel, nan_mode nan, const std::optional<double>& nodata) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(pixel)) return nan == nan_mode::omit || (nodata && std::isnan(*nodata));
    }
    return nodata && pixel == static_cast<T>(*nodata);
}

/// Whether a weight is one.
inline bool is_weight(float weight) noexcept {
    return weight > 0 && weight <= std::numeric_limits<float>::max();
}

}  // namespace boxsum::filters
