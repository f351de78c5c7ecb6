#pragma once

#include "core/algorithm_record.hpp"
#include "verify/conformance.hpp"

#include <boxsum/convolve.hpp>

/// Runs convolutions against the definition, as conformance.hpp does tables.
namespace boxsum {

/// One call: types, extents of image and kernel, options, contents.
struct convolve_case {
    dtype image = dtype::f32;
    dtype result = dtype::f32;
    std::int64_t rows = 1, cols = 1, channels = 1, planes = 1;
    std::int64_t kernel_rows = 1, kernel_cols = 1;
    border_mode border = border_mode::constant;
    kernel_direction direction = kernel_direction::correlation;
    std::uint32_t seed = 1;
};

std::string describe(const convolve_case& c);

/// The cases of all types, shapes at the edges of vectors, warps and kernels.
std::vector<convolve_case> convolve_cases(effort e);

/// Whether a record computes the case here.
support supports_case(const algorithm_record& record, const convolve_case& c);

/// Fills poisoned memory, calls convolve() by the record's name, on a device where it is one's, and compares every
/// element with the definition in long double, and the bytes between rows with the poison. Nothing when all is well,
/// else what was wrong. The case must be supported.
std::optional<std::string> check_convolution(const algorithm_record& record, const convolve_case& c);

}  // namespace boxsum
