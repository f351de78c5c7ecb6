#include "cuda/filters/real_launches.hpp"
#include "cuda/filters/real_results.cuh"
#include "cuda/filters/sliding_samples.cuh"

#include <algorithm>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

struct moments_output {
    run_output mean, variance, deviation, sum, count;
    double noise;   ///< as real_view has it
    bool in_units;  ///< a thread's results can be written together
};

/// With the formulas of real_results.cuh: of exact sums, which are rounded by nothing.
struct exact_moments {
    double mean, variance;

    __device__ exact_moments(double sum, double squares, double n, double noise)
        : mean(sum / n), variance(compensated_variance(n, 0, sum, 0, squares, 0, noise)) {}
};

template <typename Slide>
__global__ __launch_bounds__(most_fused_threads) void sliding_moment_kernel(const __grid_constant__ fused_view t,
                                                                            const __grid_constant__ moments_output to) {
    for_each_batch<Slide>(t, [&](const auto& batch) {
        constexpr int rows = Slide::rows, K = Slide::K;
        if (to.in_units && batch.owns()) {
            float mean[rows][K], variance[rows][K], deviation[rows][K];
#pragma unroll
            for (int i = 0; i < K; ++i) {
                const auto w = batch.own_window(i);
#pragma unroll
                for (int j = 0; j < rows; ++j) {
                    const double n = static_cast<double>(batch.height[j]) * static_cast<double>(t.cols.full);
                    const exact_moments of(w.count[j], w.sum(j), n, to.noise);
                    mean[j][i] = static_cast<float>(of.mean);
                    variance[j][i] = static_cast<float>(of.variance);
                    deviation[j][i] = static_cast<float>(sqrt(of.variance));
                }
            }
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                if (j >= batch.valid) continue;
                const auto store = [&](const run_output& result, const float(&x)[K]) {
                    if (result.data == nullptr) return;
                    char* const row = result.data + (batch.row + j) * result.row_stride;
                    store_streaming(reinterpret_cast<float*>(row) + batch.own(), x);
                };
                store(to.mean, mean[j]);
                store(to.variance, variance[j]);
                store(to.deviation, deviation[j]);
            }
        }
        batch.for_each_column(to.in_units, [&](int col, const auto& w) {
            const std::int64_t element = std::int64_t{col} * t.channels + batch.channel;
            for (int j = 0; j < rows && j < batch.valid; ++j) {
                const double n = static_cast<double>(batch.height[j]) * fused_width(t, col);
                const exact_moments of(w.count[j], w.sum(j), n, to.noise);
                const auto store = [&](const run_output& result, double x) {
                    if (result.data != nullptr) store_element(result, batch.row + j, element, x);
                };
                store(to.mean, of.mean);
                store(to.variance, of.variance);
                store(to.deviation, sqrt(of.variance));
                store(to.sum, w.count[j]);
                store(to.count, n);
            }
        });
    });
}

}  // namespace

/// Windows that may have been rounded are left to kernels that only add.
void launch_sliding_moments(const real_windows& windows, const real_finish& finish, stream_ref stream) {
    constexpr fused_sums sums = fused_sums::squared_reals;
    constexpr int K = fused_columns(dtype::f32, sums);
    using slide = exact_floats<counts_as::squares, K>;
    static_assert(sizeof(slide::columns) == fused_slot_bytes(dtype::f32, sums));
    const filters::window_job& job = *windows.job;
    const fused_shape shape = fused_shape_of(job, sums, windows.end_row - windows.first_row);
    void* const segments = static_cast<std::byte*>(windows.scratch) + refused_bytes(job, shape);
    auto* const refused = static_cast<std::uint32_t*>(windows.scratch);
    fused_view t =
        on_device<slide::Pixel, K>({&job, windows.image, windows.first_row, windows.end_row, segments}, shape);
    t.refused = refused;
    const auto height = static_cast<double>(job.rows.width()), width = static_cast<double>(job.cols.width());
    t.most_pixels = std::max(height * width, (height + 1) * K);

    moments_output to{finish.mean, finish.variance, finish.deviation, finish.sum, finish.count, 0, false};
    to.noise = noise_of(job);
    const auto units = [](const run_output& result) {
        return result.data == nullptr || (result.type == dtype::f32 && result.in_units);
    };
    to.in_units = t.channels == 1 && to.sum.data == nullptr && to.count.data == nullptr && units(to.mean) &&
                  units(to.variance) && units(to.deviation);
    launch_sliding<slide>(sliding_moment_kernel<slide>, t, shape, stream, to);

    real_windows rest = windows;
    rest.scratch = segments;
    rest.refused = {refused, shape.strip_cols, shape.strips, shape.band_rows, shape.bands};
    launch_real_moments(rest, finish, stream);
}

}  // namespace boxsum::cuda
