#pragma once

// Sums of whole rows less an offset, of one channel or several: what rows start with that lie right of an origin. Part
// of scan_kernels.hpp.

#include "cpu/simd/row_group.hpp"
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

/// Adds up pixels of one channel, a vector of each row at a time; lanes are added up together, the rest of a row last.
template <typename In, typename Sum, bool Square>
struct pixel_adder {
    using input = In;
    using lane = Sum;
    using lanes = vec<lane>;
    static constexpr int columns = vec<Sum>::lanes;
    vec<Sum> offset = zero<Sum>();
    bool shifts;  ///< an offset is taken that is not zero

    BOXSUM_INLINE explicit pixel_adder(const tile& t) : shifts(t.offsets != nullptr && t.offsets[0] != 0) {
        if (shifts) offset = pixel_shift<Sum>(t).next();
    }
    template <bool Shifts>
    BOXSUM_INLINE vec<Sum> term(vec<Sum> pixels) const {
        vec<Sum> x = pixels;
        if constexpr (Shifts) x = subtract(pixels, offset);
        if constexpr (Square)
            return square(x);
        else
            return x;
    }
    template <bool Shifts>
    BOXSUM_INLINE void add_to(lanes& sums, const In* p) const {
        sums = add(sums, term<Shifts>(load_pixels<In, Sum>(p)));
    }
    /// The sums of rows from `row` on of a tile, with what follows column i.
    BOXSUM_INLINE void put(const tile& t, std::int64_t row, const In* const (&x)[rows_per_pass],
                           const lanes (&all)[rows_per_pass], std::int64_t i) const {
        auto* const out = static_cast<Sum*>(t.carry);
        const int rest = static_cast<int>(t.elements - i);
        Sum sums[rows_per_pass];
        sum_lanes(all, sums);
        for (std::int64_t q = 0; q < rows_per_pass && row + q < t.rows; ++q) {
            if (rest > 0) {
                Sum edge[columns];
                const vec<Sum> pixels = load_pixels_edge<In, Sum>(x[q] + i, rest);
                store(edge, shifts ? term<true>(pixels) : term<false>(pixels));
                for (int k = 0; k < rest; ++k) sums[q] = static_cast<Sum>(sums[q] + edge[k]);
            }
            out[row + q] = t.negated ? static_cast<Sum>(Sum{} - sums[q]) : sums[q];
        }
    }
};

#if defined(BOXSUM_BYTE_DOT)

inline constexpr std::int64_t most_bytes_in_32_bits = std::int64_t{1} << 24;

/// Bytes by dot products with ones; an offset is taken from the whole.
template <typename Sum>
struct byte_adder {
    using input = std::uint8_t;
    using lane = std::uint32_t;
    using lanes = vec<lane>;
    static constexpr int columns = vector_bytes;
    static constexpr bool shifts = false;
    Sum taken{};

    BOXSUM_INLINE explicit byte_adder(const tile& t) {
        if (t.offsets != nullptr)
            taken = static_cast<Sum>(static_cast<Sum>(static_cast<std::int64_t>(t.offsets[0])) *
                                     static_cast<Sum>(t.elements));
    }
    template <bool Shifts>
    BOXSUM_INLINE void add_to(lanes& sums, const std::uint8_t* p) const {
        sums = dot_bytes(sums, load_bytes(p), splat_bytes(0x01010101));
    }
    BOXSUM_INLINE void put(const tile& t, std::int64_t row, const std::uint8_t* const (&x)[rows_per_pass],
                           const lanes (&all)[rows_per_pass], std::int64_t i) const {
        auto* const out = static_cast<Sum*>(t.carry);
        const int rest = static_cast<int>(t.elements - i);
        u32x s[rows_per_pass];
        for (std::int64_t q = 0; q < rows_per_pass; ++q)
            s[q] = rest > 0 ? dot_bytes(all[q], load_bytes_edge(x[q] + i, rest), splat_bytes(0x01010101)) : all[q];
        std::uint32_t sums[rows_per_pass];
        sum_lanes(s, sums);
        for (std::int64_t q = 0; q < rows_per_pass && row + q < t.rows; ++q) {
            const auto sum = static_cast<Sum>(static_cast<Sum>(sums[q]) - taken);
            out[row + q] = t.negated ? static_cast<Sum>(Sum{} - sum) : sum;
        }
    }
};

#endif

/// Four rows at a time.
template <bool Shifts, typename Adder>
BOXSUM_INLINE void sum_rows_by(const Adder& adder, const tile& t) {
    for (std::int64_t row = 0; row < t.rows; row += rows_per_pass) {
        const typename Adder::input* x[rows_per_pass];
        find_rows(t, row, x);
        typename Adder::lanes s[rows_per_pass];
        for (auto& v : s) v = zero<typename Adder::lane>();
        std::int64_t i = 0;
        for (; i + Adder::columns <= t.elements; i += Adder::columns)
            for (std::int64_t q = 0; q < rows_per_pass; ++q) adder.template add_to<Shifts>(s[q], x[q] + i);
        adder.put(t, row, x, s, i);
    }
}

/// What starts the rows below the tile, which are those of an origin further down: minus what lies left of it.
BOXSUM_INLINE tile left_below(const tile& t) {
    tile below = t;
    below.image = at(t.image, t.rows * t.image_stride);
    below.rows = t.next_rows;
    below.elements = t.left_elements;
    below.carry = t.next_carry;
    below.negated = !t.negated;
    return below;
}

/// Sums the left part of the rows below while those of the tile are scanned: memory is read all the time then, and
/// nothing is read from it twice. In memory, since registers are for tiles that have no origin.
template <typename Adder, stores Policy>
struct sums_below {
    tile below;
    Adder adder;
    std::int64_t row = 0;
    std::int64_t whole = 0;  ///< elements of rows, in whole vectors; none where nothing is asked
    const typename Adder::input* x[rows_per_pass] = {};
    typename Adder::lanes sums[rows_per_pass];
    read_ahead<Policy> ahead;

    BOXSUM_INLINE explicit sums_below(const tile& t) : below(left_below(t)), adder(below), ahead(below, 0, 0, 0) {}

    /// Beside rows of the tile that are as far from its first as these are from the first below.
    BOXSUM_INLINE void begin(std::int64_t r) {
        row = r;
        const bool asked = below.carry != nullptr && row < below.rows;
        whole = asked ? below.elements / Adder::columns * Adder::columns : 0;
        if (!asked) return;
        find_rows(below, row, x);
        for (auto& s : sums) s = zero<typename Adder::lane>();
        ahead = read_ahead<Policy>(
            below, row, below.elements * static_cast<std::int64_t>(sizeof(typename Adder::input)), rows_per_pass);
    }
    /// The vector at column i of each row, of those that come in the order of columns.
    BOXSUM_INLINE void take(std::int64_t i) {
        sums_below* self = this;
        asm("" : "+r"(self));
        if (i < self->whole) self->add(i);
    }
    BOXSUM_INLINE void add(std::int64_t i) {
        constexpr auto element = static_cast<std::int64_t>(sizeof(typename Adder::input));
        if (i * element >= ahead.turn) ahead.take_turn();
        for (std::int64_t q = 0; q < rows_per_pass; ++q) {
            if (adder.shifts)
                adder.template add_to<true>(sums[q], x[q] + i);
            else
                adder.template add_to<false>(sums[q], x[q] + i);
            if ((i & (64 / element - 1)) == 0) ahead(x[q] + i);
        }
    }
    BOXSUM_INLINE void end() {
        if (below.carry != nullptr && row < below.rows) adder.put(below, row, x, sums, whole);
    }
};

/// Of kernels that have no place for it.
struct no_sums_below {
    BOXSUM_INLINE explicit no_sums_below(const tile&) {}
    BOXSUM_INLINE void begin(std::int64_t) {}
    BOXSUM_INLINE void take(std::int64_t) {}
    BOXSUM_INLINE void end() {}
};
/// Those that scan rows in the table's type; squares of an integer table have no origin.
template <typename In, typename Scan, typename Out, bool Square>
inline constexpr bool looks_ahead = std::is_same_v<Scan, Out> && (!Square || std::is_floating_point_v<Out>);

template <typename In, typename Sum, bool Square>
void sum_rows(const tile& t) {
    if (t.channels == 1) {
#if defined(BOXSUM_BYTE_DOT)
        if constexpr (std::is_same_v<In, std::uint8_t> && std::is_integral_v<Sum> && !Square)
            if (t.elements < most_bytes_in_32_bits) return sum_rows_by<false>(byte_adder<Sum>(t), t);
#endif
        const pixel_adder<In, Sum, Square> adder(t);
        return adder.shifts ? sum_rows_by<true>(adder, t) : sum_rows_by<false>(adder, t);
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
