#pragma once

#include "core/host_device.hpp"
#include "cuda/filters/window_kernels.hpp"
#include "filters/filter_jobs.hpp"

#include <cstddef>
#include <cstdint>

/// Windows of integer images without a table: sums slide down the columns in registers, run along the row by a scan,
/// and leave as results (fused_windows.cuh).
namespace boxsum::cuda {

/// What a kernel keeps of every window.
enum class fused_sums {
    deltas,   ///< of 8u over few columns: sums of 32 bits in one row of seven, in 16 by how much the others differ
    narrow,   ///< sums of 32 bits
    broad,    ///< the same of 8u, of twice the columns a thread: for windows of many
    wide,     ///< sums of 64 bits
    squares,  ///< sums and sums of squares: of 32 bits each for 8u, of 64 for the rest
    counted_squares,  ///< the same of pixels of 8u that count, and how many they are
    counted,          ///< sums of integers that count, and how many they are, in 64 bits
    reals,            ///< sums of floats in double
    counted_reals,    ///< the same of those that count, and how many they are
    weighted_reals,   ///< the same of pixels of any type times their weights, and of weights
    squared_reals,    ///< the same of squares of floats, and of floats
};

/// Whether fused kernels take the windows of a job: not if their numbers leave the sums' types, or windows reach
/// several times beyond the image.
bool fused_supports(const filters::window_job& job, bool squares);

fused_sums fused_sums_of(const filters::window_job& job, bool squares);

/// The same of sums of pixels some of which may not count, and of floats: counted, or one of reals. Squares are those
/// of 8u images without weights, and of 32f images whose pixels all count.
bool sliding_supports(const filters::window_job& job, bool squares = false);
fused_sums sliding_sums_of(const filters::window_job& job, bool squares = false);

/// Columns that a thread owns: as many as its registers hold sums and pixels of.
constexpr int fused_columns(dtype pixel, fused_sums sums) {
    if (sums == fused_sums::broad) return 16;
    return sums >= fused_sums::reals || (sums == fused_sums::counted && pixel != dtype::u8) ? 4 : 8;
}

/// Bytes of a thread's sums down its columns.
constexpr int fused_slot_bytes(dtype pixel, fused_sums sums) {
    const int columns = fused_columns(pixel, sums);
    switch (sums) {
        case fused_sums::squares:
            return columns * (pixel == dtype::u8 ? 8 : 16);
        case fused_sums::counted_squares:
            return columns * 12;
        case fused_sums::counted:
            return columns * 8;
        case fused_sums::reals:
            return columns * 8 + 8;
        case fused_sums::counted_reals:
            return columns * 12 + 8;
        case fused_sums::weighted_reals:
            return columns * 16 + (pixel == dtype::f32 ? 16 : 8);
        case fused_sums::squared_reals:
            return columns * 16 + 8;
        default:
            return columns * 4;
    }
}

/// Where bands of rows begin: `parts` in each `period` rows, of as many `unit`s as far as that can be.
struct band_rule {
    int period = 1, parts = 1, unit = 1;
    int segments = 2;  ///< of each, see fused_shape

    BOXSUM_HOST_DEVICE int begin(int band) const {
        if (parts == 1)
            return band * period;  // divisions take longer than all else before the first rows are asked for
        return band / parts * period + band % parts * (period / unit) / parts * unit;
    }
};

/// How windows of some rows are shared out. A block owns `strip_cols` columns by `band_rows` rows of results.
struct fused_shape {
    int threads = 32;
    int strip_cols = 1, strips = 1;
    int band_rows = 8, bands = 1;
    /// Sums of the rows between where bands' windows begin and end are made first; a band's first windows are made of
    /// them.
    bool prepared = false;
    /// Of `prepared`, if above 0: bands differ by a unit, and so many of them, `period` rows, are what windows hold but
    /// one row. So the first windows of one begin where those of an earlier one end, and there are half the segments.
    int parts = 0, period = 0, unit = 1;
    int segments = 0;       ///< of `prepared`: how many there are
    int segment_cols = 0;   ///< columns of one, a multiple of what a thread owns
    int first_segment = 0;  ///< the first column of one, below 0
};
fused_shape fused_shape_of(const filters::window_job& job, fused_sums sums, std::int64_t rows);

/// Device memory for the windows of some rows, whatever it holds.
std::size_t fused_scratch_bytes(const filters::window_job& job, fused_sums sums, std::int64_t rows);

/// Windows around rows first_row .. end_row - 1 of one plane, named from row 0 of the whole image.
struct fused_task {
    const filters::window_job* job = nullptr;
    const_any_view image;
    std::int64_t first_row = 0, end_row = 0;
    void* scratch = nullptr;
    const_any_view mask = {};  ///< without data: none
    int scale = 1;             ///< of slides whose sums are scaled: what they are multiplied by, below 128
};

/// Of the image's type. `sums`: fused_sums_of() the job, or narrow where that says deltas or broad.
void enqueue_fused_means(const fused_task& task, fused_sums sums, const any_view& result, stream_ref stream);

/// 32f or 64f.
void enqueue_fused_statistics(const fused_task& task, const window_results& results, stream_ref stream);
void enqueue_fused_contrast(const fused_task& task, const any_view& result, double epsilon, stream_ref stream);

/// Adds the rows' pixels and deviations to *extremes, as enqueue_extremes() does.
void enqueue_fused_extremes(const fused_task& task, window_extremes* extremes, stream_ref stream);

/// Every method and output.
void enqueue_fused_threshold(const fused_task& task, const any_view& result, const filters::threshold_job& formula,
                             window_extremes* extremes, stream_ref stream);

}  // namespace boxsum::cuda
