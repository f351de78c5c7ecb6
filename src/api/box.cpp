#include "api/summed_entries.hpp"
#include "core/box_variance.hpp"
#include "core/count_error.hpp"
#include "core/table_types.hpp"
#include "core/validate.hpp"
#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "core/weighted_sums.hpp"

#include <boxsum/box.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace boxsum {
namespace {

__extension__ using uint128 = unsigned __int128;

std::string text_of(const box& b) {
    return "row " + std::to_string(b.row) + ", col " + std::to_string(b.col) + ", rows " + std::to_string(b.rows) +
           ", cols " + std::to_string(b.cols);
}

void check_table(std::string_view argument, const const_any_table_view& table, std::int64_t channel,
                 std::int64_t plane) {
    check_read(argument, table.entries);
    check_form(argument, table.form, table.entries.shape);
    check_table_type(argument, table.entries.shape.type);
    detail::check_table_access(argument, table.entries, channel, plane);
}

template <typename Box>
void check_boxes(std::span<const Box> boxes, std::size_t out, const const_any_table_view& table) {
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

/// What `query` says of the table, as a run-time typed value.
template <typename Query>
scalar answer(const const_any_table_view& table, const Query& query) {
    scalar result;
    result.type = table.entries.shape.type;
    visit_type(table_types{}, result.type, [&]<typename T>() {
        const T sum = query(typed<T>(table));
        if constexpr (std::is_floating_point_v<T>)
            result.f = static_cast<double>(sum);
        else if constexpr (std::is_signed_v<T>)
            result.s = sum;
        else
            result.u = sum;
    });
    return result;
}

/// Sum over a checked box of the image.
scalar checked_sum(const const_any_table_view& table, const box& b, std::int64_t channel, std::int64_t plane) {
    return answer(table, [&](const auto& t) { return detail::sum_of_checked_box(t, b, channel, plane); });
}
/// The same of what was summed: pixels less the form's offset.
scalar checked_summed(const const_any_table_view& table, const box& b, std::int64_t channel, std::int64_t plane) {
    return answer(table, [&](const auto& t) { return detail::summed_in_checked_box(t, b, channel, plane); });
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

void check_box(const fractional_box& b, const const_any_table_view& table) {
    const view_shape& s = table.entries.shape;
    const std::int64_t rows = table.form.answered_extent(s.rows), cols = table.form.answered_extent(s.cols);
    if (lies_within(b, rows, cols)) return;
    const bool empty = !(b.top < b.bottom && b.left < b.right);
    throw invalid_argument("box: rows " + text_of(b.top) + " to " + text_of(b.bottom) + ", columns " + text_of(b.left) +
                           " to " + text_of(b.right) + (empty ? " are empty in the " : " lie outside the ") +
                           std::to_string(rows) + " x " + std::to_string(cols) + " pixels");
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
        out[i] = visit_dtype(table.entries.shape.type, [&]<typename T>() -> double {
            if constexpr (std::is_same_v<T, float16>)
                throw unsupported("table: type 16f is no table type");
            else
                return detail::mean_of_checked_box(typed<T>(table), boxes[i], channel, plane);
        });
}

namespace {

/// One of the four entries that a box reads: how many rows and columns of pixels it sums, and the magnitude of what it
/// holds. A table with an origin is four tables, of which the sign says nothing.
struct corner {
    std::int64_t rows, cols;
    double entry = 0;
};

std::array<corner, 4> corners_of(const const_any_table_view& table, const box& b, std::int64_t channel,
                                 std::int64_t plane) {
    const table_origin& o = table.form.origin;
    const std::int64_t border = table.form.border();
    std::array<corner, 4> all{};
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::int64_t r = b.row + (i < 2 ? b.rows : 0), c = b.col + (i % 2 == 0 ? b.cols : 0);
        all[i] = {std::abs(r - o.row), std::abs(c - o.col)};
        if (all[i].rows == 0 || all[i].cols == 0) continue;
        const scalar entry =
            answer(table, [&](const auto& t) { return t(r - 1 + border, c - 1 + border, channel, plane); });
        all[i].entry = std::abs(entry.to_double());
    }
    return all;
}

double unit_roundoff(dtype type) {
    return type == dtype::f32 ? 0x1p-24 : 0x1p-53;
}

double gamma(const corner& c, double u) {
    return gamma_of(static_cast<double>(c.rows), static_cast<double>(c.cols), u);
}

/// How far the sum of a box may be off whose pixels are not negative.
double error_of_positive(const std::array<corner, 4>& corners, dtype type) {
    double error = 0;
    for (const corner& c : corners)
        error += error_of_entry(static_cast<double>(c.rows), static_cast<double>(c.cols), c.entry, unit_roundoff(type));
    return error;
}

// ---- what counts ----------------------------------------------------------------------------------------------------

/// A table beside that of sums.
void check_beside(std::string_view argument, const const_any_table_view& table, const const_any_table_view& sums,
                  std::int64_t channel, std::int64_t plane) {
    check_table(argument, table, channel, plane);
    const view_shape &s = sums.entries.shape, &q = table.entries.shape;
    if (table.form != sums.form)
        throw invalid_argument(std::string(argument) + ": its form is " + text_of(table.form) +
                               ", but that of sums is " + text_of(sums.form));
    if (s.rows != q.rows || s.cols != q.cols)
        throw invalid_argument(std::string(argument) + ": extents are " + std::to_string(q.rows) + " x " +
                               std::to_string(q.cols) + ", but those of sums are " + std::to_string(s.rows) + " x " +
                               std::to_string(s.cols));
}

void check_counts(const moment_views& tables, std::int64_t channel, std::int64_t plane) {
    if (!std::isfinite(tables.min_count) || tables.min_count < 0)
        throw invalid_argument("min_count: is " + boxsum::text_of(tables.min_count) +
                               ", must be finite and not negative");
    if (tables.counts.entries.data == nullptr) return;
    check_beside("counts", tables.counts, tables.sums, channel, plane);
    check_count_type(tables.counts.entries.shape.type);
    if (tables.sums.form.has_offset())
        throw unsupported("sums: form is " + text_of(tables.sums.form) +
                          ", tables with counts are taken without an offset");
}

/// The pixels of a box, or what counts of them; nothing where it is not enough for a result.
std::optional<counted> count_of(const moment_views& tables, const box& b, std::int64_t channel, std::int64_t plane) {
    counted found = pixels_of(b.rows, b.cols);
    if (tables.counts.entries.data != nullptr) {
        const scalar count = checked_sum(tables.counts, b, channel, plane);
        found = {count.to_double(), is_floating(count.type) ? int128{0} : int128{count.u}};
        if (is_floating(count.type) &&
            !(found.n > error_of_positive(corners_of(tables.counts, b, channel, plane), count.type)))
            return {};
    }
    if (!(found.n > 0 && found.n >= tables.min_count)) return {};
    return found;
}

}  // namespace

void box_means(const moment_views& tables, std::span<const box> boxes, std::span<double> out, std::int64_t channel,
               std::int64_t plane) {
    const bool counts = tables.counts.entries.data != nullptr;
    if (!counts && tables.min_count == 0) return box_means(tables.sums, boxes, out, channel, plane);
    check_table("sums", tables.sums, channel, plane);
    check_counts(tables, channel, plane);
    check_boxes(boxes, out.size(), tables.sums);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const auto count = count_of(tables, boxes[i], channel, plane);
        if (!count)
            out[i] = tables.fill;
        else if (counts)
            out[i] = checked_sum(tables.sums, boxes[i], channel, plane).to_double() / count->n;
        else
            box_means(tables.sums, boxes.subspan(i, 1), out.subspan(i, 1), channel, plane);
    }
}

double box_mean(const moment_views& tables, const box& b, std::int64_t channel, std::int64_t plane) {
    double result = 0;
    box_means(tables, {&b, 1}, {&result, 1}, channel, plane);
    return result;
}

void box_variances(const moment_views& tables, std::span<const box> boxes, std::span<double> out, std::int64_t channel,
                   std::int64_t plane) {
    check_table("sums", tables.sums, channel, plane);
    check_beside("squares", tables.squares, tables.sums, channel, plane);
    check_counts(tables, channel, plane);
    check_boxes(boxes, out.size(), tables.sums);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const auto count = count_of(tables, boxes[i], channel, plane);
        out[i] = count ? variance_of(checked_summed(tables.sums, boxes[i], channel, plane),
                                     checked_summed(tables.squares, boxes[i], channel, plane), *count)
                       : tables.fill;
    }
}

double box_variance(const moment_views& tables, const box& b, std::int64_t channel, std::int64_t plane) {
    double result = 0;
    box_variances(tables, {&b, 1}, {&result, 1}, channel, plane);
    return result;
}

double box_variance_bound(const moment_views& tables, const box& b, std::int64_t channel, std::int64_t plane) {
    const double variance = box_variance(tables, b, channel, plane);  // checks everything
    const dtype of_sums = tables.sums.entries.shape.type, of_squares = tables.squares.entries.shape.type;
    if (tables.counts.entries.data != nullptr && is_floating(tables.counts.entries.shape.type))
        throw unsupported("counts: type is " + std::string(name_of(tables.counts.entries.shape.type)) +
                          ", bounds of variances are of pixels without weights");
    const auto count = count_of(tables, b, channel, plane);
    if (!count) return std::numeric_limits<double>::quiet_NaN();
    const double n = count->n;
    const double mean = checked_summed(tables.sums, b, channel, plane).to_double() / n;
    const double mean_square = checked_summed(tables.squares, b, channel, plane).to_double() / n;
    constexpr double of_double = 0x1p-53;
    if (!is_floating(of_sums) && !is_floating(of_squares) && std::abs(mean) * n < 0x1p63)
        return 4 * of_double * variance;

    const auto sums = corners_of(tables.sums, b, channel, plane),
               squares = corners_of(tables.squares, b, channel, plane);
    double error_of_sum = 0;
    const double error_of_squares = is_floating(of_squares) ? error_of_positive(squares, of_squares) : 0;
    for (std::size_t i = 0; is_floating(of_sums) && i < sums.size(); ++i) {
        // The sum of magnitudes, by Cauchy's and Schwarz's inequality.
        const double sum_of_squares =
            squares[i].entry / (is_floating(of_squares) ? 1 - gamma(squares[i], unit_roundoff(of_squares)) : 1);
        const double magnitudes =
            std::sqrt(static_cast<double>(sums[i].rows) * static_cast<double>(sums[i].cols) * sum_of_squares);
        error_of_sum += (gamma(sums[i], unit_roundoff(of_sums)) + 3 * unit_roundoff(of_sums)) * magnitudes;
    }
    const double error_of_mean = error_of_sum / n;
    const double of_tables = error_of_squares / n + 2 * std::abs(mean) * error_of_mean + error_of_mean * error_of_mean;
    return of_tables + 4 * of_double * (std::abs(mean_square) + mean * mean + variance);
}

// ---- edges within pixels --------------------------------------------------------------------------------------------

namespace {

/// With the offset of every pixel added back.
template <typename T>
struct restored_entries : summed_entries<T> {
    double offset;

    restored_entries(const const_any_table_view& table, std::int64_t channel, std::int64_t plane)
        : summed_entries<T>(table, channel, plane),
          offset(table.form.offset_of(channel, plane, table.entries.shape.channels)) {}

    double value(T sum, std::int64_t rows, std::int64_t cols) const {
        return static_cast<double>(offset == 0 ? sum : detail::with_offset(sum, offset, rows, cols));
    }
};

/// out[i] = f(the sum of `Entries` over boxes[i], its area, what is there)
template <template <typename> typename Entries, typename F>
void integrate(const const_any_table_view& table, std::span<const fractional_box> boxes, std::span<double> out,
               std::int64_t channel, std::int64_t plane, F&& f) {
    visit_type(table_types{}, table.entries.shape.type, [&]<typename T>() {
        const Entries<T> entries(table, channel, plane);
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            const fractional_box& b = boxes[i];
            const weighted_side rows(b.top, b.bottom), cols(b.left, b.right);
            out[i] = f(weighted_sum<T>(entries, rows, cols), b.area(), out[i]);
        }
    });
}

}  // namespace

void box_sums(const const_any_table_view& table, std::span<const fractional_box> boxes, std::span<double> out,
              std::int64_t channel, std::int64_t plane) {
    check_table("table", table, channel, plane);
    check_boxes(boxes, out.size(), table);
    integrate<restored_entries>(table, boxes, out, channel, plane, [](double sum, double, double) { return sum; });
}

void box_means(const const_any_table_view& table, std::span<const fractional_box> boxes, std::span<double> out,
               std::int64_t channel, std::int64_t plane) {
    check_table("table", table, channel, plane);
    check_boxes(boxes, out.size(), table);
    integrate<restored_entries>(table, boxes, out, channel, plane,
                                [](double sum, double area, double) { return sum / area; });
}

void box_variances(const moment_views& tables, std::span<const fractional_box> boxes, std::span<double> out,
                   std::int64_t channel, std::int64_t plane) {
    check_no_counts("", tables, "a box with fractional edges");
    check_table("sums", tables.sums, channel, plane);
    check_beside("squares", tables.squares, tables.sums, channel, plane);
    check_boxes(boxes, out.size(), tables.sums);
    integrate<summed_entries>(tables.sums, boxes, out, channel, plane,
                              [](double sum, double area, double) { return sum / area; });
    integrate<summed_entries>(tables.squares, boxes, out, channel, plane,
                              [](double sum, double area, double mean) { return variance_of_means(mean, sum / area); });
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
    if (is_signed(input) && !is_floating(table)) {        // the most negative of both: 2^bits apart
        const auto bits = [](dtype type) { return static_cast<int>(size_of(type)) * 8; };
        return bits(table) < bits(input) ? 0 : std::int64_t{1} << std::min(bits(table) - bits(input), 62);
    }
    return terms_that_fit(largest_magnitude(input), table);
}

std::int64_t largest_safe_box_of_squares(dtype input, dtype squares) {
    if (is_floating(input)) return 0;
    const uint128 largest = largest_magnitude(input);
    return terms_that_fit(largest * largest, squares);  // of up to 128 bits
}

}  // namespace boxsum
