#include "colour.hpp"

#include "errors.hpp"
#include "pixels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace boxsum::cli {
namespace {

writable_image allocate(const view_shape& extents, dtype type, std::int64_t channels) {
    return allocate_image(packed_shape(type, extents.rows, extents.cols, channels));
}

/// Rounded half up where T has no fractions; NaN becomes 0 there.
template <typename T>
T rounded(double value) {
    if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(value);
    } else {
        const double whole = std::floor(value + 0.5);
        if (!(whole > static_cast<double>(std::numeric_limits<T>::min())))
            return std::isnan(whole) ? T{0} : std::numeric_limits<T>::min();
        return whole < static_cast<double>(std::numeric_limits<T>::max()) ? static_cast<T>(whole)
                                                                          : std::numeric_limits<T>::max();
    }
}

/// Channels `first` to `first + count` of every pixel.
writable_image channels_of(const image& source, std::int64_t first, std::int64_t count) {
    const view_shape& s = source.view.shape;
    const writable_image out = allocate(s, s.type, count);
    const std::size_t element = size_of(s.type), pixel = element * static_cast<std::size_t>(s.channels);
    const std::size_t bytes = element * static_cast<std::size_t>(count);
    for (std::int64_t r = 0; r < s.rows; ++r) {
        const std::byte* from = row_as<std::byte>(source.view, r) + static_cast<std::size_t>(first) * element;
        std::byte* to = out.row(r);
        for (std::int64_t c = 0; c < s.cols; ++c, from += pixel, to += bytes) std::memcpy(to, from, bytes);
    }
    return out;
}

/// Reads a row, all channels.
void load_row(const const_any_view& view, std::int64_t r, std::vector<double>& row) {
    visit_type(view.shape.type, [&]<typename T>(std::type_identity<T>) {
        const T* from = row_as<T>(view, r);
        for (double& value : row) value = static_cast<double>(number_of(*from++));
    });
}

/// Writes a row, rounded to the image's type.
void store_row(const any_view& view, std::int64_t r, const std::vector<double>& row) {
    visit_type(view.shape.type, [&]<typename T>(std::type_identity<T>) {
        T* to = row_as<T>(view, r);
        if constexpr (!std::is_same_v<T, float16>)
            for (const double value : row) *to++ = rounded<T>(value);
    });
}

double white_of(dtype type) {
    return type == dtype::u8 ? 255 : type == dtype::u16 ? 65535 : 0;
}

/// Opacity in the type of the colours that it goes with.
writable_image converted_alpha(const image& alpha, dtype type) {
    const view_shape& s = alpha.view.shape;
    const double from_white = white_of(s.type), to_white = white_of(type);
    const double scale = from_white > 0 && to_white > 0 ? to_white / from_white : 1;
    const writable_image out = allocate(s, type, 1);
    std::vector<double> row(static_cast<std::size_t>(s.cols));
    for (std::int64_t r = 0; r < s.rows; ++r) {
        load_row(alpha.view, r, row);
        for (double& value : row) value *= scale;
        store_row(out.view, r, row);
    }
    return out;
}

template <typename Wide, typename T>
void premultiply(const separated_image& source, const writable_image& out) {
    const view_shape& s = source.colours.view.shape;
    for (std::int64_t r = 0; r < s.rows; ++r) {
        const T* colours = row_as<T>(source.colours.view, r);
        const T* const alpha = row_as<T>(source.alpha.view, r);
        Wide* to = row_as<Wide>(out.view, r);
        for (std::int64_t c = 0; c < s.cols; ++c)
            for (std::int64_t k = 0; k < s.channels; ++k)
                *to++ = static_cast<Wide>(number_of(*colours++)) * static_cast<Wide>(number_of(alpha[c]));
    }
}

template <typename Wide>
void divide_row(const writable_image& colours, const writable_image& alpha, std::int64_t r,
                const std::vector<double>& unseen, std::vector<double>& row) {
    const view_shape& s = colours.view.shape;
    const Wide* from = row_as<Wide>(colours.view, r);
    const Wide* const opacity = row_as<Wide>(alpha.view, r);
    auto to = row.begin();
    auto plain = unseen.begin();
    for (std::int64_t c = 0; c < s.cols; ++c) {
        const auto a = static_cast<double>(opacity[c]);
        for (std::int64_t k = 0; k < s.channels; ++k, ++from, ++plain)
            *to++ = a == 0 ? *plain : static_cast<double>(*from) / a;
        *to++ = a;
    }
}

}  // namespace

bool is_coloured(const image& source) {
    return source.colours() == 3;
}

image to_grey(const image& source, luma_weights luma) {
    if (!is_coloured(source)) return source;
    const view_shape& s = source.view.shape;
    const bool hd = luma == luma_weights::bt709;
    const double red = hd ? 0.2126 : 0.299, green = hd ? 0.7152 : 0.587, blue = hd ? 0.0722 : 0.114;
    const std::int64_t channels = source.alpha ? 2 : 1;
    const writable_image out = allocate(s, s.type == dtype::f16 ? dtype::f32 : s.type, channels);
    visit_type(s.type, [&]<typename T>(std::type_identity<T>) {
        using result = decltype(number_of(T()));
        for (std::int64_t r = 0; r < s.rows; ++r) {
            const T* from = row_as<T>(source.view, r);
            auto* to = row_as<result>(out.view, r);
            for (std::int64_t c = 0; c < s.cols; ++c, from += s.channels, to += channels) {
                to[0] = rounded<result>(red * static_cast<double>(number_of(from[0])) +
                                        green * static_cast<double>(number_of(from[1])) +
                                        blue * static_cast<double>(number_of(from[2])));
                if (channels == 2) to[1] = number_of(from[3]);
            }
        }
    });
    image grey = source;
    grey.view = out.view;
    if (source.metadata && !source.metadata->icc.empty()) {  // a profile is of three colours or of one
        auto metadata = std::make_shared<image_metadata>(*source.metadata);
        metadata->icc.clear();
        grey.metadata = std::move(metadata);
    }
    grey.owner = out.owner;
    return grey;
}

separated_image separate_alpha(const image& source) {
    if (!source.alpha) return {source, {}};
    separated_image parts{source, source};
    const writable_image colours = channels_of(source, 0, source.colours());
    const writable_image alpha = channels_of(source, source.colours(), 1);
    parts.colours.view = colours.view;
    parts.colours.owner = colours.owner;
    parts.colours.alpha = false;
    parts.alpha.view = alpha.view;
    parts.alpha.owner = alpha.owner;
    return parts;
}

image join_alpha(const image& colours, const separated_image& source) {
    if (!source.has_alpha()) return colours;
    const view_shape& s = colours.view.shape;
    const writable_image alpha = converted_alpha(source.alpha, s.type);
    const writable_image out = allocate(s, s.type, s.channels + 1);
    const std::size_t element = size_of(s.type), bytes = element * static_cast<std::size_t>(s.channels);
    for (std::int64_t r = 0; r < s.rows; ++r) {
        const std::byte* from = row_as<std::byte>(colours.view, r);
        const std::byte* opacity = alpha.row(r);
        std::byte* to = out.row(r);
        for (std::int64_t c = 0; c < s.cols; ++c, from += bytes, opacity += element, to += bytes + element) {
            std::memcpy(to, from, bytes);
            std::memcpy(to + bytes, opacity, element);
        }
    }
    image joined = colours;
    joined.view = out.view;
    joined.owner = out.owner;
    joined.alpha = true;
    return joined;
}

writable_image premultiplied(const separated_image& source) {
    const view_shape& s = source.colours.view.shape;
    const dtype wide = s.type == dtype::u8 || s.type == dtype::f32 ? dtype::f32 : dtype::f64;
    const writable_image out = allocate(s, wide, s.channels);
    visit_type(s.type, [&]<typename T>(std::type_identity<T>) {
        if (wide == dtype::f32)
            premultiply<float, T>(source, out);
        else
            premultiply<double, T>(source, out);
    });
    return out;
}

image divided_by_alpha(const writable_image& colours, const writable_image& alpha, const separated_image& source,
                       dtype type) {
    const view_shape& s = colours.view.shape;
    const writable_image out = allocate(s, type, s.channels + 1);
    std::vector<double> row(static_cast<std::size_t>(s.cols * (s.channels + 1)));
    std::vector<double> unseen(static_cast<std::size_t>(s.cols * s.channels));
    for (std::int64_t r = 0; r < s.rows; ++r) {
        load_row(source.colours.view, r, unseen);
        if (s.type == dtype::f32)
            divide_row<float>(colours, alpha, r, unseen, row);
        else
            divide_row<double>(colours, alpha, r, unseen, row);
        store_row(out.view, r, row);
    }
    image result = out;
    result.alpha = true;
    return result;
}

}  // namespace boxsum::cli
