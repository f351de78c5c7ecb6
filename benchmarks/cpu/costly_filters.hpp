#pragma once

#include "cpu/window_filters.hpp"

namespace boxsum::bench {

/// The group "filters-costly", on one thread: guided filters of 1024^2 beside OpenCV's, non-local means of 512^2 beside
/// OpenCV's, determinants of Hessians by boxes and blobs of 1024^2.
void time_costly_filters(const filter_settings& settings);

}  // namespace boxsum::bench
