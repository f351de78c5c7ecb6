#pragma once

#include <cstddef>
#include <cstdint>

/// The interface between the driver (cpu.cpp) and the kernels of the integral histogram. As in cpu/simd/kernels.hpp, a
/// kernel set is one translation unit, compiled with the flags of one instruction set, and sees nothing of the library
/// but this header.
///
/// A histogram is computed in two steps. First the pixels of a band of rows become bin numbers, once: bytes for up to
/// 255 bins, else 16 bits. Then the table of each bin is made from these numbers alone. So nothing of the second,
/// expensive step depends on the image's type or on how pixels are binned, and the one-hot planes "this pixel is in bin
/// b" exist in registers only.
namespace boxsum::cpu {

/// Bin number of pixels that are counted nowhere, in 8 bits; in 16 it is binning::no_bin.
inline constexpr std::uint8_t no_bin_8 = 0xff;

/// Rows of bin numbers (and weights) start on multiples of this many entries and are filled up to one with no_bin.
inline constexpr std::int64_t index_unit = 64;

/// Uniform ranges, as in binning::uniform; `scale` is bins / (hi - lo).
struct uniform_bins {
    double lo;
    double hi;
    double scale;
    std::int32_t bins;
    bool clamped;
};

/// n pixels to bin numbers. `rule` is a uniform_bins, or a look-up table of bin numbers for every value of the pixel
/// type: 256 bytes, 256 16-bit numbers, 65536 bytes, 65536 16-bit numbers.
using index_function = void (*)(const void* pixels, void* indices, std::int64_t n, const void* rule);

/// Some rows of the table of one bin.
struct bin_rows {
    const void* indices;        ///< first row of bin numbers, 64-byte aligned
    std::int64_t index_stride;  ///< entries
    const float* weights;       ///< first row, strided like the indices; null for counts
    std::uint32_t bin;
    void* table;                ///< first entry to write
    std::int64_t table_stride;  ///< bytes
    /// The table row above the first one; null for zeros. Streaming kernels neither read the table nor take this: they
    /// keep the row above in `running`.
    const void* above;
    void* running;      ///< streaming: `cols` entries rounded up to index_unit; the last row is left here
    std::int64_t rows;  ///< 1 or more
    std::int64_t cols;  ///< 1 or more
};

using bin_function = void (*)(const bin_rows&);

enum class index_width : std::uint8_t { bytes, words, count };
enum class pixel_kind : std::uint8_t { u16, s32, f32, count };
enum class entry_kind : std::uint8_t { u32, u16, f32, count };

struct histogram_kernels {
    static constexpr std::size_t widths = static_cast<std::size_t>(index_width::count);
    static constexpr std::size_t pixels = static_cast<std::size_t>(pixel_kind::count);
    static constexpr std::size_t entries = static_cast<std::size_t>(entry_kind::count);

    const char* name;
    std::size_t streaming_alignment;         ///< that the streaming kernels want of every table row; 0: there are none
    index_function uniform[pixels][widths];  ///< rule: uniform_bins
    index_function lookup_u8[widths];        ///< rule: 256 bin numbers
    index_function lookup_u16[widths];       ///< rule: 65536 bin numbers
    bin_function cached[entries][widths];
    bin_function streaming[entries][widths];
};

extern const histogram_kernels scalar_histogram_kernels;
#if defined(__x86_64__)
extern const histogram_kernels avx2_histogram_kernels;
extern const histogram_kernels avx512_histogram_kernels;
#endif

}  // namespace boxsum::cpu
