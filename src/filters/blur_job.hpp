#pragma once

#include <boxsum/variable_blur.hpp>

#include <cstdint>

/// What variable_blur() and circles_of_confusion() refuse, on the CPU and on devices.
namespace boxsum::filters {

/// Shapes and options; looks at no memory. Throws invalid_argument, unsupported.
void check_blur(const variable_inputs& inputs, const filter_outputs& outputs, const variable_blur_options& options);

/// The views themselves, of shapes that passed.
void check_blur_memory(const variable_inputs& inputs, const filter_outputs& outputs);

/// Throws unsupported for radii whose weights, times the largest pixel, do not fit 64 bits.
void require_exact_blur(dtype image, int order, std::int64_t largest_radius);

void check_lens(const const_any_view& depth, const any_view& radii, const thin_lens& lens);

}  // namespace boxsum::filters
