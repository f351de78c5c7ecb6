#include "cuda/filters/large_windows.cuh"
#include "cuda/filters/real_launches.hpp"
#include "cuda/filters/real_results.cuh"

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

/// Pixels of any type and option, whose sums of integers are exact in pairs of doubles.
using kernel = real_kernel<any_pixel, real_terms::weighted_moments>;

struct weighted_place {
    using view = real_view;
    using sums = kernel::sums;
    using run = weighted_run<double, 1>;
    using reader = real_reader<any_pixel, run, 1, true>;

    __device__ static sums term(const real_view& t, const run& r, int i) {
        return terms_of_pixel<kernel::Terms>(r.x[i], r.weight(i), t.unit);
    }
};

__global__ __launch_bounds__(large_result_threads) void large_filter_kernel(const __grid_constant__ real_view t,
                                                                            const __grid_constant__ real_finish to) {
    make_results<kernel>(t, to, static_cast<int>(blockIdx.y),
                         [&](auto emit) { for_each_large_window<kernel>(t, emit); });
}

}  // namespace

void launch_large_windows(const real_windows& windows, const real_finish& finish, stream_ref stream) {
    const filters::window_job& job = *windows.job;
    const large_shape shape = large_shape_of(job, kernel::sums::values, windows.first_row, windows.end_row);
    real_finish to = finish;
    to.offset = 0;  // pixels are held as they are
    to.exact = !is_floating(job.shape.type) && !job.weighted;
    launch_large<weighted_place>(
        large_on_device<kernel>(windows, shape), job, shape, windows.scratch, kernel::K, kernel::G, stream,
        [&](const real_view& t, const launch_shape& grid) { launch(large_filter_kernel, grid, stream, t, to); });
}

}  // namespace boxsum::cuda
