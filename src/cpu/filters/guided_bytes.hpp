#pragma once

#include "cpu/filters/guided_kernels.hpp"
#include "cpu/filters/row_job.hpp"

#include <cstdint>
#include <optional>

/// Guided filters of 8-bit images by themselves, or by 8-bit guides, with 8-bit results and where all pixels count.
/// Sums of pixels and products are integers; fits become integers, too, so that their sums are exact and slide. A pixel
/// then errs by less than byte_fit_error, by which results are raised before they are rounded: what is a half, or of
/// flat areas an integer, is rounded as such.
namespace boxsum::filters {

inline constexpr f64 byte_fit_error = 0x1p-24;

/// What fits of windows of so many pixels are multiplied by; nothing where sums would not be exact, or fits too coarse.
/// `guides`: 0 where the image is its own.
std::optional<byte_fit_scales> byte_fit_scales_of(f64 epsilon, std::int64_t window, std::int64_t guides);

/// a for each guide and b, planes of 64-bit integers, of the job's results. `guide`: planes, null where the image is
/// its own.
void find_byte_fits(const row_job& image, const row_job* guide, f64 epsilon, const byte_fit_scales& scales,
                    const any_view& fits);

/// mean(a) . guides + mean(b). `fits`: of those planes. Rows of the guide begin with `guide_row`, those of the result
/// with the image's first; elements of the result lie `step` apart.
void apply_byte_fits(const row_job& fits, const const_any_view& guide, std::int64_t guide_row,
                     const byte_fit_scales& scales, rounding_mode rounding, const any_view& result, std::int64_t step);

}  // namespace boxsum::filters
