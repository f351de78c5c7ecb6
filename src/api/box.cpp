#include "core/view_checks.hpp"
#include "core/visit_types.hpp"

#include <boxsum/box.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

namespace boxsum {
namespace {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

std::string text_of(const box& b) {
    return "row " + std::to_string(b.row) + ", col " + std::to_string(b.col) + ", rows " + std::to_string(b.rows) +
           ", cols " + std::to_string(b.cols);
}

void check_table(std::string_view argument, const const_any_view& table, std::int64_t channel, std::int64_t plane) {
    check_view(argument, table);
    detail::check_table_access(table, channel, plane);
}

void check_boxes(std::span<const box> boxes, std::size_t out, const view_shape& table, table_layout layout) {
    if (boxes.size() != out)
        throw invalid_argument("out: has " + std::to_string(out) + " entries, but there are " +
                               std::to_string(boxes.size()) + " boxes");
    for (std::size_t i = 0; i < boxes.size(); ++i) try {
            check_box(boxes[i], table.rows, table.cols, layout);
        } catch (const invalid_argument& e) {
            throw invalid_argument("boxes[" + std::to_string(i) + "]: " + e.what());
        }
}

template <typename T>
image_view<const T> typed(const const_any_view& v) {
    const view_shape& s = v.shape;
    return {static_cast<const T*>(v.data), s.rows, s.cols, s.row_stride, s.channels, s.planes, s.plane_stride};
}

/// Sum over a checked box, as a run-time typed value.
scalar checked_sum(const const_any_view& table, const box& b, table_layout layout, std::int64_t channel,
                   std::int64_t plane) {
    return visit_dtype(table.shape.type, [&]<typename T>() -> scalar {
        scalar result;
        if constexpr (std::is_same_v<T, float16>) {
            throw unsupported("table: type 16f is no table type");
        } else {
            const T sum = detail::sum_of_checked_box<T>(typed<T>(table), b, layout, channel, plane);
            result.type = table.shape.type;
            if constexpr (std::is_floating_point_v<T>)
                result.f = static_cast<double>(sum);
            else if constexpr (std::is_signed_v<T>)
                result.s = sum;
            else
                result.u = sum;
        }
        return result;
    });
}

int128 to_int128(const scalar& s) {
    return is_signed(s.type) ? int128{s.s} : int128{s.u};
}

double pixels(const box& b) {
    return static_cast<double>(b.rows) * static_cast<double>(b.cols);
}

double variance(const scalar& sum, const scalar& squares, const box& b) {
    if (!is_floating(sum.type) && !is_floating(squares.type)) {
        const int128 n = int128{b.rows} * b.cols;
        const int128 s = to_int128(sum);
        int128 n_squares = 0, square_of_sum = 0, numerator = 0;
        // Beyond 128 bits (sums of more than 2^63) fall back to double below.
        if (!__builtin_mul_overflow(n, to_int128(squares), &n_squares) &&
            !__builtin_mul_overflow(s, s, &square_of_sum) &&
            !__builtin_sub_overflow(n_squares, square_of_sum, &numerator))
            return static_cast<double>(std::max(numerator, int128{0})) / (pixels(b) * pixels(b));
    }
    const double n = pixels(b), mean = sum.to_double() / n;
    const double result = squares.to_double() / n - mean * mean;
    return result < 0 ? 0 : result;  // keeps NaN
}

}  // namespace

double scalar::to_double() const noexcept {
    if (is_floating(type)) return f;
    return is_signed(type) ? static_cast<double>(s) : static_cast<double>(u);
}

std::string scalar::to_string() const {
    if (!is_floating(type)) return is_signed(type) ? std::to_string(s) : std::to_string(u);
    char text[32];
    const auto end = type == dtype::f64 ? std::to_chars(text, text + sizeof text, f)
                                        : std::to_chars(text, text + sizeof text, static_cast<float>(f));
    return {text, end.ptr};
}

void check_box(const box& b, std::int64_t rows, std::int64_t cols, table_layout layout) {
    // Rows and columns of pixels that the table can answer: an exclusive table lacks the last of each.
    const std::int64_t shift = layout == table_layout::inclusive ? 0 : 1;
    const std::int64_t last_row = rows - shift, last_col = cols - shift;
    if (b.rows < 1 || b.cols < 1)
        throw invalid_argument("box: " + text_of(b) + " is empty; rows and cols must be at least 1");
    if (b.row < 0 || b.col < 0 || b.row > last_row - b.rows || b.col > last_col - b.cols)
        throw invalid_argument("box: " + text_of(b) + " lies outside the " + std::to_string(last_row) + " x " +
                               std::to_string(last_col) +
                               (layout == table_layout::exclusive
                                    ? " pixels that an exclusive table answers (all but the last row and column)"
                                    : " image"));
}

namespace detail {

void check_table_access(const const_any_view& table, std::int64_t channel, std::int64_t plane) {
    if (table.data == nullptr) throw invalid_argument("table: data is null");
    if (channel < 0 || channel >= table.shape.channels)
        throw invalid_argument("channel: is " + std::to_string(channel) + ", but the table has " +
                               std::to_string(table.shape.channels));
    if (plane < 0 || plane >= table.shape.planes)
        throw invalid_argument("plane: is " + std::to_string(plane) + ", but the table has " +
                               std::to_string(table.shape.planes));
}

}  // namespace detail

void box_sums(const const_any_view& table, std::span<const box> boxes, std::span<scalar> out, table_layout layout,
              std::int64_t channel, std::int64_t plane) {
    check_table("table", table, channel, plane);
    check_boxes(boxes, out.size(), table.shape, layout);
    for (std::size_t i = 0; i < boxes.size(); ++i) out[i] = checked_sum(table, boxes[i], layout, channel, plane);
}

void box_means(const const_any_view& table, std::span<const box> boxes, std::span<double> out, table_layout layout,
               std::int64_t channel, std::int64_t plane) {
    check_table("table", table, channel, plane);
    check_boxes(boxes, out.size(), table.shape, layout);
    for (std::size_t i = 0; i < boxes.size(); ++i)
        out[i] = checked_sum(table, boxes[i], layout, channel, plane).to_double() / pixels(boxes[i]);
}

void box_variances(const const_any_view& table, const const_any_view& squares, std::span<const box> boxes,
                   std::span<double> out, table_layout layout, std::int64_t channel, std::int64_t plane) {
    check_table("table", table, channel, plane);
    check_table("squares", squares, channel, plane);
    if (table.shape.rows != squares.shape.rows || table.shape.cols != squares.shape.cols)
        throw invalid_argument("squares: extents are " + std::to_string(squares.shape.rows) + " x " +
                               std::to_string(squares.shape.cols) + ", but those of table are " +
                               std::to_string(table.shape.rows) + " x " + std::to_string(table.shape.cols));
    check_boxes(boxes, out.size(), table.shape, layout);
    for (std::size_t i = 0; i < boxes.size(); ++i)
        out[i] = variance(checked_sum(table, boxes[i], layout, channel, plane),
                          checked_sum(squares, boxes[i], layout, channel, plane), boxes[i]);
}

double box_variance(const const_any_view& table, const const_any_view& squares, const box& b, table_layout layout,
                    std::int64_t channel, std::int64_t plane) {
    double result = 0;
    box_variances(table, squares, {&b, 1}, {&result, 1}, layout, channel, plane);
    return result;
}

std::int64_t largest_safe_box(dtype input, dtype table, bool squares) {
    if (is_floating(input)) return 0;  // a rounding can come with the first addition
    const int bits = static_cast<int>(size_of(input)) * 8 - (is_signed(input) ? 1 : 0);
    // The largest magnitude of one term: 2^bits - 1, or 2^bits for the most negative value of a signed type.
    // Its square has up to 128 bits.
    const uint128 term = is_signed(input) ? uint128{1} << bits : (uint128{1} << bits) - 1;
    const uint128 worst = squares ? term * term : term;
    uint128 limit = 0;  // the largest sum that the table's type holds
    if (table == dtype::f32)
        limit = uint128{1} << 24;
    else if (table == dtype::f64)
        limit = uint128{1} << 53;
    else if (table == dtype::f16)
        limit = uint128{1} << 11;
    else
        limit = (uint128{1} << (static_cast<int>(size_of(table)) * 8 - (is_signed(table) ? 1 : 0))) - 1;
    if (is_signed(input) && !squares && !is_signed(table)) return 0;  // negative sums have no unsigned value
    return static_cast<std::int64_t>(std::min(limit / worst, uint128{std::numeric_limits<std::int64_t>::max()}));
}

}  // namespace boxsum
