#pragma once

#include <boxsum/histogram_pipeline.hpp>

#include <vector>

namespace boxsum::detail {

/// The region of a request.
box region_of(const frame_request& request, const frame_format& format);

/// The region of a frame and of the weights of its pixels, where there are any.
histogram_inputs part_of_frame(const histogram_inputs& frame, const box& region);

/// Throws invalid_argument, naming what does not fit the frame, the region or the bins.
void check_request(const frame_request& request, const frame_format& format, const binning& bins);

/// Boxes and grids of a checked request in pixels of the region, as the region's tensor counts them.
std::vector<box> boxes_in_region(const frame_request& request, const box& region);
std::vector<window_grid> grids_in_region(const frame_request& request, const box& region);

}  // namespace boxsum::detail
