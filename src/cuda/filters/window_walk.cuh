#pragma once

#include "core/visit_types.hpp"
#include "cuda/device/streaming.cuh"
#include "cuda/filters/window_kernels.hpp"
#include "cuda/filters/window_terms.cuh"
#include "cuda/runtime/launch.cuh"

#include <cstdint>
#include <type_traits>

/// How kernels go over the windows of a task.
///
/// A thread owns 16 bytes of consecutive sums of a row. Where these windows lie inside the image along the row, they
/// are the differences of two runs of sums, D(end) - D(start) with D the difference of two rows of the table, and a run
/// is read in aligned units of 16 bytes wherever it starts. Windows that the image's sides cut, or that reach beyond
/// them, are taken one by one.
namespace boxsum::cuda {

inline constexpr int walk_threads = 256;
inline constexpr int walk_rows = 8;  ///< of a block

/// A padded table on the device; entry (0, 0) is that of table_row.
template <typename T>
struct table_view {
    static constexpr int unit = 16 / static_cast<int>(sizeof(T));  ///< entries that are read together

    const char* data;
    std::int64_t row_stride;
    bool in_units;  ///< rows start at multiples of 16 bytes

    __device__ const T* row(std::int64_t r) const { return reinterpret_cast<const T*>(data + r * row_stride); }

    /// N entries from `first` on. Reads no unit that holds none of them, so nothing behind a row of whole units.
    template <int N>
    __device__ void read(T (&run)[N], std::int64_t r, std::int64_t first) const {
        const T* const entries = row(r);
        if (!in_units) {
#pragma unroll
            for (int i = 0; i < N; ++i) run[i] = entries[first + i];
            return;
        }
        const int skip = static_cast<int>(first) & (unit - 1);
        const auto* from = reinterpret_cast<const vector_of<T, unit>*>(entries + (first - skip));
        T x[N + unit];
#pragma unroll
        for (int k = 0; k < N / unit + 1; ++k) {
            vector_of<T, unit> part{};
            if (k < N / unit || skip != 0) part = from[k];
#pragma unroll
            for (int i = 0; i < unit; ++i) x[k * unit + i] = part.x[i];
        }
#pragma unroll
        for (int step = 1; step < unit; step *= 2)
#pragma unroll
            for (int i = 0; i + step < N + unit; ++i) x[i] = (skip & step) != 0 ? x[i + step] : x[i];
#pragma unroll
        for (int i = 0; i < N; ++i) run[i] = x[i];
    }
};

/// A task as the kernels take it.
template <typename Sum, typename Square>
struct device_task {
    filters::window_axis rows, cols;
    table_view<Sum> table;
    table_view<Square> squares;
    const char* image;
    std::int64_t image_stride;
    std::int64_t first_row, end_row, table_row, elements;
    int channels;
    std::int64_t first_inner, end_inner;  ///< elements whose windows lie inside the image along the row
    Sum border_sum;
    Square border_square;
    std::int64_t offset;
    bool constant, wide;
};

/// Sums, sums of squares and number of samples of N neighbouring windows.
template <int N, typename Sum, typename Square>
struct windows {
    static constexpr int count = N;
    Sum sum[N];
    Square squares[N];
    std::int64_t samples;
};

/// Column of an element. A division by a number that the compiler knows.
__device__ inline std::int64_t col_of(std::int64_t element, int channels) {
    switch (channels) {
        case 1:
            return element;
        case 2:
            return element / 2;
        case 3:
            return element / 3;
        default:
            return element / 4;
    }
}

/// The windows of N elements from `element` on, all of them inside the image along the row.
template <typename T, int N>
__device__ void inner_windows(T (&sum)[N], const table_view<T>& table, const axis_terms& rows, bool plain_rows,
                              std::int64_t table_row, std::int64_t end, std::int64_t start) {
    const auto across = [&](T(&line)[N], std::int64_t entry) {
        T low[N];
        table.read(line, entry - table_row, end);
        table.read(low, entry - table_row, start);
#pragma unroll
        for (int i = 0; i < N; ++i) line[i] -= low[i];
    };
    across(sum, rows.high);
    T line[N];
    if (plain_rows) {
        across(line, rows.low);
#pragma unroll
        for (int i = 0; i < N; ++i) sum[i] -= line[i];
        return;
    }
    bool first = true;
    rows.for_each([&](std::int64_t entry, std::int64_t weight) {
        if (!first) across(line, entry);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (first)
                sum[i] *= static_cast<T>(weight);
            else
                sum[i] += static_cast<T>(weight) * line[i];
        }
        first = false;
    });
}

/// One window, wherever it lies.
template <typename T>
__device__ T any_window(const table_view<T>& table, const axis_terms& rows, const axis_terms& cols,
                        std::int64_t table_row, int channels, int channel) {
    T sum{};
    rows.for_each([&](std::int64_t row_entry, std::int64_t row_weight) {
        const T* const entries = table.row(row_entry - table_row) + channel;
        T line{};
        cols.for_each([&](std::int64_t entry, std::int64_t weight) {
            line += static_cast<T>(weight) * entries[entry * channels];
        });
        sum += static_cast<T>(row_weight) * line;
    });
    return sum;
}

template <typename Sum, typename Square, int N>
__device__ void add_border(windows<N, Sum, Square>& w, const device_task<Sum, Square>& task, std::int64_t inside) {
    const std::int64_t outside = w.samples - inside;
    if (!task.constant || outside == 0) return;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        w.sum[i] += static_cast<Sum>(outside) * task.border_sum;
        w.squares[i] += static_cast<Square>(outside) * task.border_square;
    }
}

/// One row's window ends: without the border's arithmetic where the window lies inside the image.
template <typename Task>
__device__ axis_terms row_terms(const Task& task, std::int64_t row) {
    const std::int64_t low = row - task.rows.before, high = row + task.rows.after + 1;
    if (low < 0 || high > task.rows.extent || task.rows.reduced()) return terms_of(task.rows, row);
    axis_terms terms;
    terms.high = high;
    terms.low = low;
    terms.inside = terms.samples = task.rows.full;
    return terms;
}

/// Calls consume(row, element, windows<N, Sum, Square>) for all windows of a task: N = 16 bytes of sums inside, 1 at
/// the sides. Without Squares, sums of squares are zero.
template <bool Squares, typename Sum, typename Square, typename Consume>
__device__ void for_each_window(const device_task<Sum, Square>& task, Consume consume) {
    constexpr int n = table_view<Sum>::unit;
    const std::int64_t element = (std::int64_t{blockIdx.x} * walk_threads + threadIdx.x) * n;
    if (element >= task.elements) return;
    const bool inner = element >= task.first_inner && element + n <= task.end_inner;
    const std::int64_t start = element - task.cols.before * task.channels;
    const std::int64_t end = element + (task.cols.after + 1) * task.channels;

    for (std::int64_t first = task.first_row + std::int64_t{blockIdx.y} * walk_rows; first < task.end_row;
         first += std::int64_t{gridDim.y} * walk_rows)
        for (std::int64_t row = first; row < task.end_row && row < first + walk_rows; ++row) {
            const axis_terms rows = row_terms(task, row);
            if (inner) {
                windows<n, Sum, Square> w{};
                const bool plain = rows.plain();
                inner_windows(w.sum, task.table, rows, plain, task.table_row, end, start);
                if constexpr (Squares) inner_windows(w.squares, task.squares, rows, plain, task.table_row, end, start);
                w.samples = rows.samples * task.cols.full;
                add_border(w, task, rows.inside * task.cols.full);
                consume(row, element, w);
                continue;
            }
            const std::int64_t last = element + n < task.elements ? element + n : task.elements;
            for (std::int64_t e = element; e < last; ++e) {
                const std::int64_t col = col_of(e, task.channels);
                const int channel = static_cast<int>(e - col * task.channels);
                const axis_terms cols = terms_of(task.cols, col);
                windows<1, Sum, Square> w{};
                w.sum[0] = any_window(task.table, rows, cols, task.table_row, task.channels, channel);
                if constexpr (Squares)
                    w.squares[0] = any_window(task.squares, rows, cols, task.table_row, task.channels, channel);
                w.samples = rows.samples * cols.samples;
                add_border(w, task, rows.inside * cols.inside);
                consume(row, e, w);
            }
        }
}

// ---- values ---------------------------------------------------------------------------------------------------------

template <typename Sum>
__device__ double mean_of(Sum sum, std::int64_t samples, std::int64_t offset) {
    if constexpr (std::is_integral_v<Sum>)
        return static_cast<double>(static_cast<std::int64_t>(sum) - offset * samples) / static_cast<double>(samples);
    else
        return sum / static_cast<double>(samples);
}

/// N neighbouring elements of a row, together where the row allows it.
template <typename T, int N>
__device__ void store_elements(const any_view& result, std::int64_t row, std::int64_t element, const T (&x)[N]) {
    T* const to = reinterpret_cast<T*>(static_cast<char*>(result.data) + row * result.shape.row_stride) + element;
    constexpr int together = sizeof x < 16 ? N : 16 / static_cast<int>(sizeof(T));
    if (N > 1 && reinterpret_cast<std::uintptr_t>(to) % (sizeof(T) * together) == 0) {
#pragma unroll
        for (int k = 0; k < N; k += together) {
            vector_of<T, together> part;
#pragma unroll
            for (int i = 0; i < together; ++i) part.x[i] = x[k + i];
            *reinterpret_cast<vector_of<T, together>*>(to + k) = part;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = x[i];
}

// ---- launches -------------------------------------------------------------------------------------------------------

template <typename T>
table_view<T> on_device(const const_any_view& v) {
    const auto address = reinterpret_cast<std::uintptr_t>(v.data);
    return {static_cast<const char*>(v.data), v.shape.row_stride, address % 16 == 0 && v.shape.row_stride % 16 == 0};
}

template <typename Sum, typename Square>
device_task<Sum, Square> on_device(const window_task& t) {
    const view_shape& s = t.image.shape;
    const std::int64_t elements = s.cols * s.channels;
    const bool reduced = t.cols.reduced();  // the reach: every window goes beyond a side
    device_task<Sum, Square> task{};
    task.rows = t.rows;
    task.cols = t.cols;
    task.table = on_device<Sum>(t.table);
    task.squares = on_device<Square>(t.squares);
    task.image = static_cast<const char*>(t.image.data);
    task.image_stride = s.row_stride;
    task.first_row = t.first_row;
    task.end_row = t.end_row;
    task.table_row = t.table_row;
    task.elements = elements;
    task.channels = static_cast<int>(s.channels);
    task.first_inner = reduced ? elements : t.cols.before * s.channels;
    task.end_inner = reduced ? 0 : elements - t.cols.after * s.channels;
    task.border_sum = static_cast<Sum>(t.border_value);
    task.border_square = static_cast<Square>(t.border_value) * static_cast<Square>(t.border_value);
    task.offset = t.offset;
    task.constant = t.rows.border == border_mode::constant;
    task.wide = t.wide;
    return task;
}

template <typename Sum>
launch_shape walk_shape(const window_task& t) {
    const std::int64_t of_block = std::int64_t{walk_threads} * table_view<Sum>::unit;
    const std::int64_t across = (t.image.shape.cols * t.image.shape.channels + of_block - 1) / of_block;
    const std::int64_t down = (t.end_row - t.first_row + walk_rows - 1) / walk_rows;
    return {.grid = {static_cast<unsigned>(across), static_cast<unsigned>(down < 32768 ? down : 32768), 1},
            .block = walk_threads};
}

/// Calls f.template operator()<Sum, Out>() for the type of means: floats, or integers like the pixels, where sums are
/// such.
template <typename Sum, typename F>
void visit_means_of(const any_view& result, const F& f) {
    switch (result.shape.type) {
        case dtype::f32:
            return f.template operator()<Sum, f32>();
        case dtype::f64:
            return f.template operator()<Sum, f64>();
        case dtype::u8:
            if constexpr (std::is_integral_v<Sum>) f.template operator()<Sum, u8>();
            return;
        default:  // 16s, too: the bits of its mean
            if constexpr (std::is_integral_v<Sum>) f.template operator()<Sum, u16>();
    }
}

}  // namespace boxsum::cuda
