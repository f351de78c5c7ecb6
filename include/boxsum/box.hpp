#pragma once

#include <boxsum/export.hpp>
#include <boxsum/table.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace boxsum BOXSUM_EXPORT {

/// A rectangle of pixels of the image (not of the table): rows row .. row + rows - 1, columns col .. col + cols - 1.
struct box {
    std::int64_t row = 0;
    std::int64_t col = 0;
    std::int64_t rows = 0;
    std::int64_t cols = 0;

    friend bool operator==(const box&, const box&) = default;
};

/// A rectangle whose edges may lie within pixels: pixel (r, c) of the image is the square from (r, c) to (r + 1, c +
/// 1), and the sum over a rectangle is the integral of the image.
struct fractional_box {
    double top = 0;
    double left = 0;
    double bottom = 0;
    double right = 0;

    constexpr double area() const noexcept { return (bottom - top) * (right - left); }

    friend bool operator==(const fractional_box&, const fractional_box&) = default;
};

/// One value whose type is known at run time only: 64-bit unsigned, 64-bit signed or double, by `type`.
struct scalar {
    dtype type = dtype::u64;
    union {
        std::uint64_t u = 0;
        std::int64_t s;
        double f;
    };

    double to_double() const noexcept;
    std::string to_string() const;  ///< integers exactly, floats shortest that reads back
};

/// Throws invalid_argument, naming box and extents, unless the box has at least one pixel and lies inside an image of
/// rows x cols pixels.
void check_box(const box& b, std::int64_t image_rows, std::int64_t image_cols);

/// The same for the image of a table. An exclusive table lacks the last row and column of sums, so a box that touches
/// them is refused.
void check_box(const box& b, const const_any_table_view& table);
/// The same for a box with an area.
void check_box(const fractional_box& b, const const_any_table_view& table);

namespace detail {

/// Sum over a checked box by four reads (Crow 1984; Chen et al. 2018, figure 1), of what was summed: without the
/// form's offset. Integers wrap modulo 2^bits, so a sum that itself fits the table's type is exact however often the
/// table wrapped; signed types go through unsigned ones, where wrapping is defined.
template <typename T>
std::remove_const_t<T> summed_in_checked_box(const table_view<T>& table, const box& b, std::int64_t channel,
                                             std::int64_t plane) {
    using element = std::remove_const_t<T>;
    const std::int64_t border = table.form().border();
    const std::int64_t top = b.row - 1 + border, bottom = top + b.rows;
    const std::int64_t left = b.col - 1 + border, right = left + b.cols;
    const auto at = [&](std::int64_t r, std::int64_t c) -> element {
        return r < 0 || c < 0 ? element{} : table(r, c, channel, plane);
    };
    if constexpr (std::is_integral_v<element>) {
        using U = std::make_unsigned_t<element>;
        return static_cast<element>(static_cast<U>(static_cast<U>(at(bottom, right)) - static_cast<U>(at(top, right)) -
                                                   static_cast<U>(at(bottom, left)) + static_cast<U>(at(top, left))));
    } else {
        return (at(bottom, right) - at(top, right)) - (at(bottom, left) - at(top, left));
    }
}

/// `sum`, with the offset of `rows` x `cols` pixels added back.
template <typename T>
T with_offset(T sum, double offset, std::int64_t rows, std::int64_t cols) noexcept {
    if constexpr (std::is_integral_v<T>) {
        using U = std::uint64_t;
        return static_cast<T>(static_cast<U>(sum) + static_cast<U>(static_cast<std::int64_t>(offset)) *
                                                        static_cast<U>(rows) * static_cast<U>(cols));
    } else {
        return static_cast<T>(static_cast<double>(sum) + static_cast<double>(static_cast<T>(offset)) *
                                                             (static_cast<double>(rows) * static_cast<double>(cols)));
    }
}

/// The sum over a checked box of the image.
template <typename T>
std::remove_const_t<T> sum_of_checked_box(const table_view<T>& table, const box& b, std::int64_t channel,
                                          std::int64_t plane) {
    const auto summed = summed_in_checked_box(table, b, channel, plane);
    const table_form& form = table.form();
    return form.has_offset() ? with_offset(summed, form.offset_of(channel, plane, table.channels()), b.rows, b.cols)
                             : summed;
}

/// The mean over a checked box of the image.
template <typename T>
double mean_of_checked_box(const table_view<T>& table, const box& b, std::int64_t channel, std::int64_t plane) {
    const double mean = static_cast<double>(summed_in_checked_box(table, b, channel, plane)) /
                        (static_cast<double>(b.rows) * static_cast<double>(b.cols));
    const table_form& form = table.form();
    if (!form.has_offset()) return mean;
    return mean +
           static_cast<double>(static_cast<std::remove_const_t<T>>(form.offset_of(channel, plane, table.channels())));
}

/// What the shape alone does not rule out: a table without memory, and a channel or a plane that it lacks.
void check_table_access(std::string_view argument, const const_any_view& table, std::int64_t channel,
                        std::int64_t plane);

}  // namespace detail

/// Sum of the image over a box, from its table, whatever its form; of a table of squares that has an offset only
/// box_variance() makes sense. Integer tables wrap (docs/concepts.md): the result is exact when the
/// box's own sum fits T; `largest_safe_box` says up to which area that is certain.
/// Throws invalid_argument for a null table, a box outside the image, a channel or a plane that the table lacks.
template <typename T>
std::remove_const_t<T> box_sum(const table_view<T>& table, const box& b, std::int64_t channel = 0,
                               std::int64_t plane = 0) {
    detail::check_table_access("table", table.entries(), channel, plane);
    check_box(b, table);
    return detail::sum_of_checked_box(table, b, channel, plane);
}
template <typename T>
T box_sum(const table<T>& t, const box& b, std::int64_t channel = 0, std::int64_t plane = 0) {
    return box_sum(t.view(), b, channel, plane);
}

/// The same for many boxes; out[i] is the sum over boxes[i]. Throws invalid_argument when the spans' sizes differ or,
/// before anything is written, when a box is wrong (the message has its index).
void box_sums(const const_any_table_view& table, std::span<const box> boxes, std::span<scalar> out,
              std::int64_t channel = 0, std::int64_t plane = 0);

/// Sum over the box divided by its number of pixels, in double.
template <typename T>
double box_mean(const table_view<T>& table, const box& b, std::int64_t channel = 0, std::int64_t plane = 0) {
    detail::check_table_access("table", table.entries(), channel, plane);
    check_box(b, table);
    return detail::mean_of_checked_box(table, b, channel, plane);
}
template <typename T>
double box_mean(const table<T>& t, const box& b, std::int64_t channel = 0, std::int64_t plane = 0) {
    return box_mean(t.view(), b, channel, plane);
}

/// out[i] is the mean over boxes[i]; as box_sums otherwise.
void box_means(const const_any_table_view& table, std::span<const box> boxes, std::span<double> out,
               std::int64_t channel = 0, std::int64_t plane = 0);

/// Means of the pixels that count: sums over `tables.counts`, or `tables.fill` (see moment_views; without counts they
/// are box_means()). Throws invalid_argument as box_sums, for tables of different extents or forms and for a wrong
/// min_count; unsupported for counts of another type than 32u, 64u and 64f, and for tables with counts and an offset.
void box_means(const moment_views& tables, std::span<const box> boxes, std::span<double> out, std::int64_t channel = 0,
               std::int64_t plane = 0);

/// The same for one box.
double box_mean(const moment_views& tables, const box& b, std::int64_t channel = 0, std::int64_t plane = 0);

/// Population variance over each box from the tables of sums and of squares, n*S2 - S*S over n*n, where n is the number
/// of pixels, or what `tables.counts` says (see box_means); an offset of their form changes nothing but the precision.
/// When both tables are integers the numerator is exact (128-bit) and never negative, provided that both box sums fit
/// their types; otherwise it is computed in double and clipped at zero. Throws invalid_argument as box_sums, and for
/// tables of different extents or forms.
void box_variances(const moment_views& tables, std::span<const box> boxes, std::span<double> out,
                   std::int64_t channel = 0, std::int64_t plane = 0);

/// The same for one box.
double box_variance(const moment_views& tables, const box& b, std::int64_t channel = 0, std::int64_t plane = 0);

/// Of boxes whose edges may lie within pixels, in double: a sum is that of at most nine boxes of whole pixels, each
/// box_sum(), times the part of their pixels that lies inside, so that it is exact up to the rounding of the last
/// additions. A mean is the sum by the area. A variance is the mean of squares less the square of the mean, clipped at
/// zero. Throw as those of boxes of pixels; a box is wrong, too, where it has no area. Where some pixels may not count
/// (tables with counts, min_count) unsupported.
void box_sums(const const_any_table_view& table, std::span<const fractional_box> boxes, std::span<double> out,
              std::int64_t channel = 0, std::int64_t plane = 0);
void box_means(const const_any_table_view& table, std::span<const fractional_box> boxes, std::span<double> out,
               std::int64_t channel = 0, std::int64_t plane = 0);
void box_variances(const moment_views& tables, std::span<const fractional_box> boxes, std::span<double> out,
                   std::int64_t channel = 0, std::int64_t plane = 0);

/// How far box_variance() may be from the variance of the pixels whose sums the tables hold, at most. Sums of squares
/// cancel: with an offset of 10^6 and a deviation of 1, tables of 64f leave four digits or none, and this says which.
/// From the bound of floating tables (docs/concepts.md) on the four entries of each table and the roundings of the
/// query; for two integer tables a unit in the last place, provided that both box sums fit their types. Not a number or
/// infinite where entries are, not a number where the variance is `tables.fill`; unsupported for counts of 64f.
double box_variance_bound(const moment_views& tables, const box& b, std::int64_t channel = 0, std::int64_t plane = 0);

/// The largest number of pixels of a box whose sum of `input` values is certain to be exact in a table of type `table`:
/// 16 843 009 for 8u32u. For floating tables of integer inputs: as long as every entry of the table up to that many
/// pixels is an exactly representable integer. 0 when no box is certain (floating inputs).
std::int64_t largest_safe_box(dtype input, dtype table);

/// The same for a table of squared values.
std::int64_t largest_safe_box_of_squares(dtype input, dtype squares);

}  // namespace boxsum
