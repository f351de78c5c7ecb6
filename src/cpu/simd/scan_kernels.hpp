#pragma once

// The kernels, written once over a vector wrapper (vector_*.hpp) and compiled once per instruction set by
// a translation unit that names its wrapper. Everything is in an unnamed namespace.
//
// A table entry is T(r, c) = T(r - 1, c) + S(r, c) with S the sum of row r up to column c. All kernels compute S in
// registers and add it to the row above, four rows at a time, so that the row above is loaded once for four rows.
// Floats are added in one order, whatever the tiles, threads and stores:
//   within 128-bit blocks of a row from left to right; blocks of a vector by a scan of their totals; that sum to the
//   sum of the row left of the vector; and the result to the entry above.

#include "cpu/simd/add_columns.hpp"
#include "cpu/simd/scan_bytes.hpp"
#include "cpu/simd/scan_bytes_in_words.hpp"
#include "cpu/simd/scan_channels.hpp"
#include "cpu/simd/scan_rows.hpp"
#include "cpu/simd/staged_rows.hpp"
#include "cpu/simd/sum_rows.hpp"

namespace boxsum::cpu {
namespace {

#if defined(BOXSUM_VECTOR_JOINER)
template <tile_function AnyRows, tile_function Cached, typename In, typename Out, typename Carry, typename Adder>
inline constexpr tile_function past_caches = AnyRows;
#else
template <tile_function AlignedRows, tile_function Cached, typename In, typename Out, typename Carry, typename Adder>
inline constexpr tile_function past_caches = scan_past_caches<AlignedRows, Cached, In, Out, Carry, Adder>;
#endif

/// Two to four channels (with fewer lanes than channels the scalar set serves), and column sums.
template <typename In, typename Out, bool Square>
constexpr void set_common(kernel_set::entry& e) {
    e.max_channels = vec<Out>::lanes < 4 ? vec<Out>::lanes : 4;
    e.interleaved = scan_interleaved<In, Out, Square, stores::cached>;
    e.interleaved_streaming = past_caches<scan_interleaved<In, Out, Square, stores::streaming>,
                                          scan_interleaved<In, Out, Square, stores::cached>, In, Out, Out, no_adder>;
    if constexpr (!Square || std::is_floating_point_v<Out>) e.sum_rows = sum_rows<In, Out, Square>;
    // Sums of signed numbers have an unsigned table of the same width: they are added modulo 2^bits.
    if constexpr (std::is_integral_v<Out>) e.add_columns = add_columns<In, Out, Square>;
}
template <typename In, typename Scan, typename Out, bool Square = false>
constexpr kernel_set::entry vector_entry() {
    kernel_set::entry e;
    e.cached = scan_tile<In, Scan, Out, Square, stores::cached>;
    e.streaming = past_caches<scan_tile<In, Scan, Out, Square, stores::streaming>,
                              scan_tile<In, Scan, Out, Square, stores::cached>, In, Out, Scan,
                              starts_adder<In, Scan, Out, Square>>;
    e.starts_rows = starts_rows<Scan, Out, Square>;
    set_common<In, Out, Square>(e);
    return e;
}
template <typename Out>
constexpr kernel_set::entry byte_entry() {
#if defined(BOXSUM_BYTE_DOT)
    kernel_set::entry e;
    e.cached = scan_bytes<Out, stores::cached>;
    e.streaming = past_caches<scan_bytes<Out, stores::streaming>, scan_bytes<Out, stores::cached>, std::uint8_t, Out,
                              std::uint32_t, byte_starts_adder<Out>>;
    e.starts_rows = shifts_sums<Out>;
#if defined(BOXSUM_BYTE_WORDS)
    // Entries of 8 bytes do not fit the registers beside the words: 8u64f in cache takes 1.1 to 1.2 times as long.
    if constexpr (sizeof(Out) == 4) {
        e.cached = scan_bytes_in_words<Out, stores::cached>;
        e.streaming = past_caches<scan_bytes_in_words<Out, stores::streaming>, scan_bytes_in_words<Out, stores::cached>,
                                  std::uint8_t, Out, std::uint32_t, byte_starts_adder<Out>>;
    }
#endif
    set_common<std::uint8_t, Out, false>(e);
    return e;
#else
    return vector_entry<std::uint8_t, std::uint32_t, Out>();
#endif
}

constexpr kernel_set make_kernel_set(const char* name) {
    using u8 = std::uint8_t;
    using u16 = std::uint16_t;
    using s16 = std::int16_t;
    using u32 = std::uint32_t;
    using s32 = std::int32_t;
    using u64 = std::uint64_t;
    kernel_set set{name, static_cast<std::size_t>(vector_bytes), {}};
    const auto at = [&](kernel_id id) -> kernel_set::entry& { return set.kernels[static_cast<std::size_t>(id)]; };
    at(kernel_id::u8_u32) = byte_entry<u32>();
    at(kernel_id::u8_f32) = byte_entry<float>();
    at(kernel_id::u8_f32_wide) = vector_entry<u8, float, float>();
    at(kernel_id::u8_u64) = byte_entry<u64>();
    at(kernel_id::u8_f64) = byte_entry<double>();
    at(kernel_id::u16_u32) = vector_entry<u16, u32, u32>();
    at(kernel_id::u16_u64) = vector_entry<u16, u32, u64>();
    at(kernel_id::u16_u64_wide) = vector_entry<u16, u64, u64>();
    at(kernel_id::s16_u32) = vector_entry<s16, u32, u32>();
    at(kernel_id::s16_u64) = vector_entry<s16, s32, u64>();
    at(kernel_id::s16_u64_wide) = vector_entry<s16, u64, u64>();
    at(kernel_id::u16_f64) = vector_entry<u16, u32, double>();
    at(kernel_id::s16_f64) = vector_entry<s16, s32, double>();
    at(kernel_id::u32_u32) = vector_entry<u32, u32, u32>();
    at(kernel_id::u32_u64) = vector_entry<u32, u64, u64>();
    at(kernel_id::s32_u64) = vector_entry<s32, u64, u64>();
    at(kernel_id::u64_u64) = vector_entry<u64, u64, u64>();
    at(kernel_id::f32_f32) = vector_entry<float, float, float>();
    at(kernel_id::f32_f64) = vector_entry<float, double, double>();
    at(kernel_id::f64_f64) = vector_entry<double, double, double>();
    at(kernel_id::f16_f32) = vector_entry<half_bits, float, float>();
    at(kernel_id::square_u8_u32) = vector_entry<u8, u32, u32, true>();
    at(kernel_id::square_u8_f32) = vector_entry<u8, u32, float, true>();
    at(kernel_id::square_u8_f32_wide) = vector_entry<u8, float, float, true>();
    at(kernel_id::square_u8_u64) = vector_entry<u8, u32, u64, true>();
    at(kernel_id::square_u8_u64_wide) = vector_entry<u8, u64, u64, true>();
    at(kernel_id::square_u8_f64) = vector_entry<u8, u32, double, true>();
    at(kernel_id::square_u8_f64_wide) = vector_entry<u8, double, double, true>();
    at(kernel_id::square_u16_u64) = vector_entry<u16, u64, u64, true>();
    at(kernel_id::square_u16_f64) = vector_entry<u16, double, double, true>();
    at(kernel_id::square_s16_f64) = vector_entry<s16, double, double, true>();
    at(kernel_id::square_f32_f32) = vector_entry<float, float, float, true>();
    at(kernel_id::square_f32_f64) = vector_entry<float, double, double, true>();
    at(kernel_id::square_f64_f64) = vector_entry<double, double, double, true>();
    return set;
}

}  // namespace
}  // namespace boxsum::cpu
