#pragma once

#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <optional>
#include <string>

namespace boxsum::bench {

/// Whether cv::integral computes this triple (squares: or nothing), with the nearest types: it writes 32-bit signed
/// tables for our 32u, and 64f squares for our 64u.
bool opencv_has_integral(dtype input, dtype table, std::optional<dtype> squares);

/// One call of cv::integral on one thread, into the padded, contiguous tables that it wants: (rows + 1) x (cols + 1).
/// `squares` may be null.
void run_opencv_integral(const const_any_view& image, dtype table_type, void* table, std::optional<dtype> squares_type,
                         void* squares);

/// The version, and the vector instructions that it uses here.
std::string opencv_version();

}  // namespace boxsum::bench
