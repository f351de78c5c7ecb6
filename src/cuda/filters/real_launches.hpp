#pragma once

#include "cuda/filters/real_windows.hpp"

namespace boxsum::cuda {

struct real_finish;

/// By sums that slide, of windows that sliding_supports() takes: means, and with squares statistics.
void launch_sliding_means(const real_windows& windows, const real_finish& to, stream_ref stream);
void launch_sliding_moments(const real_windows& windows, const real_finish& to, stream_ref stream);

/// The same of 8-bit images without weights: whatever is made of squares, and thresholds of means.
void launch_counted_moments(const real_windows& windows, bool squares, const real_finish& to, stream_ref stream);

/// Without squares, and with, of windows that real_supports() takes.
void launch_real_means(const real_windows& windows, const real_finish& to, stream_ref stream);
void launch_real_moments(const real_windows& windows, const real_finish& to, stream_ref stream);

/// Of any other windows.
void launch_large_windows(const real_windows& windows, const real_finish& to, stream_ref stream);

}  // namespace boxsum::cuda
