#pragma once

#include "cuda/filters/real_windows.hpp"
#include "filters/window_job.hpp"

#include <boxsum/cuda/stream.hpp>
#include <boxsum/filters.hpp>

#include <cstddef>

/// The two passes of a guided filter: fits of windows, and what their means make of the guide.
namespace boxsum::cuda {

/// Fits a and b of all windows of one plane.
///
/// Those of 32f are multiples of guided_units: sums of them are exact in double as long as windows are not huge, so
/// that they may slide (sliding_samples.cuh), and are the same in whichever order.
struct guided_fits {
    const filters::window_job* job = nullptr;  ///< of 32f pixels, whatever the image's are
    const_any_view image;
    const_any_view guide = {};  ///< of one channel; without data every channel of the image is its own guide
    any_view a, b;              ///< 32f or 64f, of the image's extents
    double epsilon = 0;
    void* scratch = nullptr;
};

/// What fits of 32f are rounded to multiples of, powers of two: error of a result and result of the two means are both
/// some sqrt(epsilon) for a guide that varies by as much.
struct guided_units {
    double a, b;
    explicit guided_units(double epsilon);
};

/// Whether kernels take the windows of a job: not if they are wider than a block, or reach several times beyond the
/// image.
bool guided_supports(const filters::window_job& job, bool guided);

/// Device memory for fits of these shapes, whatever it holds.
std::size_t guided_scratch_bytes(const guided_fits& fits);

/// Types are 8u, 16u, 32f and 64f.
void enqueue_guided_fits(const guided_fits& fits, stream_ref stream);

/// a . guide + b of all pixels of one plane, rounded as the CPU rounds. `guide`: of one channel, or the result's.
void enqueue_guided_result(const const_any_view& a, const const_any_view& b, const const_any_view& guide,
                           const any_view& result, rounding_mode rounding, stream_ref stream);

// ---- fits by sums that slide (guided_slides.cu) ---------------------------------------------------------------------

/// Whether there are such for fits of these shapes, and the memory for them.
bool fits_slide(const guided_fits& fits);
std::size_t sliding_fit_bytes(const guided_fits& fits);

/// Blocks of floats whose fits are still to be made.
refused_blocks enqueue_sliding_fits(const guided_fits& fits, stream_ref stream);

}  // namespace boxsum::cuda
