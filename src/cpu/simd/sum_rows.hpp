#pragma once

// Sums of whole rows less an offset, of one channel or several: what rows start with that lie right of an origin. Part
// of scan_kernels.hpp.

#include "cpu/simd/row_sums.hpp"

namespace boxsum::cpu {
namespace {

/// Four rows of an image; those that do not exist read the last one.
template <typename In>
BOXSUM_INLINE void find_rows(const tile& t, std::int64_t row, const In* (&rows)[rows_per_pass]) {
    for (std::int64_t q = 0; q < rows_per_pass; ++q)
        rows[q] = reinterpret_cast<const In*>(at(t.image, (row + q < t.rows ? row + q : t.rows - 1) * t.image_stride));
}
/// What the lanes of four vectors add up to.
template <typename Sum>
BOXSUM_INLINE void sum_lanes(const vec<Sum> (&lanes)[rows_per_pass], Sum (&sums)[rows_per_pass]) {
    const Sum none[rows_per_pass] = {};
    row_sums<Sum> of_lanes(none);
    of_lanes.take(lanes);
    for (int g = 0; g < row_sums<Sum>::groups; ++g)
        store_first_block(sums + g * row_sums<Sum>::block_lanes, last_block(of_lanes.totals[g]));
}

/// Of kernels that have no use for one.
struct no_adder {
    BOXSUM_INLINE explicit no_adder(const tile&) {}
};

/// Adds up pixels of one channel less the tile's offset, or their squares, a vector of each of four rows at a time.
/// Integers lose the offset as often as there are pixels.
template <typename In, typename Sum, bool Square>
struct pixel_adder {
    using input = In;
    using sum = Sum;
    using lane = Sum;
    static constexpr int columns = vec<Sum>::lanes;
    static constexpr bool in_the_end = std::is_integral_v<Sum> && !Square;
    pixel_shift<Sum> shift;
    bool shifts;  ///< by an offset that is not zero

    BOXSUM_INLINE explicit pixel_adder(const tile& t) : shift(t), shifts(shift.any && t.offsets[0] != 0) {}

    BOXSUM_INLINE static vec<Sum> term(vec<Sum> x) {
        if constexpr (Square)
            return square(x);
        else
            return x;
    }
    BOXSUM_INLINE void take(vec<Sum> (&sums)[rows_per_pass], const In* const (&x)[rows_per_pass]) const {
        if constexpr (in_the_end) {
            for (int q = 0; q < rows_per_pass; ++q) sums[q] = add_pixels(sums[q], x[q]);
        } else if (opaque(shifts)) {
            const vec<Sum> offset = load(shift.offsets);
            for (int q = 0; q < rows_per_pass; ++q)
                sums[q] = add(sums[q], term(subtract(load_pixels<In, Sum>(x[q]), offset)));
        } else {
            for (int q = 0; q < rows_per_pass; ++q) sums[q] = add(sums[q], term(load_pixels<In, Sum>(x[q])));
        }
    }
    /// The first `count` columns of a vector.
    BOXSUM_INLINE void take_edge(vec<Sum> (&sums)[rows_per_pass], const In* const (&x)[rows_per_pass],
                                 int count) const {
        const vec<Sum> offset = shifts && !in_the_end ? load_first(shift.offsets, count) : zero<Sum>();
        for (int q = 0; q < rows_per_pass; ++q)
            sums[q] = add(sums[q], term(subtract(load_pixels_edge<In, Sum>(x[q], count), offset)));
    }
    /// The sums of rows of `elements`.
    BOXSUM_INLINE void finish(const vec<Sum> (&lanes)[rows_per_pass], [[maybe_unused]] std::int64_t elements,
                              Sum (&sums)[rows_per_pass]) const {
        sum_lanes(lanes, sums);
        if constexpr (in_the_end) {
            Sum taken{};
            if (shifts) taken = static_cast<Sum>(shift.offsets[0] * static_cast<Sum>(elements));
            for (Sum& s : sums) s = static_cast<Sum>(s - taken);
        }
    }

  private:
    /// sums + a vector of pixels, in whichever lanes.
    BOXSUM_INLINE static vec<Sum> add_pixels(vec<Sum> sums, const In* p) {
#if defined(BOXSUM_BYTE_DOT)
        // Widened they would pass the port that transposes.
        if constexpr (std::is_same_v<In, std::int16_t> && sizeof(Sum) == 4)
            return dot_words(sums, load_half(p), splat(0x00010001));
#endif
        return add(sums, load_pixels<In, Sum>(p));
    }
};

#if defined(BOXSUM_BYTE_DOT)

inline constexpr std::int64_t most_bytes_in_32_bits = std::int64_t{1} << 24;

/// The same of bytes, by dot products with ones.
template <typename Sum>
struct byte_adder {
    using input = std::uint8_t;
    using sum = Sum;
    using lane = std::uint32_t;
    static constexpr int columns = vector_bytes;
    Sum offset{};

    BOXSUM_INLINE explicit byte_adder(const tile& t) {
        if (t.offsets != nullptr) offset = static_cast<Sum>(static_cast<std::int64_t>(t.offsets[0]));
    }
    BOXSUM_INLINE void take(u32x (&sums)[rows_per_pass], const std::uint8_t* const (&x)[rows_per_pass]) const {
        for (int q = 0; q < rows_per_pass; ++q) sums[q] = dot_bytes(sums[q], load_bytes(x[q]), splat_bytes(0x01010101));
    }
    BOXSUM_INLINE void take_edge(u32x (&sums)[rows_per_pass], const std::uint8_t* const (&x)[rows_per_pass],
                                 int count) const {
        for (int q = 0; q < rows_per_pass; ++q)
            sums[q] = dot_bytes(sums[q], load_bytes_edge(x[q], count), splat_bytes(0x01010101));
    }
    BOXSUM_INLINE void finish(const u32x (&lanes)[rows_per_pass], std::int64_t elements,
                              Sum (&sums)[rows_per_pass]) const {
        std::uint32_t all[rows_per_pass];
        sum_lanes(lanes, all);
        const auto taken = static_cast<Sum>(offset * static_cast<Sum>(elements));
        for (int q = 0; q < rows_per_pass; ++q) sums[q] = static_cast<Sum>(static_cast<Sum>(all[q]) - taken);
    }
};
template <typename Out>
using byte_starts_adder = std::conditional_t<shifts_sums<Out>, byte_adder<std::uint32_t>, no_adder>;

#endif

/// Sums of the first `elements` of four rows of a tile, from left to right.
template <typename Adder>
struct left_sums {
    using input = typename Adder::input;
    std::int64_t elements;
    std::int64_t i = 0;  ///< what lies left of it is in `lanes`
    vec<typename Adder::lane> lanes[rows_per_pass];

    BOXSUM_INLINE explicit left_sums(std::int64_t n) : elements(n) {
        for (auto& v : lanes) v = zero<typename Adder::lane>();
    }
    /// Up to `end`, of which only the last may be less than a vector.
    __attribute__((noinline)) void take(const tile& t, const Adder& adder, std::int64_t row, std::int64_t end) {
        const input* x[rows_per_pass];
        find_rows(t, row, x);
        for (const input*& p : x) p += i;
        for (; i + Adder::columns <= end; i += Adder::columns) {
            adder.take(lanes, x);
            for (const input*& p : x) p += Adder::columns;
        }
        if (i < end) adder.take_edge(lanes, x, static_cast<int>(end - i));
        i = end;
    }
};

/// What the four rows below those that a kernel scans start with, right of an origin (tile::left_elements). The
/// kernel's loop adds up their pixels: memory is read all the time then, and nothing is read from there twice.
template <typename Adder>
struct starts_below {
    using input = typename Adder::input;
    using sum = typename Adder::sum;
    const tile& t;
    const Adder& adder;
    std::int64_t row;
    bool asked;
    left_sums<Adder> sums;

    BOXSUM_INLINE starts_below(const tile& of, const Adder& a, std::int64_t first_row)
        : t(of), adder(a), row(first_row), asked(t.left_elements > 0 && row < t.rows), sums(t.left_elements) {}

    /// Those that a loop may take beside the columns above them from i on; what lies left of it is taken here.
    BOXSUM_INLINE std::int64_t columns_beside(const input* const (&above)[rows_per_pass], std::int64_t i) {
        if (!asked || row + rows_per_pass > t.rows) return 0;
        while (sums.i + Adder::columns <= i && i <= sums.elements) take(above, sums.i);
        return sums.elements;
    }
    /// A vector of columns, of which the rows `above` have those from i on.
    BOXSUM_INLINE void take(const input* const (&above)[rows_per_pass], std::int64_t i) {
        const input* x[rows_per_pass];
        for (int q = 0; q < rows_per_pass; ++q)
            x[q] = reinterpret_cast<const input*>(at(above[q] + i, rows_per_pass * t.image_stride));
        adder.take(sums.lanes, x);
        sums.i = i + Adder::columns;
    }
    /// Leaves them and the border column where the kernel will look for them.
    BOXSUM_INLINE void finish() {
        if (!asked) return;
        if (sums.i < sums.elements) {
            left_sums<Adder> all = sums;  // the others stay in registers
            all.take(t, adder, row, sums.elements);
            sums = all;
        }
        sum all[rows_per_pass];
        adder.finish(sums.lanes, sums.elements, all);
        auto* const starts = static_cast<sum*>(t.carry);
        auto* const border = static_cast<sum*>(t.border_sums);
        sum upto = border[row - 1];
        for (std::int64_t q = 0, r = row; q < rows_per_pass && r < t.rows; ++q, ++r) {
            const sum start = t.negated ? all[q] : static_cast<sum>(sum{} - all[q]);
            upto = static_cast<sum>(upto + start);
            starts[r] = start;
            border[r] = upto;
        }
    }
};

template <>
struct starts_below<no_adder> {
    BOXSUM_INLINE starts_below(const tile&, const no_adder&, std::int64_t) {}
    template <typename In>
    BOXSUM_INLINE static std::int64_t columns_beside(const In* const (&)[rows_per_pass], std::int64_t) {
        return 0;
    }
    template <typename In>
    BOXSUM_INLINE static void take(const In* const (&)[rows_per_pass], std::int64_t) {}
    BOXSUM_INLINE static void finish() {}
};

/// Those that scan rows in the table's type have; squares of an integer table have no origin.
template <typename Scan, typename Out, bool Square>
inline constexpr bool starts_rows = std::is_same_v<Scan, Out> && (!Square || std::is_floating_point_v<Out>);
template <typename In, typename Scan, typename Out, bool Square>
using starts_adder = std::conditional_t<starts_rows<Scan, Out, Square>, pixel_adder<In, Scan, Square>, no_adder>;

template <typename Adder>
BOXSUM_INLINE void sum_rows_by(const tile& t) {
    using Sum = typename Adder::sum;
    const Adder adder(t);
    auto* const out = static_cast<Sum*>(t.carry);
    for (std::int64_t row = 0; row < t.rows; row += rows_per_pass) {
        left_sums<Adder> left(t.elements);
        left.take(t, adder, row, t.elements);
        Sum sums[rows_per_pass];
        adder.finish(left.lanes, t.elements, sums);
        for (std::int64_t q = 0; q < rows_per_pass && row + q < t.rows; ++q)
            out[row + q] = t.negated ? static_cast<Sum>(Sum{} - sums[q]) : sums[q];
    }
}

template <typename In, typename Sum, bool Square>
void sum_rows(const tile& t) {
    if (t.channels == 1) {
#if defined(BOXSUM_BYTE_DOT)
        if constexpr (std::is_same_v<In, std::uint8_t> && std::is_integral_v<Sum> && !Square)
            if (t.elements < most_bytes_in_32_bits) return sum_rows_by<byte_adder<Sum>>(t);
#endif
        return sum_rows_by<pixel_adder<In, Sum, Square>>(t);
    }
    constexpr int lanes = vec<Sum>::lanes;
    constexpr int most = 4;  // vectors that are summed apart, so that additions overlap
    const int channels = static_cast<int>(t.channels);
    const int together = channels == 3 ? 3 : 4;  // whole pixels
    auto* const out = static_cast<Sum*>(t.carry);
    pixel_shift<Sum, 4> shift(t);
    vec<Sum> offset[most];
    for (vec<Sum>& o : offset) o = shift.next();
    const auto term = [](vec<Sum> pixels, vec<Sum> o) __attribute__((always_inline)) {
        const vec<Sum> x = subtract(pixels, o);
        if constexpr (Square)
            return square(x);
        else
            return x;
    };
    for (std::int64_t row = 0; row < t.rows; ++row) {
        const In* const x = reinterpret_cast<const In*>(at(t.image, row * t.image_stride));
        vec<Sum> s[most] = {zero<Sum>(), zero<Sum>(), zero<Sum>(), zero<Sum>()};
        const auto add_to = [&](int k, std::int64_t i) __attribute__((always_inline)) {
            s[k] = add(s[k], term(load_pixels<In, Sum>(x + i), offset[k]));
        };
        std::int64_t i = 0;
        for (; i + together * lanes <= t.elements; i += together * lanes) {
            for (int k = 0; k < 3; ++k) add_to(k, i + k * lanes);
            if (together == 4) add_to(3, i + 3 * lanes);
        }
        int behind = 0;  // whole vectors
        for (; i + lanes <= t.elements; ++behind, i += lanes) add_to(behind, i);
        Sum all[(most + 1) * lanes];
        for (int k = 0; k < together; ++k) store(all + k * lanes, s[k]);
        const int count = static_cast<int>(t.elements - i);
        if (count > 0) {
            store(all + together * lanes, term(load_pixels_edge<In, Sum>(x + i, count), offset[behind]));
        }
        Sum sums[4] = {};
        for (int k = 0; k < together * lanes; k += channels)
            for (int c = 0; c < channels; ++c) sums[c] = static_cast<Sum>(sums[c] + all[k + c]);
        for (int k = 0, c = static_cast<int>(i % channels); k < count; ++k, c = c + 1 == channels ? 0 : c + 1)
            sums[c] = static_cast<Sum>(sums[c] + all[together * lanes + k]);
        for (int k = 0; k < channels; ++k)
            out[row * channels + k] = t.negated ? static_cast<Sum>(Sum{} - sums[k]) : sums[k];
    }
}

}  // namespace
}  // namespace boxsum::cpu
