// Determinants of Hessians by boxes, a thread a pixel: 32 reads of a table, which neighbours have side by side, so that
// most find their line in the first-level cache. And where they are greatest among their neighbours in rows, columns
// and scales.

#include "cuda/device/ptx.cuh"
#include "cuda/filters/hessian_kernels.hpp"
#include "cuda/filters/pixel_planes.cuh"
#include "cuda/filters/threshold_formulas.cuh"

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

/// First and last entry of a box along an axis of n.
struct box_ends {
    std::int64_t first, last;

    __device__ box_ends(std::int64_t at, const hessian_reach& reach, std::int64_t n) {
        first = at + reach.from;
        first = first < 0 ? 0 : first < n ? first : n - 1;
        last = first + reach.count;
        last = last < n ? last : n - 1;
    }
};

/// A sum of integers is exact, and not below 0 by itself.
template <typename Entry>
__device__ double sum_of_box(const order_table<Entry>& table, std::int64_t r, std::int64_t c, const hessian_box& box) {
    const box_ends rows(r, box.rows, table.rows), cols(c, box.cols, table.cols);
    const Entry *const above = table.entries + rows.first * table.cols, *const last =
                                                                            table.entries + rows.last * table.cols;
    if constexpr (std::is_integral_v<Entry>) {
        return static_cast<double>(
            static_cast<std::int64_t>(above[cols.first] + last[cols.last] - above[cols.last] - last[cols.first]));
    } else {
        const double sum = above[cols.first] + last[cols.last] - above[cols.last] - last[cols.first];
        return sum > 0 ? sum : 0.0;
    }
}

template <typename Entry, typename Out>
__global__ void __launch_bounds__(pixel_block_cols* pixel_block_rows)
    hessian_kernel(order_table<Entry> table, hessian_scale scale, pixel_plane determinant) {
    for_own_pixels(table.rows, table.cols, [&](std::int64_t r, std::int64_t c) {
        double sums[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) sums[i] = sum_of_box(table, r, c, scale.boxes[i]);
        determinant.at<Out>(r, c) = static_cast<Out>(hessian_determinant(
            sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7], scale.weight, scale.unit));
    });
}

__global__ void clear_findings_kernel(hessian_findings* findings) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    *findings = {0, ordered(infinity), ordered(-infinity)};
}

/// Whether none of the nine around a pixel exceeds a value; what lies beyond the image does not.
__device__ bool is_greatest(const double* plane, const hessian_scales& s, std::int64_t r, std::int64_t c,
                            double value) {
    for (std::int64_t y = r > 0 ? r - 1 : 0; y <= r + 1 && y < s.rows; ++y)
        for (std::int64_t x = c > 0 ? c - 1 : 0; x <= c + 1 && x < s.cols; ++x)
            if (!(value >= plane[y * s.cols + x])) return false;
    return true;
}

__global__ void __launch_bounds__(pixel_block_cols* pixel_block_rows)
    maxima_kernel(hessian_scales s, double threshold, hessian_findings* findings, hessian_maximum* list,
                  std::int64_t places) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for_own_pixels(s.rows, s.cols, [&](std::int64_t r, std::int64_t c) {
        const double value = s.at[r * s.cols + c];
        if (value < least) least = value;
        if (value > most) most = value;
        if (!(value > threshold) || !is_greatest(s.at, s, r, c, value)) return;
        if (s.below != nullptr && !is_greatest(s.below, s, r, c, value)) return;
        if (s.above != nullptr && !is_greatest(s.above, s, r, c, value)) return;
        const auto place = static_cast<std::int64_t>(atomicAdd(&findings->count, 1ull));
        if (place < places) list[place] = {r, c, s.scale, value};
    });
    // Most threads have nothing to say that is not known by then.
    if (ordered(least) < load_relaxed(&findings->least)) atomicMin(&findings->least, ordered(least));
    if (ordered(most) > load_relaxed(&findings->most)) atomicMax(&findings->most, ordered(most));
}

view_shape packed_plane(std::int64_t rows, std::int64_t cols) {
    return {dtype::f64, 1, rows, cols, 1, cols * 8, 0};
}

}  // namespace

template <typename Entry>
void enqueue_hessian(const order_table<Entry>& table, const hessian_scale& scale, const any_view& determinant,
                     std::int64_t plane, stream_ref stream) {
    launch(determinant.shape.type == dtype::f32 ? hessian_kernel<Entry, float> : hessian_kernel<Entry, double>,
           for_pixels(determinant.shape), stream, table, scale, pixel_plane(determinant, plane));
}
template void enqueue_hessian(const order_table<u64>&, const hessian_scale&, const any_view&, std::int64_t, stream_ref);
template void enqueue_hessian(const order_table<double>&, const hessian_scale&, const any_view&, std::int64_t,
                              stream_ref);

void enqueue_clear_findings(hessian_findings* findings, stream_ref stream) {
    launch(clear_findings_kernel, {}, stream, findings);
}

double hessian_extreme(unsigned long long ordered) noexcept {
    return std::bit_cast<double>(ordered >> 63 != 0 ? ordered & ~(1ull << 63) : ~ordered);
}

void enqueue_maxima(const hessian_scales& scales, double threshold, hessian_findings* findings, hessian_maximum* list,
                    std::int64_t places, stream_ref stream) {
    launch(maxima_kernel, for_pixels(packed_plane(scales.rows, scales.cols)), stream, scales, threshold, findings, list,
           places);
}

}  // namespace boxsum::cuda
