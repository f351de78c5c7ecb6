#pragma once

#include "cpu/filters/row_job.hpp"

/// Guided filters in double where all pixels count. Moments are used as soon as those of a row, or of eight, are there,
/// and means of fits with each row of them: of all that lies between image and result only fits are planes.
namespace boxsum::filters {

/// a and b, two planes of doubles, of the job's results: those of an image that is its own guide.
void find_fits(const row_job& image, f64 epsilon, const any_view& fits);

/// Of floating images by up to four floating guides, planes of both: a for each guide, then b, of the first image, then
/// of the next.
void find_fits(const row_job& image, const row_job& guide, f64 epsilon, const any_view& fits);

/// mean(a) . guides + mean(b). `fits`: of those planes. Rows of the guide begin with `guide_row`, those of the result
/// with the image's first; elements of the result lie `step` apart.
void apply_fits(const row_job& fits, const const_any_view& guide, std::int64_t guide_row, rounding_mode rounding,
                const any_view& result, std::int64_t step);

}  // namespace boxsum::filters
