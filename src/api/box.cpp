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

void check_table(std::string_view argument, const const_any_table_view& table, std::int64_t channel,
                 std::int64_t plane) {
    check_read(argument, table.entries);
    check_layout(argument, table.form.layout);
    detail::check_table_access(argument, table.entries, channel, plane);
}

void check_boxes(std::span<const box> boxes, std::size_t out, const const_any_table_view& table) {
    if (boxes.size() != out)
        throw invalid_argument("out: has " + std::to_string(out) + " entries, but there are " +
                               std::to_string(boxes.size()) + " boxes");
    for (std::size_t i = 0; i < boxes.size(); ++i) try {
            check_box(boxes[i], table);
        } catch (const invalid_argument& e) {
            throw invalid_argument("boxes[" + std::to_string(i) + "]: " + e.what());
        }
}

template <typename T>
table_view<const T> typed(const const_any_table_view& t) {
    return {{static_cast<const T*>(t.entries.data), t.entries.shape}, t.form};
}

/// Sum over a checked box, as a run-time typed value.
scalar checked_sum(const const_any_table_view& table, const box& b, std::int64_t channel, std::int64_t plane) {
    const dtype type = table.entries.shape.type;
    return visit_dtype(type, [&]<typename T>() -> scalar {
        scalar result;
        if constexpr (std::is_same_v<T, float16>) {
            throw unsupported("table: type 16f is no table type");
        } else {
            const T sum = detail::sum_of_checked_box(typed<T>(table), b, channel, plane);
            result.type = type;
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

namespace {

void check_box_within(const box& b, std::int64_t rows, std::int64_t cols, std::string_view of_what) {
    if (b.rows < 1 || b.cols < 1)
        throw invalid_argument("box: " + text_of(b) + " is empty; rows and cols must be at least 1");
    if (b.row < 0 || b.col < 0 || b.row > rows - b.rows || b.col > cols - b.cols)
        throw invalid_argument("box: " + text_of(b) + " lies outside the " + std::to_string(rows) + " x " +
                               std::to_string(cols) + std::string(of_what));
}

}  // namespace

void check_box(const box& b, std::int64_t image_rows, std::int64_t image_cols) {
    check_box_within(b, image_rows, image_cols, " image");
}

void check_box(const box& b, const const_any_table_view& table) {
    const view_shape& s = table.entries.shape;
    const std::int64_t rows = table.form.answered_extent(s.rows), cols = table.form.answered_extent(s.cols);
    check_box_within(b, rows, cols,
                     rows < table.form.image_extent(s.rows)
                         ? " pixels that an exclusive table answers (all but the last row and column)"
                         : " image");
}

namespace detail {

void check_table_access(std::string_view argument, const const_any_view& table, std::int64_t channel,
                        std::int64_t plane) {
    const auto refuse = [&](const char* what, std::int64_t value, std::int64_t count) {
        throw invalid_argument(std::string(what) + ": is " + std::to_string(value) + ", but " + std::string(argument) +
                               (argument.ends_with('s') ? " have " : " has ") + std::to_string(count));
    };
    if (table.data == nullptr) throw invalid_argument(std::string(argument) + ": data is null");
    if (channel < 0 || channel >= table.shape.channels) refuse("channel", channel, table.shape.channels);
    if (plane < 0 || plane >= table.shape.planes) refuse("plane", plane, table.shape.planes);
}

}  // namespace detail

void box_sums(const const_any_table_view& table, std::span<const box> boxes, std::span<scalar> out,
              std::int64_t channel, std::int64_t plane) {
    check_table("table", table, channel, plane);
    check_boxes(boxes, out.size(), table);
    for (std::size_t i = 0; i < boxes.size(); ++i) out[i] = checked_sum(table, boxes[i], channel, plane);
}

void box_means(const const_any_table_view& table, std::span<const box> boxes, std::span<double> out,
               std::int64_t channel, std::int64_t plane) {
    check_table("table", table, channel, plane);
    check_boxes(boxes, out.size(), table);
    for (std::size_t i = 0; i < boxes.size(); ++i)
        out[i] = checked_sum(table, boxes[i], channel, plane).to_double() / pixels(boxes[i]);
}

void box_variances(const moment_views& tables, std::span<const box> boxes, std::span<double> out, std::int64_t channel,
                   std::int64_t plane) {
    const const_any_table_view &sums = tables.sums, &squares = tables.squares;
    check_table("sums", sums, channel, plane);
    check_table("squares", squares, channel, plane);
    const view_shape &s = sums.entries.shape, &q = squares.entries.shape;
    if (squares.form != sums.form)
        throw invalid_argument("squares: its form is " + std::string(name_of(squares.form.layout)) +
                               ", but that of sums is " + std::string(name_of(sums.form.layout)));
    if (s.rows != q.rows || s.cols != q.cols)
        throw invalid_argument("squares: extents are " + std::to_string(q.rows) + " x " + std::to_string(q.cols) +
                               ", but those of sums are " + std::to_string(s.rows) + " x " + std::to_string(s.cols));
    check_boxes(boxes, out.size(), sums);
    for (std::size_t i = 0; i < boxes.size(); ++i)
        out[i] = variance(checked_sum(sums, boxes[i], channel, plane), checked_sum(squares, boxes[i], channel, plane),
                          boxes[i]);
}

double box_variance(const moment_views& tables, const box& b, std::int64_t channel, std::int64_t plane) {
    double result = 0;
    box_variances(tables, {&b, 1}, {&result, 1}, channel, plane);
    return result;
}

namespace {

/// How many terms of at most `largest` surely add up to sums that a table of this type holds exactly.
std::int64_t terms_that_fit(uint128 largest, dtype table) {
    uint128 limit = 0;
    if (table == dtype::f32)
        limit = uint128{1} << 24;
    else if (table == dtype::f64)
        limit = uint128{1} << 53;
    else if (table == dtype::f16)
        limit = uint128{1} << 11;
    else
        limit = (uint128{1} << (static_cast<int>(size_of(table)) * 8 - (is_signed(table) ? 1 : 0))) - 1;
    return static_cast<std::int64_t>(std::min(limit / largest, uint128{std::numeric_limits<std::int64_t>::max()}));
}

/// The largest magnitude of an integer: 2^bits - 1, or 2^bits for the most negative value of a signed type.
uint128 largest_magnitude(dtype type) {
    const int bits = static_cast<int>(size_of(type)) * 8 - (is_signed(type) ? 1 : 0);
    return is_signed(type) ? uint128{1} << bits : (uint128{1} << bits) - 1;
}

}  // namespace

std::int64_t largest_safe_box(dtype input, dtype table) {
    if (is_floating(input)) return 0;                     // a rounding can come with the first addition
    if (is_signed(input) && !is_signed(table)) return 0;  // negative sums have no unsigned value
    return terms_that_fit(largest_magnitude(input), table);
}

std::int64_t largest_safe_box_of_squares(dtype input, dtype squares) {
    if (is_floating(input)) return 0;
    const uint128 largest = largest_magnitude(input);
    return terms_that_fit(largest * largest, squares);  // of up to 128 bits
}

}  // namespace boxsum
