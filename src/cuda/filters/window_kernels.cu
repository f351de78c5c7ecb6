#include "core/visit_types.hpp"
#include "cuda/filters/window_kernels.hpp"
#include "cuda/runtime/launch.cuh"

#include <cmath>
#include <type_traits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

constexpr int block_cols = 256;  // elements of one row that a block owns, one a thread

/// One axis of a window in terms of a table whose entry i holds the sum of samples before i: the window is the sum of
/// weight[k] * entry[k]. Inside the image these are +1 at its end and -1 at its start.
struct axis_terms {
    int count = 0;
    std::int64_t entry[5];
    std::int64_t weight[5];
    std::int64_t inside = 0;   // samples of the image's own range, each counted once
    std::int64_t samples = 0;  // what a mean divides by

    __device__ void add(std::int64_t e, std::int64_t w) {
        if (w == 0 || e == 0) return;  // entry 0 is zero
        entry[count] = e;
        weight[count++] = w;
    }
};

/// E(x), the sum of the extended image's samples before x, for the reflected image: q whole images and a part of one
/// that is mirrored where q is odd.
__device__ void add_reflected(axis_terms& terms, std::int64_t x, std::int64_t extent, std::int64_t sign,
                              std::int64_t& whole) {
    const std::int64_t q = x >= 0 ? x / extent : -((extent - 1 - x) / extent), t = x - q * extent;
    if (q % 2 == 0) {
        whole += sign * q;
        terms.add(t, sign);
    } else {
        whole += sign * (q + 1);
        terms.add(extent - t, -sign);
    }
}

__device__ axis_terms terms_of(const apps::window_axis& axis, std::int64_t i) {
    axis_terms terms;
    const std::int64_t n = axis.extent;
    std::int64_t low = i - axis.radius, high = i + axis.radius + 1;
    const std::int64_t inside_low = low > 0 ? low : 0, inside_high = high < n ? high : n;
    terms.inside = inside_high - inside_low;
    terms.samples = axis.border == border_mode::shrink ? terms.inside : axis.full;
    std::int64_t whole = axis.repeats;
    switch (axis.border) {
        case border_mode::shrink:
        case border_mode::constant:
            terms.add(inside_high, 1);
            terms.add(inside_low, -1);
            return terms;
        case border_mode::reflect:
            add_reflected(terms, high, n, 1, whole);
            add_reflected(terms, low, n, -1, whole);
            break;
        case border_mode::replicate: {
            const std::int64_t before = axis.edge_repeats + (low < 0 ? -low : 0);
            const std::int64_t after = axis.edge_repeats + (high > n ? high - n : 0);
            terms.add(inside_high, 1);
            terms.add(inside_low, -1);
            terms.add(1, before);
            terms.add(n - 1, -after);
            whole += after;
            break;
        }
    }
    terms.add(n, whole);
    return terms;
}

/// A padded table on the device; entry (0, 0) is that of table_row.
template <typename T>
struct table_view {
    const char* data;
    std::int64_t row_stride;
    std::int64_t channels;

    __device__ T at(std::int64_t r, std::int64_t c, std::int64_t channel) const {
        return reinterpret_cast<const T*>(data + r * row_stride)[c * channels + channel];
    }

    __device__ T window(const axis_terms& rows, const axis_terms& cols, std::int64_t table_row,
                        std::int64_t channel) const {
        T sum{};
        for (int a = 0; a < rows.count; ++a) {
            T line{};
            const std::int64_t r = rows.entry[a] - table_row;
            for (int b = 0; b < cols.count; ++b) line += static_cast<T>(cols.weight[b]) * at(r, cols.entry[b], channel);
            sum += static_cast<T>(rows.weight[a]) * line;
        }
        return sum;
    }
};

/// A task as the kernels take it.
template <typename Sum, typename Square>
struct device_task {
    apps::window_axis rows, cols;
    table_view<Sum> table;
    table_view<Square> squares;
    const char* image;
    std::int64_t image_stride;
    std::int64_t first_row, end_row, table_row, elements, channels;
    Sum border_sum;
    Square border_square;
    std::int64_t offset;
    bool wide;
};

/// Sum, sum of squares and number of samples of one window.
template <typename Sum, typename Square>
struct window_of {
    Sum sum;
    Square squares;
    std::int64_t samples;
};

template <bool Squares, typename Sum, typename Square>
__device__ window_of<Sum, Square> window_at(const device_task<Sum, Square>& task, const axis_terms& rows,
                                            std::int64_t element) {
    const std::int64_t channel = element % task.channels;
    const axis_terms cols = terms_of(task.cols, element / task.channels);
    window_of<Sum, Square> w{task.table.window(rows, cols, task.table_row, channel), Square{},
                             rows.samples * cols.samples};
    const bool constant = task.rows.border == border_mode::constant;
    const std::int64_t outside = constant ? w.samples - rows.inside * cols.inside : 0;
    if (constant) w.sum += static_cast<Sum>(outside) * task.border_sum;
    if constexpr (Squares) {
        w.squares = task.squares.window(rows, cols, task.table_row, channel);
        if (constant) w.squares += static_cast<Square>(outside) * task.border_square;
    }
    return w;
}

template <typename Sum>
__device__ double mean_of(Sum sum, std::int64_t samples, std::int64_t offset) {
    if constexpr (std::is_integral_v<Sum>)
        return static_cast<double>(static_cast<std::int64_t>(sum) - offset * samples) / static_cast<double>(samples);
    else
        return sum / static_cast<double>(samples);
}

template <typename Sum, typename Square>
__device__ double variance_of(const window_of<Sum, Square>& w, bool wide) {
    const auto samples = static_cast<double>(w.samples);
    if constexpr (std::is_integral_v<Sum>) {
        const auto n = static_cast<std::uint64_t>(w.samples), sum = static_cast<std::uint64_t>(w.sum);
        if (!wide) return static_cast<double>(n * w.squares - sum * sum) / (samples * samples);
        using u128 = unsigned __int128;
        return static_cast<double>(u128{n} * w.squares - u128{sum} * sum) / (samples * samples);
    } else {
        const double mean = w.sum / samples, variance = w.squares / samples - mean * mean;
        return variance < 0 ? 0 : variance;  // keeps NaN
    }
}

template <typename T>
__device__ void store(const any_view& result, std::int64_t row, std::int64_t element, T value) {
    reinterpret_cast<T*>(static_cast<char*>(result.data) + row * result.shape.row_stride)[element] = value;
}

__device__ void store_real(const any_view& result, std::int64_t row, std::int64_t element, double value) {
    if (result.data == nullptr) return;
    if (result.shape.type == dtype::f32)
        store(result, row, element, static_cast<float>(value));
    else
        store(result, row, element, value);
}

/// A thread owns one element of row blockIdx.y and of every gridDim.y-th after it. Consume(row, element, window).
template <bool Squares, typename Sum, typename Square, typename Consume>
__device__ void for_each_window(const device_task<Sum, Square>& task, Consume consume) {
    const std::int64_t element = std::int64_t{blockIdx.x} * block_cols + threadIdx.x;
    if (element >= task.elements) return;
    for (std::int64_t row = task.first_row + blockIdx.y; row < task.end_row; row += gridDim.y) {
        const axis_terms rows = terms_of(task.rows, row);
        consume(row, element, window_at<Squares>(task, rows, element));
    }
}

template <typename Sum>
__global__ void mean_kernel(device_task<Sum, Sum> task, any_view result) {
    for_each_window<false>(task, [&](std::int64_t row, std::int64_t element, const window_of<Sum, Sum>& w) {
        if (is_floating(result.shape.type)) {
            store_real(result, row, element, mean_of(w.sum, w.samples, task.offset));
        } else if constexpr (std::is_integral_v<Sum>) {  // half up: floor(sum / n + 1/2), in the raised pixels
            const Sum n = static_cast<Sum>(w.samples), rounded = (w.sum + n / 2) / n;
            if (result.shape.type == dtype::u8)
                store(result, row, element, static_cast<u8>(rounded));
            else
                store(result, row, element, static_cast<u16>(rounded - static_cast<Sum>(task.offset)));
        }
    });
}

template <typename Sum, typename Square>
__global__ void statistics_kernel(device_task<Sum, Square> task, window_results results) {
    for_each_window<true>(task, [&](std::int64_t row, std::int64_t element, const window_of<Sum, Square>& w) {
        store_real(results.mean, row, element, mean_of(w.sum, w.samples, task.offset));
        const double variance = variance_of(w, task.wide);
        store_real(results.variance, row, element, variance);
        store_real(results.deviation, row, element, sqrt(variance));
    });
}

/// Doubles in the order of unsigned integers.
__device__ unsigned long long ordered(double x) {
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(x));
    return bits >> 63 != 0 ? ~bits : bits | 1ull << 63;
}
__host__ __device__ double from_ordered(unsigned long long o) {
    const unsigned long long bits = o >> 63 != 0 ? o & ~(1ull << 63) : ~o;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

__global__ void clear_extremes_kernel(window_extremes* extremes) {
    extremes->largest_deviation[threadIdx.x] = ordered(0.0);
    extremes->smallest_pixel[threadIdx.x] = ordered(INFINITY);
}

/// The pixel as it was before it was raised.
template <typename Pixel, typename Sum, typename Square>
__device__ double pixel_of(const device_task<Sum, Square>& task, std::int64_t row, std::int64_t element) {
    const Pixel x = reinterpret_cast<const Pixel*>(task.image + row * task.image_stride)[element];
    if constexpr (std::is_integral_v<Pixel>)
        return static_cast<double>(static_cast<std::int64_t>(x) - task.offset);
    else
        return x;
}

template <typename Pixel, typename Sum, typename Square>
__global__ void extremes_kernel(device_task<Sum, Square> task, window_extremes* extremes) {
    for_each_window<true>(task, [&](std::int64_t row, std::int64_t element, const window_of<Sum, Square>& w) {
        const std::int64_t channel = element % task.channels;
        const double deviation = sqrt(variance_of(w, task.wide)), pixel = pixel_of<Pixel>(task, row, element);
        // Most elements change nothing: look before the atomic.
        const auto look = [](const unsigned long long& word) {
            return *const_cast<const volatile unsigned long long*>(&word);
        };
        if (!isnan(deviation) && ordered(deviation) > look(extremes->largest_deviation[channel]))
            atomicMax(&extremes->largest_deviation[channel], ordered(deviation));
        if (!isnan(pixel) && ordered(pixel) < look(extremes->smallest_pixel[channel]))
            atomicMin(&extremes->smallest_pixel[channel], ordered(pixel));
    });
}

template <typename Pixel, typename Sum, typename Square>
__global__ void threshold_kernel(device_task<Sum, Square> task, any_view result, threshold_method method, double k,
                                 double range, const window_extremes* extremes) {
    for_each_window<true>(task, [&](std::int64_t row, std::int64_t element, const window_of<Sum, Square>& w) {
        const double m = mean_of(w.sum, w.samples, task.offset), s = sqrt(variance_of(w, task.wide));
        double limit = 0;
        switch (method) {
            case threshold_method::bradley:
                limit = m * (1 - k);
                break;
            case threshold_method::niblack:
                limit = m + k * s;
                break;
            case threshold_method::sauvola:
                limit = m * (1 + k * (s / range - 1));
                break;
            case threshold_method::wolf: {
                const std::int64_t channel = element % task.channels;
                const double largest = from_ordered(extremes->largest_deviation[channel]);
                const double smallest = from_ordered(extremes->smallest_pixel[channel]);
                limit = m - k * (1 - s / (largest > 0 ? largest : 1)) * (m - smallest);
                break;
            }
        }
        store(result, row, element, static_cast<u8>(pixel_of<Pixel>(task, row, element) > limit ? 255 : 0));
    });
}

__global__ void raise_kernel(const char* image, std::int64_t image_stride, char* raised, std::int64_t raised_stride,
                             std::int64_t elements, std::int64_t rows) {
    const std::int64_t element = std::int64_t{blockIdx.x} * block_cols + threadIdx.x;
    if (element >= elements) return;
    for (std::int64_t row = blockIdx.y; row < rows; row += gridDim.y)
        reinterpret_cast<u16*>(raised + row * raised_stride)[element] =
            static_cast<u16>(reinterpret_cast<const u16*>(image + row * image_stride)[element] ^ 0x8000u);
}

dim3 grid_for(std::int64_t elements, std::int64_t rows) {
    return {static_cast<unsigned>((elements + block_cols - 1) / block_cols),
            static_cast<unsigned>(rows < 32768 ? rows : 32768), 1};
}

template <typename Sum, typename Square>
device_task<Sum, Square> on_device(const window_task& t) {
    const view_shape& s = t.image.shape;
    const auto view = [](auto tag, const const_any_view& v) {
        return table_view<decltype(tag)>{static_cast<const char*>(v.data), v.shape.row_stride, v.shape.channels};
    };
    const double raised = t.border_value;
    return {t.rows,
            t.cols,
            view(Sum{}, t.table),
            view(Square{}, t.squares),
            static_cast<const char*>(t.image.data),
            s.row_stride,
            t.first_row,
            t.end_row,
            t.table_row,
            s.cols * s.channels,
            s.channels,
            static_cast<Sum>(raised),
            static_cast<Square>(raised) * static_cast<Square>(raised),
            t.offset,
            t.wide};
}

/// f.template operator()<Pixel, Sum, Square>() for the types of a task with squares.
template <typename F>
void visit_moment_types(const window_task& t, F f) {
    switch (t.image.shape.type) {
        case dtype::u8:
            return t.table.shape.type == dtype::u32 ? f.template operator()<u8, u32, u64>()
                                                    : f.template operator()<u8, u64, u64>();
        case dtype::u16:
            return t.table.shape.type == dtype::u32 ? f.template operator()<u16, u32, u64>()
                                                    : f.template operator()<u16, u64, u64>();
        case dtype::f32:
            return f.template operator()<f32, f64, f64>();
        default:
            return f.template operator()<f64, f64, f64>();
    }
}

launch_shape shape_for(const window_task& t) {
    return {.grid = grid_for(t.image.shape.cols * t.image.shape.channels, t.end_row - t.first_row),
            .block = block_cols};
}

}  // namespace

void enqueue_means(const window_task& task, const any_view& result, stream_ref stream) {
    switch (task.table.shape.type) {
        case dtype::u32:
            return launch(mean_kernel<u32>, shape_for(task), stream, on_device<u32, u32>(task), result);
        case dtype::u64:
            return launch(mean_kernel<u64>, shape_for(task), stream, on_device<u64, u64>(task), result);
        default:
            return launch(mean_kernel<f64>, shape_for(task), stream, on_device<f64, f64>(task), result);
    }
}

void enqueue_statistics(const window_task& task, const window_results& results, stream_ref stream) {
    visit_moment_types(task, [&]<typename Pixel, typename Sum, typename Square>() {
        launch(statistics_kernel<Sum, Square>, shape_for(task), stream, on_device<Sum, Square>(task), results);
    });
}

void enqueue_clear_extremes(window_extremes* extremes, stream_ref stream) {
    launch(clear_extremes_kernel, {.grid = 1, .block = 4}, stream, extremes);
}

void enqueue_extremes(const window_task& task, window_extremes* extremes, stream_ref stream) {
    visit_moment_types(task, [&]<typename Pixel, typename Sum, typename Square>() {
        launch(extremes_kernel<Pixel, Sum, Square>, shape_for(task), stream, on_device<Sum, Square>(task), extremes);
    });
}

void enqueue_threshold(const window_task& task, const any_view& result, threshold_method method, double k, double range,
                       const window_extremes* extremes, stream_ref stream) {
    visit_moment_types(task, [&]<typename Pixel, typename Sum, typename Square>() {
        launch(threshold_kernel<Pixel, Sum, Square>, shape_for(task), stream, on_device<Sum, Square>(task), result,
               method, k, range, extremes);
    });
}

void enqueue_raise(const const_any_view& image, const any_view& raised, stream_ref stream) {
    const view_shape& s = image.shape;
    launch(raise_kernel, {.grid = grid_for(s.cols * s.channels, s.rows), .block = block_cols}, stream,
           static_cast<const char*>(image.data), s.row_stride, static_cast<char*>(raised.data), raised.shape.row_stride,
           s.cols * s.channels, s.rows);
}

}  // namespace boxsum::cuda
