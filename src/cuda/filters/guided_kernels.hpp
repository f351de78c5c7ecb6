#pragma once

#include "cuda/filters/fused_windows.hpp"
#include "cuda/filters/real_windows.hpp"
#include "filters/window_job.hpp"

#include <boxsum/cuda/stream.hpp>
#include <boxsum/filters.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

/// The two passes of a guided filter: fits of windows, and what their means make of the guide.
namespace boxsum::cuda {

inline constexpr int most_guides = 4;  ///< channels of a guide

/// What fits of 32f are rounded to multiples of: powers of two.
struct guided_units {
    double a = 1, b = 1;

    guided_units() = default;
    /// With u the least of sqrt(epsilon) and a tenth of an integer image's range, 64 of others: so that sums which
    /// slide are exact in double for |a| <= 2^10 u / sqrt(epsilon) and |b| <= 2^12 u. An |a| is at most half the
    /// image's deviation over sqrt(epsilon). Rounded up to powers of two from at most 2^-26 u / sqrt(epsilon) and 2^-24
    /// u. `means`: the windows of means.
    guided_units(const filters::window_job& means, dtype image, double epsilon);
};

/// Windows of one plane of an image and of a guide. With weights sums are weighted, and n is the sum of the weights.
struct guided_windows {
    const filters::window_job* job = nullptr;  ///< of 32f pixels, whatever the image's are
    const_any_view image;
    const_any_view guide = {};  ///< of one channel; without data every channel of the image is its own guide
    double epsilon = 0;
    void* scratch = nullptr;
    /// Of the image's extents: 32f, 0 where a pixel does not count; or 8u, 1 or 0. No rows: all count.
    const_any_view weights = {};

    bool sampled() const noexcept { return weights.shape.rows != 0; }
};

/// Fits a and b of all windows.
struct guided_fits : guided_windows {
    any_view a, b;  ///< 32f or 64f, of the image's extents
    guided_units units = {};
    // With weights:
    any_view exists = {};  ///< 8u: 1 where n is enough for a fit, else 0, as a and b are
    double least = 0;      ///< what is enough, of what is above 0
    any_view count = {};   ///< n, 32u, 32f or 64f; without data not wanted
};

/// Sums of the pixels x of a guide and p of an image of one channel in a window of n pixels, and n sum(x x) - sum(x)^2
/// and n sum(x p) - sum(x) sum(p), which are n^2 times its moments. 64f, of the job's rows; those without data are not
/// wanted.
struct guided_moments : guided_windows {
    any_view variance, covariance, guide_sum, image_sum;
    any_view count = {};  ///< n, with weights
};

/// Means of fits of one plane.
struct guided_means {
    const filters::window_job* job = nullptr;  ///< of the fits' type
    int guides = 1;                            ///< channels of the guide
    std::array<any_view, most_guides> a;       ///< of each
    any_view b;
    guided_units units = {};
    void* scratch = nullptr;
    any_view exists = {};  ///< as of guided_fits, with more guides of the fits' type; no rows: all fits do
};

/// What must count for a fit.
inline double least_of(const filters::window_job& samples) {
    return samples.weighted ? samples.min_weight : static_cast<double>(samples.min_count);
}

/// Weights of the pixels of one plane of an image: what its mask, weights, NaN and nodata come to.
struct guided_weights {
    const filters::window_job* job = nullptr;  ///< says what counts
    const_any_view image, mask, weights;       ///< without data: none
    const_any_view guide;                      ///< with data: pixels do not count where a channel of it is NaN
    any_view to;  ///< 32f, or 8u of weights of 0 and 1; of the image's channels, or one plane of `channel`
    int channel = 0;
};
void enqueue_guided_weights(const guided_weights& weights, stream_ref stream);

/// Where a result is `fill`, as no fit exists, or nothing to apply it to.
struct guided_gaps {
    double fill = 0;
    bool omits_nan = false;       ///< of the guide
    const_any_view weights = {};  ///< with data: of an image that is its own guide
};

/// Device memory for fits of these shapes, whatever it holds.
std::size_t guided_scratch_bytes(const guided_fits& fits);
std::size_t guided_scratch_bytes(const guided_moments& moments);

/// Types are 8u, 16u, 32f and 64f.
void enqueue_guided_fits(const guided_fits& fits, stream_ref stream);
void enqueue_guided_moments(const guided_moments& moments, stream_ref stream);

/// Device memory for means of these shapes, whatever it holds.
std::size_t guided_means_bytes(const guided_means& means);

/// mean(a) . guide + mean(b) of all pixels of one plane, rounded as the CPU rounds. `guide`: of one channel, or the
/// result's; of several guides each is a plane, and the result is `channel` of those of `result`.
void enqueue_guided_result(const guided_means& means, const const_any_view& guide, const any_view& result, int channel,
                           rounding_mode rounding, const guided_gaps& gaps, stream_ref stream);

/// Columns that a thread owns where sums slide, and how windows of so many sums each are shared out there.
inline constexpr int slide_columns = fused_columns(dtype::f32, fused_sums::reals);
fused_shape guided_shape_of(const filters::window_job& job, int sums);

// ---- moments by sums that slide (guided_slides.cu) ------------------------------------------------------------------

/// Whether there are such for windows of these shapes, and the memory for them.
bool moments_slide(const guided_windows& windows);
std::size_t sliding_moment_bytes(const guided_windows& windows);

/// Blocks of floats whose fits are still to be made.
refused_blocks enqueue_sliding_fits(const guided_fits& fits, stream_ref stream);

/// Of integers.
void enqueue_sliding_moments(const guided_moments& moments, stream_ref stream);

// ---- where pixels may not count: by additions (guided_samples.cu) ---------------------------------------------------

std::size_t weighted_scratch_bytes(const guided_windows& windows);
void enqueue_weighted_fits(const guided_fits& fits, const refused_blocks& refused, stream_ref stream);
void enqueue_weighted_moments(const guided_moments& moments, stream_ref stream);

// ---- the same by sums that slide (guided_counted.cu) ----------------------------------------------------------------

/// Whether there are such: of weights of 8u.
bool counts_slide(const guided_fits& fits);
std::size_t counted_scratch_bytes(const guided_fits& fits);

/// Blocks of floats whose fits are still to be made.
refused_blocks enqueue_counted_fits(const guided_fits& fits, stream_ref stream);

// ---- a guide of several channels (guided_colours.cu) ----------------------------------------------------------------

/// The filter of one plane.
struct guided_colours {
    const filters::window_job* fits = nullptr;   ///< windows of fits, of 32f pixels and one channel
    const filters::window_job* means = nullptr;  ///< of their means: of 32f pixels, or of 64f where all is in double
    const_any_view image;
    const_any_view guide;  ///< of 2 to 4 channels
    any_view result;
    double epsilon = 0;
    guided_units units = {};
    rounding_mode rounding = rounding_mode::half_up;
    void* space = nullptr;
    std::int64_t rows_at_once = 1;  ///< whose moments are in memory
    // Where pixels may not count:
    const filters::window_job* samples = nullptr;  ///< says which do
    const_any_view mask = {}, weights = {};        ///< without data: none
    any_view count = {};                           ///< as of guided_fits, of the image's channels
    guided_gaps gaps = {};
};

/// So many that launches fill a device, and that moments, however large an image is, take some hundred MiB.
std::int64_t colour_rows_at_once(const view_shape& image);

/// Device memory for a filter of these shapes, whatever it holds.
std::size_t guided_colour_bytes(const guided_colours& filter);

void enqueue_guided_colours(const guided_colours& filter, stream_ref stream);

}  // namespace boxsum::cuda
