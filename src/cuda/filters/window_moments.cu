#include "cuda/filters/threshold_formulas.cuh"
#include "cuda/filters/window_walk.cuh"

#include <cmath>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

template <typename Sum>
__device__ double variance_of(Sum window, std::uint64_t squares, std::int64_t count, bool wide) {
    const auto samples = static_cast<double>(count);
    const auto n = static_cast<std::uint64_t>(count), sum = static_cast<std::uint64_t>(window);
    if (!wide) return static_cast<double>(n * squares - sum * sum) / (samples * samples);
    using u128 = unsigned __int128;
    return static_cast<double>(u128{n} * squares - u128{sum} * sum) / (samples * samples);
}

/// Means and deviations (or variances) of the windows, in registers.
template <int N>
struct moments {
    double mean[N];
    double spread[N];
};

template <bool Root, int N, typename Sum, typename Square>
__device__ moments<N> moments_of(const windows<N, Sum, Square>& w, const device_task<Sum, Square>& task) {
    moments<N> m;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        m.mean[i] = mean_of(w.sum[i], w.samples, task.offset);
        m.spread[i] = variance_of(w.sum[i], w.squares[i], w.samples, task.wide);
        if constexpr (Root) m.spread[i] = sqrt(m.spread[i]);
    }
    return m;
}

template <int N>
__device__ void store_real(const any_view& result, std::int64_t row, std::int64_t element, const double (&value)[N]) {
    if (result.data == nullptr) return;
    if (result.shape.type == dtype::f64) return store_elements(result, row, element, value);
    float rounded[N];
#pragma unroll
    for (int i = 0; i < N; ++i) rounded[i] = static_cast<float>(value[i]);
    store_elements(result, row, element, rounded);
}

template <typename Sum, typename Square>
__global__ __launch_bounds__(walk_threads) void statistics_kernel(device_task<Sum, Square> task,
                                                                  window_results results) {
    for_each_window<true>(task, [&](std::int64_t row, std::int64_t element, const auto& w) {
        auto m = moments_of<false>(w, task);
        store_real(results.mean, row, element, m.mean);
        store_real(results.variance, row, element, m.spread);
        if (results.deviation.data == nullptr) return;
#pragma unroll
        for (int i = 0; i < w.count; ++i) m.spread[i] = sqrt(m.spread[i]);
        store_real(results.deviation, row, element, m.spread);
    });
}

__global__ void clear_extremes_kernel(window_extremes* extremes) {
    extremes->largest_deviation[threadIdx.x] = ordered(0.0);
    extremes->smallest_pixel[threadIdx.x] = ordered(INFINITY);
}

/// The pixel as it was before it was raised.
template <typename Pixel, typename Sum, typename Square>
__device__ double pixel_of(const device_task<Sum, Square>& task, std::int64_t row, std::int64_t element) {
    const Pixel x = reinterpret_cast<const Pixel*>(task.image + row * task.image_stride)[element];
    return static_cast<double>(static_cast<std::int64_t>(x) - task.offset);
}

template <typename Sum, typename Square>
__device__ int channel_of(const device_task<Sum, Square>& task, std::int64_t element) {
    return static_cast<int>(element - col_of(element, task.channels) * task.channels);
}

template <typename Pixel, typename Sum, typename Square>
__global__ __launch_bounds__(walk_threads) void extremes_kernel(device_task<Sum, Square> task,
                                                                window_extremes* extremes) {
    for_each_window<true>(task, [&](std::int64_t row, std::int64_t element, const auto& w) {
        const auto m = moments_of<true>(w, task);
        // Most elements change nothing: look before the atomic.
        const auto look = [](const unsigned long long& word) {
            return *const_cast<const volatile unsigned long long*>(&word);
        };
        for (int i = 0; i < w.count; ++i) {
            const int channel = channel_of(task, element + i);
            const double deviation = m.spread[i], pixel = pixel_of<Pixel>(task, row, element + i);
            if (ordered(deviation) > look(extremes->largest_deviation[channel]))
                atomicMax(&extremes->largest_deviation[channel], ordered(deviation));
            if (ordered(pixel) < look(extremes->smallest_pixel[channel]))
                atomicMin(&extremes->smallest_pixel[channel], ordered(pixel));
        }
    });
}

/// Bradley's threshold is a share of the mean: no squares, no roots.
template <typename Pixel, typename Sum>
__global__ __launch_bounds__(walk_threads) void bradley_kernel(device_task<Sum, Sum> task, any_view result,
                                                               double share) {
    for_each_window<false>(task, [&](std::int64_t row, std::int64_t element, const auto& w) {
        u8 out[w.count];
#pragma unroll
        for (int i = 0; i < w.count; ++i) {
            const double limit = mean_of(w.sum[i], w.samples, task.offset) * share;
            out[i] = static_cast<u8>(pixel_of<Pixel>(task, row, element + i) > limit ? 255 : 0);
        }
        store_elements(result, row, element, out);
    });
}

template <typename Pixel, typename Sum, typename Square>
__global__ __launch_bounds__(walk_threads) void threshold_kernel(device_task<Sum, Square> task, any_view result,
                                                                 threshold_method method, double k, double range,
                                                                 const window_extremes* extremes) {
    for_each_window<true>(task, [&](std::int64_t row, std::int64_t element, const auto& w) {
        const auto of_windows = moments_of<true>(w, task);
        u8 out[w.count];
#pragma unroll
        for (int i = 0; i < w.count; ++i) {
            const double m = of_windows.mean[i], s = of_windows.spread[i];
            double limit = 0;
            switch (method) {
                case threshold_method::bradley:  // has a kernel of its own
                    break;
                case threshold_method::niblack:
                    limit = m + k * s;
                    break;
                case threshold_method::sauvola:
                    limit = m * (1 + k * (s / range - 1));
                    break;
                case threshold_method::wolf: {
                    const int channel = channel_of(task, element + i);
                    const double largest = from_ordered(extremes->largest_deviation[channel]);
                    const double smallest = from_ordered(extremes->smallest_pixel[channel]);
                    limit = m - k * (1 - s / (largest > 0 ? largest : 1)) * (m - smallest);
                    break;
                }
                default:  // device_filters.cpp refuses the others
                    break;
            }
            out[i] = static_cast<u8>(pixel_of<Pixel>(task, row, element + i) > limit ? 255 : 0);
        }
        store_elements(result, row, element, out);
    });
}

template <typename Pixel, typename Sum, typename Square>
__global__ __launch_bounds__(walk_threads) void contrast_kernel(device_task<Sum, Square> task, any_view result,
                                                                double epsilon) {
    for_each_window<true>(task, [&](std::int64_t row, std::int64_t element, const auto& w) {
        const auto m = moments_of<true>(w, task);
        float out[w.count];
#pragma unroll
        for (int i = 0; i < w.count; ++i) {
            const double divisor = m.spread[i] < epsilon ? epsilon : m.spread[i];
            out[i] = static_cast<float>((pixel_of<Pixel>(task, row, element + i) - m.mean[i]) / divisor);
        }
        store_elements(result, row, element, out);
    });
}

/// f.template operator()<Pixel, Sum, Square>() for the types of a task.
template <typename F>
void visit_moment_types(const window_task& t, F f) {
    const bool narrow = t.table.shape.type == dtype::u32;
    if (t.image.shape.type == dtype::u8)
        return narrow ? f.template operator()<u8, u32, u64>() : f.template operator()<u8, u64, u64>();
    narrow ? f.template operator()<u16, u32, u64>() : f.template operator()<u16, u64, u64>();
}

}  // namespace

void enqueue_statistics(const window_task& task, const window_results& results, stream_ref stream) {
    visit_moment_types(task, [&]<typename Pixel, typename Sum, typename Square>() {
        launch(statistics_kernel<Sum, Square>, walk_shape<Sum>(task), stream, on_device<Sum, Square>(task), results);
    });
}

void enqueue_clear_extremes(window_extremes* extremes, stream_ref stream) {
    launch(clear_extremes_kernel, {.grid = 1, .block = 4}, stream, extremes);
}

void enqueue_extremes(const window_task& task, window_extremes* extremes, stream_ref stream) {
    visit_moment_types(task, [&]<typename Pixel, typename Sum, typename Square>() {
        launch(extremes_kernel<Pixel, Sum, Square>, walk_shape<Sum>(task), stream, on_device<Sum, Square>(task),
               extremes);
    });
}

void enqueue_threshold(const window_task& task, const any_view& result, threshold_method method, double k, double range,
                       const window_extremes* extremes, stream_ref stream) {
    visit_moment_types(task, [&]<typename Pixel, typename Sum, typename Square>() {
        if (method == threshold_method::bradley)
            return launch(bradley_kernel<Pixel, Sum>, walk_shape<Sum>(task), stream, on_device<Sum, Sum>(task), result,
                          1 - k);
        launch(threshold_kernel<Pixel, Sum, Square>, walk_shape<Sum>(task), stream, on_device<Sum, Square>(task),
               result, method, k, range, extremes);
    });
}

void enqueue_contrast(const window_task& task, const any_view& result, double epsilon, stream_ref stream) {
    visit_moment_types(task, [&]<typename Pixel, typename Sum, typename Square>() {
        launch(contrast_kernel<Pixel, Sum, Square>, walk_shape<Sum>(task), stream, on_device<Sum, Square>(task), result,
               epsilon);
    });
}

}  // namespace boxsum::cuda
