#pragma once

#include "core/hessian_terms.hpp"
#include "cuda/filters/blur_kernels.hpp"

#include <boxsum/cuda/stream.hpp>
#include <boxsum/view.hpp>

#include <cstdint>

namespace boxsum::cuda {

/// Determinants of every pixel of a plane, 32f or 64f, from an inclusive table: of order 1, with nothing beyond the
/// image.
template <typename Entry>
void enqueue_hessian(const order_table<Entry>& table, const hessian_scale& scale, const any_view& determinant,
                     std::int64_t plane, stream_ref stream);

/// A pixel of a scale that none of its 26 neighbours exceeds.
struct hessian_maximum {
    std::int64_t row, col, scale;
    double determinant;
};

/// What kernels have found so far, in device memory.
struct hessian_findings {
    unsigned long long count;        ///< of maxima, also of those for which the list has no place
    unsigned long long least, most;  ///< determinants, in the order of ordered()
};
void enqueue_clear_findings(hessian_findings* findings, stream_ref stream);
double hessian_extreme(unsigned long long ordered) noexcept;

/// Packed determinants of a scale, and those of the scales beside it or null.
struct hessian_scales {
    const double *below, *at, *above;
    std::int64_t rows, cols, scale;
};

/// Adds the maxima of a scale above the threshold to a list, in any order, and its determinants to the findings.
void enqueue_maxima(const hessian_scales& scales, double threshold, hessian_findings* findings, hessian_maximum* list,
                    std::int64_t places, stream_ref stream);

}  // namespace boxsum::cuda
