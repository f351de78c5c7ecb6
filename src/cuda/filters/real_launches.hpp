#pragma once

#include "cuda/filters/real_windows.hpp"

namespace boxsum::cuda {

struct real_finish;

/// Without squares, and with.
void launch_real_means(const real_windows& windows, const real_finish& to, stream_ref stream);
void launch_real_moments(const real_windows& windows, const real_finish& to, stream_ref stream);

}  // namespace boxsum::cuda
