#include "support/broken_records.hpp"

#include "core/visit_types.hpp"
#include "reference/records.hpp"

#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace boxsum::test {
namespace {

constexpr std::int64_t tile = 32;

/// Runs the oracle, then hands the typed table to the vandal.
template <typename Vandal>
void spoil(const problem& p, const buffers& memory, const execution& how, Vandal vandal) {
    reference_sat_record.enqueue(p, memory, how);
    visit_dtype(p.table.type, [&]<typename T>() {
        if constexpr (!std::is_same_v<T, float16>) {
            const view_shape& s = p.table;
            vandal(image_view<T>(static_cast<T*>(memory.table), s.rows, s.cols, s.row_stride, s.channels, s.planes,
                                 s.plane_stride));
        }
    });
}

/// A tile reads the carry of the row above the right one: its first row misses what lies above by one row.
void carry_off_by_one(const problem& p, const buffers& memory, const execution& how) {
    spoil(p, memory, how, []<typename T>(image_view<T> t) {
        if (t.rows() > tile + 1)
            for (std::int64_t c = 0; c < t.cols(); ++c) t(tile, c) = t(tile - 1, c);
    });
}

/// The guard of the right edge is one too strict: the last column is never written. (The oracle wrote it, so what was
/// there before has to be put back.)
void last_column_skipped(const problem& p, const buffers& memory, const execution& how) {
    visit_dtype(p.table.type, [&]<typename T>() {
        if constexpr (!std::is_same_v<T, float16>) {
            const view_shape& s = p.table;
            const image_view<T> t(static_cast<T*>(memory.table), s.rows, s.cols, s.row_stride, s.channels, s.planes,
                                  s.plane_stride);
            std::vector<T> before;
            for (std::int64_t r = 0; r < t.rows(); ++r) before.push_back(t(r, t.cols() - 1));
            reference_sat_record.enqueue(p, memory, how);
            for (std::int64_t r = 0; r < t.rows(); ++r) t(r, t.cols() - 1) = before[static_cast<std::size_t>(r)];
        }
    });
}

/// The partial tile in the corner is written transposed.
void transposed_tail(const problem& p, const buffers& memory, const execution& how) {
    spoil(p, memory, how, []<typename T>(image_view<T> t) {
        const std::int64_t n = std::min(t.rows(), t.cols()) % tile;
        const std::int64_t top = t.rows() - n, left = t.cols() - n;
        for (std::int64_t r = 0; r < n; ++r)
            for (std::int64_t c = 0; c < r; ++c) std::swap(t(top + r, left + c), t(top + c, left + r));
    });
}

/// A status of an earlier call is taken for this one's: the second call of a process adds a carry of the first.
void stale_workspace(const problem& p, const buffers& memory, const execution& how) {
    static std::int64_t carry_of_last_call = 0;
    const std::int64_t stale = std::exchange(carry_of_last_call, p.image.rows * 3 + p.image.cols);
    spoil(p, memory, how, [&]<typename T>(image_view<T> t) {
        if (stale != 0 && t.cols() > tile) t(t.rows() - 1, t.cols() - 1) += static_cast<T>(stale);
    });
}

/// An entry between two tiles adds the corner instead of subtracting it.
void dropped_carry(const problem& p, const buffers& memory, const execution& how) {
    spoil(p, memory, how, []<typename T>(image_view<T> t) {
        if (t.rows() <= tile || t.cols() <= tile) return;
        for (std::int64_t r = tile; r < t.rows(); ++r)
            for (std::int64_t c = tile; c < t.cols(); ++c) t(r, c) = static_cast<T>(t(r, c) - t(tile - 1, tile - 1));
    });
}

/// A store is one element too wide: it spills into the gap between rows.
void writes_between_rows(const problem& p, const buffers& memory, const execution& how) {
    spoil(p, memory, how, []<typename T>(image_view<T> t) {
        const auto row = t.cols() * t.channels() * static_cast<std::int64_t>(sizeof(T));
        if (t.row_stride() > row) t.row(0)[t.cols() * t.channels()] = T{};
    });
}

/// Squares the running sum instead of the pixel.
void squares_of_the_wrong_operand(const problem& p, const buffers& memory, const execution& how) {
    reference_sat_record.enqueue(p, memory, how);
    visit_squares_triple(all_squares_triples{}, p.triple(), [&]<typename Input, typename Table, typename Squares>() {
        const view_shape& s = *p.squares;
        const view_shape& t = p.table;
        const image_view<Squares> squares(static_cast<Squares*>(memory.squares), s.rows, s.cols, s.row_stride,
                                          s.channels, s.planes, s.plane_stride);
        const image_view<Table> table(static_cast<Table*>(memory.table), t.rows, t.cols, t.row_stride, t.channels,
                                      t.planes, t.plane_stride);
        for (std::int64_t r = 0; r < s.rows; ++r)
            for (std::int64_t c = 0; c < s.cols; ++c)
                squares(r, c) = static_cast<Squares>(table(r, c)) * static_cast<Squares>(table(r, c));
    });
}

/// The entries of the first channel and plane that a part computes, with the carries of their row and column.
template <typename Vandal>
void spoil_part(const problem& p, const buffers& memory, const execution& how, Vandal vandal) {
    const carry_shapes& shapes = p.carries;
    std::vector<std::byte> above, left;  // the carries may be the border of the table
    const auto copy = [](std::vector<std::byte>& to, const std::optional<view_shape>& s, const void* from) {
        if (!s) return;
        const auto* const bytes = static_cast<const std::byte*>(from);
        to.assign(bytes, bytes + (s->rows - 1) * s->row_stride +
                             s->cols * s->channels * static_cast<std::int64_t>(size_of(s->type)));
    };
    copy(above, shapes.above, memory.carries.above);
    copy(left, shapes.left, memory.carries.left);
    spoil(p, memory, how, [&]<typename T>(image_view<T> t) {
        const auto at = [](const std::vector<std::byte>& bytes, const std::optional<view_shape>& s, std::int64_t r,
                           std::int64_t c) {
            T value{};
            const std::int64_t pixel = s ? s->channels * static_cast<std::int64_t>(sizeof(T)) : 0;
            if (s && c >= 0) std::memcpy(&value, bytes.data() + r * s->row_stride + c * pixel, sizeof value);
            return value;
        };
        const std::int64_t border = p.form.border(), corners = shapes.corners(p.image.cols);
        for (std::int64_t r = border; r < t.rows(); ++r)
            for (std::int64_t c = border; c < t.cols(); ++c) {
                const T a = at(above, shapes.above, 0, c - border + corners), l = at(left, shapes.left, r - border, 0);
                const T corner = corners > 0 ? at(above, shapes.above, 0, 0) : T{};
                vandal(t(r, c), r - border, c - border, a, l, corner);
            }
    });
}

template <typename T>
T sum_of(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
        return a + b;
}

/// Above and left are added, and the corner that both hold is not taken away.
void part_with_the_corner_twice(const problem& p, const buffers& memory, const execution& how) {
    spoil_part(p, memory, how, []<typename T>(T& entry, auto, auto, T, T, T corner) { entry = sum_of(entry, corner); });
}

/// Only the first tile of a row starts from what lies left of the part.
void part_whose_later_tiles_lack_the_left(const problem& p, const buffers& memory, const execution& how) {
    spoil_part(p, memory, how, []<typename T>(T& entry, auto, std::int64_t c, T, T left, T) {
        if (c >= tile) entry = sum_of(entry, left);
    });
}

/// Only the first tile of a column starts from the row above the part.
void part_whose_later_tiles_lack_the_row_above(const problem& p, const buffers& memory, const execution& how) {
    spoil_part(p, memory, how, []<typename T>(T& entry, std::int64_t r, auto, T above, T, T) {
        if (r >= tile) entry = sum_of(entry, above);
    });
}

support supports_pairs(const problem& p, const parameter_values&) {
    return {!p.squares.has_value(), "sums only"};
}

constexpr algorithm_record broken(std::string_view name,
                                  void (*enqueue)(const problem&, const buffers&, const execution&)) {
    algorithm_record record;
    record.info.name = name;
    record.info.title = "broken on purpose";
    record.info.in_place = true;
    record.supports = supports_pairs;
    record.workspace_bytes = [](const problem&, const parameter_values&) -> std::size_t { return 0; };
    record.enqueue = enqueue;
    record.addition_depth = serial_addition_depth;
    return record;
}

const algorithm_record carry_off_by_one_record = broken("carry-off-by-one", carry_off_by_one);
const algorithm_record last_column_skipped_record = broken("last-column-skipped", last_column_skipped);
const algorithm_record transposed_tail_record = broken("transposed-tail", transposed_tail);
const algorithm_record stale_workspace_record = broken("stale-workspace", stale_workspace);
const algorithm_record dropped_carry_record = broken("dropped-carry", dropped_carry);
const algorithm_record writes_between_rows_record = broken("writes-between-rows", writes_between_rows);

const std::array<const algorithm_record*, 6> records{&carry_off_by_one_record, &last_column_skipped_record,
                                                     &transposed_tail_record,  &stale_workspace_record,
                                                     &dropped_carry_record,    &writes_between_rows_record};

constexpr algorithm_record broken_for_parts(std::string_view name,
                                            void (*enqueue)(const problem&, const buffers&, const execution&)) {
    algorithm_record record = broken(name, enqueue);
    record.info.carries = true;
    return record;
}

const algorithm_record corner_twice_record = broken_for_parts("corner-twice", part_with_the_corner_twice);
const algorithm_record no_left_record =
    broken_for_parts("no-left-in-later-tiles", part_whose_later_tiles_lack_the_left);
const algorithm_record no_above_record =
    broken_for_parts("no-row-above-in-later-tiles", part_whose_later_tiles_lack_the_row_above);
const std::array<const algorithm_record*, 3> part_records{&corner_twice_record, &no_left_record, &no_above_record};

}  // namespace

std::span<const algorithm_record* const> broken_records() {
    return records;
}

std::span<const algorithm_record* const> broken_part_records() {
    return part_records;
}

const algorithm_record broken_squares_record = [] {
    algorithm_record record = broken("squares-of-the-wrong-operand", squares_of_the_wrong_operand);
    record.supports = [](const problem& p, const parameter_values&) -> support {
        return {p.squares.has_value(), "squares only"};
    };
    return record;
}();

}  // namespace boxsum::test
