#include "cuda/device/divider.hpp"
#include "cuda/filters/window_walk.cuh"

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

/// floor(x / n + 1/2), x / n below 2^16. Most windows of an image have the same n: then no division.
template <typename Sum>
struct rounded_quotient {
    std::int64_t samples = 1;  ///< n of most windows
    divider by;                ///< x + n / 2 < 2^31 for sums of 32 bits: types_for() sees to that
    double inverse = 1;

    explicit rounded_quotient(std::int64_t most) : samples(most), inverse(1 / static_cast<double>(most)) {
        if constexpr (sizeof(Sum) == 4) by = divider(static_cast<std::uint32_t>(most));
    }

    __device__ Sum operator()(Sum x, std::int64_t n) const {
        const Sum half_up = x + static_cast<Sum>(n) / 2;
        if (n != samples) return half_up / static_cast<Sum>(n);
        if constexpr (sizeof(Sum) == 4) {
            return by.quotient(half_up);
        } else {
            // Off by at most one: three roundings of 2^-53 each, of a quotient below 2^16.
            auto q = static_cast<Sum>(static_cast<double>(half_up) * inverse);
            const auto rest = static_cast<std::int64_t>(half_up - q * static_cast<Sum>(n));
            q -= static_cast<Sum>(rest < 0);
            return q + static_cast<Sum>(rest >= n);
        }
    }
};

template <typename Sum, typename Out>
__global__ __launch_bounds__(walk_threads) void mean_kernel(device_task<Sum, Sum> task, any_view result,
                                                            rounded_quotient<Sum> rounded) {
    for_each_window<false>(task, [&](std::int64_t row, std::int64_t element, const auto& w) {
        Out out[w.count];
#pragma unroll
        for (int i = 0; i < w.count; ++i) {
            if constexpr (std::is_integral_v<Out>)  // in the raised pixels
                out[i] = static_cast<Out>(rounded(w.sum[i], w.samples) - static_cast<Sum>(task.offset));
            else
                out[i] = static_cast<Out>(mean_of(w.sum[i], w.samples, task.offset));
        }
        store_elements(result, row, element, out);
    });
}

}  // namespace

void enqueue_means(const window_task& task, const any_view& result, stream_ref stream) {
    const auto launch_means = [&]<typename Sum, typename Out>() {
        launch(mean_kernel<Sum, Out>, walk_shape<Sum>(task), stream, on_device<Sum, Sum>(task), result,
               rounded_quotient<Sum>(task.rows.full * task.cols.full));
    };
    task.table.shape.type == dtype::u32 ? visit_means_of<u32>(result, launch_means)
                                        : visit_means_of<u64>(result, launch_means);
}

}  // namespace boxsum::cuda
