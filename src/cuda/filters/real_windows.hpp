#pragma once

#include "cuda/filters/fused_windows.hpp"
#include "cuda/filters/window_kernels.hpp"
#include "filters/filter_jobs.hpp"

#include <cstddef>
#include <cstdint>

/// Windows without a table: of floating images, and of any whose pixels may not count or are counted. By sums that
/// slide (sliding_samples.cuh, counted_slide.cuh), or in double and by additions only (real_windows.cuh).
namespace boxsum::cuda {

/// What is summed of every pixel x of weight w, 0 where it does not count.
enum class real_terms : std::uint8_t {
    value,             ///< x; all count
    moments,           ///< x and x^2 with what they are rounded by; all count
    packed_squares,    ///< integers without weights: x and how many count, in one double, and x^2
    weighted,          ///< w x and w
    weighted_moments,  ///< w x, w x^2 and w with what they are rounded by
};

/// What is made of windows.
enum class real_task : std::uint8_t { statistics, contrast, extremes, threshold, limit };

real_terms real_terms_of(const filters::window_job& job, bool squares);

inline constexpr std::int64_t largest_real_extent = std::int64_t{1} << 28;  ///< places are 32-bit numbers

/// Whether blocks hold the windows of a job: not if they are wider, reach several times beyond the image, or have more
/// pixels than a packed sum. Of others the sums lie in memory (large_windows.cuh).
bool real_supports(const filters::window_job& job, bool squares);
/// Whether sums slide instead: floats and weighted pixels leave some blocks to windows that are held.
bool real_slides(const filters::window_job& job, bool squares);

/// How windows of some rows are shared out. Nothing but `chunk_bands` and what `segments` are of depends on which rows
/// those are, so that the results of parts have the bits of the whole.
struct real_shape {
    int threads = 32;
    int strip_cols = 1, strips = 1;
    int block_cols = 1;  ///< columns whose prefixes and suffixes are made: a power of 2, below the windows' width
    /// Bands begin at multiples of this, from row 0 of the whole image on: at most the windows' height. Below the rows
    /// of a batch there is no band, and windows are summed one by one.
    int band_rows = 1;
    int first_band = 0, bands = 1;
    int chunk_bands = 1;  ///< a block takes
    /// Sums of the rows that all windows of a band hold are made first, in segments that bands share.
    bool prepared = false;
    int segments = 0;       ///< of `prepared`
    int segment_cols = 0;   ///< columns of one, a multiple of what a thread owns
    int first_segment = 0;  ///< the first column of one, not above 0
};
real_shape real_shape_of(const filters::window_job& job, real_terms terms, std::int64_t first_row,
                         std::int64_t end_row);

/// Rows by which an image may be moved without another bit in its results: bands begin where they did.
std::int64_t real_period(std::int64_t above, std::int64_t below);

/// How large windows are shared out: chunks of bands, whose sums are in memory at once. A band's rows depend on the job
/// only, as in real_shape.
struct large_shape {
    int line = 1;  ///< places along a row of the extended image
    int band_rows = 1;
    int first_band = 0, bands = 1;
    int chunk_bands = 1;
};
large_shape large_shape_of(const filters::window_job& job, int values, std::int64_t first_row, std::int64_t end_row);

/// Device memory for these, of sums of so many doubles.
std::size_t large_scratch_bytes(const filters::window_job& job, int values, std::int64_t first_row,
                                std::int64_t end_row);

/// Device memory for the windows of some rows, whatever it holds.
std::size_t real_scratch_bytes(const filters::window_job& job, bool squares, std::int64_t first_row,
                               std::int64_t end_row);

/// Blocks of sums that slide, in that memory: a word for each, not 0 where it leaves its windows to others.
std::size_t refused_bytes(const filters::window_job& job, const fused_shape& shape);
struct refused_blocks {
    const std::uint32_t* words = nullptr;  ///< null: all windows are wanted
    int strip_cols = 1, strips = 1, band_rows = 1, bands = 1;
};

/// Of one plane; those without data are not written. A filter with one result has it as `mean`.
struct real_results {
    any_view mean, variance, deviation, sum, count;
};

/// Windows around rows first_row .. end_row - 1 of one plane, named from row 0 of the whole image.
struct real_windows {
    const filters::window_job* job = nullptr;
    const_any_view image, mask, weights;  ///< without data: none
    std::int64_t first_row = 0, end_row = 0;
    void* scratch = nullptr;
    refused_blocks refused = {};  ///< whose windows are wanted; others' may be written, too
};

void enqueue_real_statistics(const real_windows& windows, const real_results& results, stream_ref stream);
void enqueue_real_contrast(const real_windows& windows, const real_results& results, double epsilon, stream_ref stream);

/// Adds the rows' pixels and deviations to *extremes, as enqueue_extremes() does.
void enqueue_real_extremes(const real_windows& windows, window_extremes* extremes, stream_ref stream);
void enqueue_real_threshold(const real_windows& windows, const real_results& results,
                            const filters::threshold_job& formula, window_extremes* extremes, stream_ref stream);

}  // namespace boxsum::cuda
