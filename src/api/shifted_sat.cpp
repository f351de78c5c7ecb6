// Tables with an offset or an origin, from those that sat() makes. Rows are taken in strips, from the origin downwards
// and from it upwards. A strip's pixels less the offset (above the origin: the offset less them) become an image of the
// table's type in the second-level cache, whose table continues the strip before it. Each row starts with minus the sum
// of its pixels left of the origin, so that sums are smallest at the origin in both directions:
//
//                 c0
//        up,  +   |   up, -
//     ------------+------------  r0        Entry (r, c) is the integral from the origin: with the sign of
//       down, -   |  down, +               (r - r0) * (c - c0).
//
// The table's column before the first takes what rows start with and their sums, rounded as its entries are. What that
// rounding adds to a row is the same in all its entries, and so in no box.

#include "api/shifted_sat.hpp"

#include "core/visit_types.hpp"
#include "cpu/host.hpp"
#include "cpu/team.hpp"

#include <boxsum/error.hpp>
#include <boxsum/memory.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

/// Bytes of a strip's image for each thread: it stays in the second-level cache.
constexpr std::int64_t strip_bytes = 128 << 10;

template <typename T>
constexpr T difference(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
    } else {
        return a - b;
    }
}

template <typename T>
constexpr T sum_of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    } else {
        return a + b;
    }
}

template <typename T, typename In>
T widened(In pixel) {
    if constexpr (std::is_same_v<In, float16>)
        return static_cast<T>(to_float(pixel));
    else
        return static_cast<T>(pixel);
}

/// Pixels less the offset, or the offset less them; squared with the sign that they had.
template <bool Square, typename In, typename T, typename Entry>
void take_row(void* row, const void* pixels, std::int64_t cols, std::int64_t channels,
              const std::array<double, 4>& offset, bool negated) {
    auto* const to = static_cast<Entry*>(row);
    const auto* const from = static_cast<const In*>(pixels);
    const auto take = [&](std::int64_t i, T o) {
        to[i] = difference(widened<T>(from[i]), o);
        if constexpr (Square) to[i] *= to[i];
    };
    if (channels == 1) {
        const T o = static_cast<T>(offset[0]);
        for (std::int64_t i = 0; i < cols; ++i) take(i, o);
    } else {
        for (std::int64_t c = 0; c < cols; ++c)
            for (std::int64_t k = 0; k < channels; ++k)
                take(c * channels + k, static_cast<T>(offset[static_cast<std::size_t>(k)]));
    }
    for (std::int64_t i = 0; negated && i < cols * channels; ++i) to[i] = difference(Entry{}, to[i]);
}
using take_function = void (*)(void*, const void*, std::int64_t, std::int64_t, const std::array<double, 4>&, bool);

/// The sum of each channel of the first `left` pixels.
template <typename Entry>
std::array<Entry, 4> left_sums(const Entry* from, std::int64_t left, std::int64_t channels) {
    if (left == 0) return {};
    constexpr std::int64_t lanes = 48;  // of 1 to 4 channels, and independent, so that additions overlap
    std::array<Entry, lanes> sums{};
    const std::int64_t elements = left * channels;
    std::int64_t i = 0;
    for (; i + lanes <= elements; i += lanes)
        for (std::int64_t k = 0; k < lanes; ++k)
            sums[static_cast<std::size_t>(k)] = sum_of(sums[static_cast<std::size_t>(k)], from[i + k]);
    for (std::int64_t k = 0; i < elements; ++i, ++k)
        sums[static_cast<std::size_t>(k)] = sum_of(sums[static_cast<std::size_t>(k)], from[i]);
    std::array<Entry, 4> all{};
    for (std::int64_t channel = 0; channel < channels; ++channel) {
        Entry& sum = all[static_cast<std::size_t>(channel)];
        for (std::int64_t k = channel; k < lanes; k += channels) sum = sum_of(sum, sums[static_cast<std::size_t>(k)]);
    }
    return all;
}

/// Calls row(i) for 0 <= i < rows on a team.
template <typename Row>
void for_rows(int threads, std::int64_t rows, const Row& row) {
    struct shared {
        const Row& row;
        std::int64_t rows;
    } all{row, rows};
    cpu::run_team(
        threads,
        [](void* context, int thread, int team) {
            const shared& s = *static_cast<const shared*>(context);
            for (std::int64_t i = s.rows * thread / team; i < s.rows * (thread + 1) / team; ++i) s.row(i);
        },
        &all);
}

struct call {
    const problem& p;
    const const_any_view& image;
    sat_options options;  ///< of a strip
    int threads;
};

/// The rows of a plane's table on one side of the origin.
template <typename Entry>
void make_side(const call& of, const any_table_view& table, std::int64_t plane, bool up, take_function take) {
    const view_shape& s = of.image.shape;
    const view_shape& t = table.entries.shape;
    const table_origin& origin = of.p.form.origin;
    const std::int64_t border = of.p.form.border(), channels = s.channels;
    const std::int64_t rows = up ? origin.row : t.rows - border - origin.row, cols = t.cols - border;
    if (rows < 1) return;
    const std::int64_t elements = cols * channels, left = origin.col;
    const std::int64_t strip = std::clamp<std::int64_t>(
        of.threads * strip_bytes / (std::max<std::int64_t>(elements, 1) * static_cast<std::int64_t>(sizeof(Entry))) /
            4 * 4,
        4, rows + 3);
    const host_buffer memory =
        memory_pool::shared().acquire(static_cast<std::size_t>(strip * elements) * sizeof(Entry));
    Entry* const pixels = static_cast<Entry*>(memory.data());
    std::array<double, 4> offset{};
    for (std::int64_t k = 0; k < channels; ++k)
        offset[static_cast<std::size_t>(k)] = of.p.form.offset_of(k, plane, channels);

    // Row i of the side is written below (above) row i - 1; without a border there is none before the first.
    view_shape part = t;
    part.planes = 1;
    part.row_stride = up ? -t.row_stride : t.row_stride;
    auto* const before = static_cast<std::byte*>(table.entries.data) + (t.planes > 1 ? plane * t.plane_stride : 0) +
                         (origin.row + border - 1) * t.row_stride;
    const auto* const image =
        static_cast<const std::byte*>(of.image.data) + (s.planes > 1 ? plane * s.plane_stride : 0);
    std::vector<std::array<Entry, 4>> starts(static_cast<std::size_t>(strip));
    for (std::int64_t row = 0; row < rows; row += strip) {
        const std::int64_t taken = std::min(strip, rows - row);
        for_rows(of.threads, taken, [&](std::int64_t i) {
            const std::int64_t r = up ? origin.row - 1 - row - i : origin.row + row + i;
            Entry* const to = pixels + i * elements;
            take(to, image + r * s.row_stride, cols, channels, offset, up);
            starts[static_cast<std::size_t>(i)] = left_sums(to, left, channels);
        });
        std::byte* const first = before + row * part.row_stride;
        for (std::int64_t i = 0; border > 0 && i < taken; ++i)
            for (std::int64_t k = 0; k < channels; ++k) {
                auto* const sum = reinterpret_cast<Entry*>(first + i * part.row_stride) + k;
                *reinterpret_cast<Entry*>(first + (i + 1) * part.row_stride +
                                          k * static_cast<std::int64_t>(sizeof(Entry))) =
                    difference(*sum, starts[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)]);
            }
        if (cols == 0) continue;
        view_shape above = part, column = part, written = part;
        above.rows = 1;
        column.rows = taken;
        column.cols = 1;
        written.rows = taken + border;
        sat_inputs in{image_view<const Entry>(pixels, taken, cols, 0, channels)};
        if (border > 0 || row > 0) in.carries.above = {first, above};
        if (left > 0) in.carries.left = {first + part.row_stride, column};
        const table_layout layout = border > 0 ? table_layout::padded : table_layout::inclusive;
        sat(in, {{{border > 0 ? first : first + part.row_stride, written}, layout}}, of.options);
    }
}

template <typename Entry>
void make_table(const call& of, const any_table_view& table, take_function take) {
    for (std::int64_t plane = 0; plane < of.p.image.planes; ++plane)
        for (const bool up : {false, true}) make_side<Entry>(of, table, plane, up, take);
}

/// The row of zeros at the origin.
void write_zeros(const problem& p, const any_table_view& table) {
    const view_shape& s = table.entries.shape;
    if (p.form.border() == 0 || p.form.origin.row >= s.rows) return;
    auto* const row = static_cast<std::byte*>(table.entries.data) + p.form.origin.row * s.row_stride;
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        std::fill_n(row + (s.planes > 1 ? plane * s.plane_stride : 0), s.cols * s.pixel_stride(), std::byte{});
}

std::int64_t bytes_of(const view_shape& s) {
    return s.planes * s.rows * s.cols * s.channels * static_cast<std::int64_t>(size_of(s.type));
}

}  // namespace

void make_shifted_tables(const problem& p, const const_any_view& image, const sat_outputs& outputs,
                         const sat_options& options) {
    if (p.squares && !(is_floating(p.table.type) && is_floating(p.squares->type)))
        throw unsupported("squares: tables of " + std::string(name_of(p.table.type)) + " and " +
                          std::string(name_of(p.squares->type)) +
                          " are exact without an offset or an origin; those of floating types take them");
    const std::int64_t bytes =
        bytes_of(p.image) + bytes_of(p.table) + (p.squares ? bytes_of(*p.squares) : std::int64_t{0});
    call of{p, image, options, cpu::choose_threads(bytes, options.threads)};
    of.options.threads = of.threads;
    of.options.store = cpu::choose_store(bytes, of.threads, options.store);
    if (p.squares) {  // first: a table in place overwrites the image
        write_zeros(p, outputs.squares);
        visit_squares_triple(all_squares_triples{}, p.triple(), [&]<typename In, typename T, typename Entry>() {
            if constexpr (std::is_floating_point_v<T> && std::is_floating_point_v<Entry>)
                make_table<Entry>(of, outputs.squares, take_row<true, In, T, Entry>);
        });
    }
    write_zeros(p, outputs.sums);
    visit_type_pair(all_type_pairs{}, p.types(),
                    [&]<typename In, typename T>() { make_table<T>(of, outputs.sums, take_row<false, In, T, T>); });
}

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
                        return widened<double>(*reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(row) +
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
