#pragma once

#include <cstddef>
#include <cstdint>

/// The interface between the driver (sat_simd.cpp) and the kernels. A kernel set is one translation unit, compiled with
/// the flags of one instruction set; it sees nothing of the library but this header, which defines no function, so that
/// no inline function exists twice with different instructions (checked by tests/unit/cpu/kernel_objects_test.cmake).
/// VNNI's own kernels are a unit of their own beside AVX-512's, which has the rest of that set.
namespace boxsum::cpu {

/// IEEE 754 binary16, bit-compatible with boxsum::float16.
struct half_bits {
    std::uint16_t bits;
};

/// What a kernel computes: input type, output type, and for the square_* ones the sums of squared pixels.
/// Signed and unsigned tables of one width are the same kernel: integers are added modulo 2^bits.
/// The narrow kernels scan rows in 32 bits and widen each entry once; they need row sums below 2^31. The *_wide ones
/// scan in the table's type.
enum class kernel_id : std::uint8_t {
    u8_u32,
    u8_f32,
    u8_f32_wide,
    u8_u64,
    u8_f64,
    u16_u32,
    u16_u64,
    u16_u64_wide,
    s16_u32,
    s16_u64,
    s16_u64_wide,
    u16_f64,
    s16_f64,
    u32_u32,
    u32_u64,
    s32_u64,
    u64_u64,
    f32_f32,
    f32_f64,
    f64_f64,
    f16_f32,
    square_u8_u32,
    square_u8_f32,
    square_u8_f32_wide,
    square_u8_u64,
    square_u8_u64_wide,
    square_u8_f64,
    square_u8_f64_wide,
    square_u16_u64,
    square_u16_f64,
    square_s16_f64,
    square_f32_f32,
    square_f32_f64,
    square_f64_f64,
    count,
};
inline constexpr std::size_t kernel_count = static_cast<std::size_t>(kernel_id::count);

/// Rows that a kernel carries together: rows of a tile come in groups of this many, counted from the top.
inline constexpr std::int64_t rows_per_pass = 4;

/// Columns of a tile are a multiple of this, except in the last tile of a row: the order in which floats are added
/// then depends on the column alone, not on how the image was cut into tiles.
inline constexpr std::int64_t tile_columns_unit = 64;

/// A rectangle of the table, without a border column. All pointers are at its first element; elements are counted with
/// channels, so a row of n pixels has n * channels elements.
struct tile {
    const void* image;
    std::int64_t image_stride;  ///< bytes
    void* table;                ///< first element to write
    std::int64_t table_stride;  ///< bytes
    const void* above;          ///< the table row above the rectangle; null for zeros
    void* carry;                ///< rows x channels: row sums left of the rectangle, replaced by those up to its end
    bool carry_in;              ///< false: the rectangle starts its rows, `carry` is only written
    std::int64_t rows;          ///< 1 or more
    std::int64_t elements;      ///< of a row of the rectangle; 0 for tables that are a border column alone
    std::int64_t border;        ///< elements before each row that the kernel also writes (padded, exclusive): a pixel's
    const void* border_values;  ///< rows x `border` of the table's type; null for zeros
    std::int64_t channels;      ///< 1 to 4
    void* row_buffer;           ///< streaming kernels: `elements` table entries, 64-byte aligned, scratch
    bool fetch_table;           ///< cached kernels: ask for lines of the table a little before they are written
    const double* offsets;      ///< taken from every pixel, of the channels from the first element's on; null: nothing
    bool negated;               ///< with `offsets`: the pixel is taken from the offset (its square: negated)

    /// Not 0, of kernels that start rows themselves: `carry` and `border_values` hold what the first rows_per_pass rows
    /// start with; each of the others starts with minus the sum of that many first elements.
    std::int64_t left_elements;
    void* border_sums;  ///< `border_values`, to go on with
};

using tile_function = void (*)(const tile&);

/// sums[i] += the sum of element i of `rows` image rows (or of its square), for `elements` elements of a row; `sums`
/// are of the table's type, an integer.
using column_function = void (*)(const void* image, std::int64_t image_stride, std::int64_t rows, std::int64_t elements,
                                 void* sums);

/// t.carry[row * channels + k] = the sum over the rectangle's row of channel k, in the table's type, less `offsets`; of
/// a tile that starts with channel 0. The order of additions depends on the number of elements alone.
using row_function = void (*)(const tile& t);

/// Bytes of one row sum in `tile::carry`, at most.
inline constexpr std::size_t carry_bytes = 8;

/// The kernels of one instruction set.
struct kernel_set {
    const char* name;
    std::size_t vector_bytes;  ///< 1: plain C++, without streaming kernels

    struct entry {
        tile_function cached = nullptr;       ///< one channel
        tile_function streaming = nullptr;    ///< one channel, non-temporal stores; null: there are none
        tile_function interleaved = nullptr;  ///< two to four channels
        tile_function interleaved_streaming = nullptr;
        column_function add_columns = nullptr;  ///< integer tables
        row_function sum_rows = nullptr;        ///< null: squares of an integer table, which take no offset
        bool starts_rows = false;               ///< kernels of one channel serve tile::left_elements
        std::int64_t max_channels = 4;          ///< of the interleaved kernel; above that the scalar set serves
    };
    entry kernels[kernel_count];
};

extern const kernel_set scalar_kernels;
#if defined(__x86_64__)
extern const kernel_set avx2_kernels;
extern const kernel_set avx512_kernels;
extern const kernel_set avx512_vnni_kernels;
/// Sums of bytes by VNNI's dot products. All other kernels of that set are AVX-512's.
namespace vnni {
void scan_u8_u32(const tile& t);
void scan_u8_f32(const tile& t);
void scan_u8_u64(const tile& t);
void scan_u8_f64(const tile& t);
void stream_u8_u32(const tile& t);
void stream_u8_f32(const tile& t);
void stream_u8_u64(const tile& t);
void stream_u8_f64(const tile& t);
void sum_rows_u8_u32(const tile& t);
void sum_rows_u8_u64(const tile& t);
}  // namespace vnni
#elif defined(__aarch64__)
extern const kernel_set neon_kernels;
#endif

}  // namespace boxsum::cpu
