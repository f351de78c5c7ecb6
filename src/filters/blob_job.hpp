#pragma once

#include <boxsum/blobs.hpp>

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

/// What box_hessian() and find_blobs() refuse, and what blobs become of maxima, on the CPU and on devices.
namespace boxsum::filters {

/// Shapes and options; looks at no memory. Throw invalid_argument, unsupported.
void check_hessian(const view_shape& image, const view_shape& determinant, const hessian_options& options);
void check_blobs(const view_shape& image, const blob_options& options);

/// Determinants that no neighbour exceeds, above the options' threshold, with the numbers of their scales, and which
/// determinants there are.
struct blob_maxima {
    std::vector<std::pair<blob, std::size_t>> found;
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();
};

/// What a maximum has to exceed to be found.
double blob_threshold(const blob_options& options);

/// Those above the thresholds, in their order, less those that overlap.
std::vector<blob> blobs_of(blob_maxima all, const blob_options& options);

}  // namespace boxsum::filters
