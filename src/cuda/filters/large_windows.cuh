#pragma once

#include "cuda/filters/real_windows.cuh"

#include <algorithm>
#include <limits>

/// Windows of any size: what a block does in shared memory for those that it holds (real_windows.cuh) goes through
/// memory here, by additions only.
///
/// Down the columns a place of the extended image is a thread's, and a band of rows is worked on as in
/// real_windows.cuh: a core that all its windows hold, trailing rows before it and leading ones behind it. Along the
/// row blocks are as wide as a window, so that every window is a block, or the end of one and the beginning of the
/// next. What all windows hold on top, as they reach several times beyond the image, is added to each.
namespace boxsum::cuda {

inline constexpr int large_column_threads = 128, large_line_threads = 256, large_result_threads = 128;

/// n times a sum.
template <int Plain, int Pairs>
__device__ real_sums<Plain, Pairs> times(const real_sums<Plain, Pairs>& s, std::int64_t n) {
    real_sums<Plain, Pairs> product;
    product.clear();
    if (n == 0) return product;  // of infinities, too
    const auto factor = static_cast<double>(n);
#pragma unroll
    for (int k = 0; k < Plain; ++k) product.v[k] = s.v[k] * factor;
#pragma unroll
    for (int k = Plain; k < Plain + 2 * Pairs; k += 2) {
        const exact_product high = multiplied(s.v[k], factor);
        product.v[k] = high.high;
        product.v[k + 1] = high.low + s.v[k + 1] * factor;
    }
    return product;
}

/// Calls use(k, sums of the pixel in row first + k step), for `count` rows, several of which are read at once.
template <typename Place, typename Use>
__device__ void for_each_row(const real_view& t, const typename Place::reader& from, int first, int count, int step,
                             Use use) {
    constexpr int together = 8;
#pragma unroll 1
    for (int k = 0; k < count; k += together) {
        typename Place::run rows[together];
#pragma unroll
        for (int j = 0; j < together; ++j)
            if (k + j < count) from.read(rows[j], first + (k + j) * step);
#pragma unroll
        for (int j = 0; j < together; ++j)
            if (k + j < count) use(k + j, Place::term(t, rows[j], 0));
    }
}

/// What all windows hold of a column on top of their reduced reach.
template <typename Place>
__device__ typename Place::sums repeated_rows(const real_view& t, const typename Place::reader& from) {
    using sums = typename Place::sums;
    const filters::window_axis& rows = t.rows;
    sums all;
    all.clear();
    const auto n = static_cast<int>(rows.extent);
    if (rows.repeats > 0) {
        for_each_row<Place>(t, from, 0, n, 1, [&](int row, const sums& s) { all.add(times(s, rows.repeated(row))); });
    } else if (rows.reduced()) {
        for_each_row<Place>(t, from, -1, 1, 1, [&](int, const sums& s) { all.add(times(s, rows.edge_before)); });
        for_each_row<Place>(t, from, n, 1, 1, [&](int, const sums& s) { all.add(times(s, rows.edge_after)); });
    }
    return all;
}

/// Sums down the columns. `Place`: a kernel's terms for one column. Grid: places, bands, channels.
template <typename Place>
__global__ __launch_bounds__(large_column_threads) void large_column_kernel(const __grid_constant__
                                                                            typename Place::view t) {
    using sums = typename Place::sums;
    const large_view& l = t.large;
    const int place = static_cast<int>(blockIdx.x) * large_column_threads + static_cast<int>(threadIdx.x);
    if (place >= l.line) return;
    const int channel = static_cast<int>(blockIdx.z), B = t.band_rows;
    const int R = l.chunk_row + static_cast<int>(blockIdx.y) * B;
    const int before = static_cast<int>(t.rows.before), after = static_cast<int>(t.rows.after);
    const typename Place::reader from(t, place - static_cast<int>(t.cols.before), channel, true);
    const auto at = [&](int row) -> sums& {
        return static_cast<sums*>(l.suffixes)[l.line_at(row, channel, t.channels) + place];
    };

    sums sum = repeated_rows<Place>(t, from);
    for_each_row<Place>(t, from, R + B - before, before + after + 1 - B, 1, [&](int, const sums& s) { sum.add(s); });
    for_each_row<Place>(t, from, R + B - 1 - before, B, -1, [&](int k, const sums& s) {
        sum.add(s);
        at(R + B - 1 - k) = sum;
    });
    sums leading;
    leading.clear();
    for_each_row<Place>(t, from, R + 1 + after, B - 1, 1, [&](int k, const sums& s) {
        leading.add(s);
        at(R + 1 + k).add(leading);
    });
}

/// What all windows of a line hold on top of their reduced reach, for a thread's share of the places of the image.
template <typename sums>
__device__ sums repeated_cols(const filters::window_axis& cols, const sums* line, int first, int end) {
    sums all;
    all.clear();
    const int left = static_cast<int>(cols.before), n = static_cast<int>(cols.extent);
    for (int place = first; place < end; ++place) {
        const int col = place - left;
        if (cols.repeats > 0 && col >= 0 && col < n) all.add(times(line[place], cols.repeated(col)));
        if (cols.edge_before > 0 && col == -1) all.add(times(line[place], cols.edge_before));
        if (cols.edge_after > 0 && col == n) all.add(times(line[place], cols.edge_after));
    }
    return all;
}

/// Prefixes and suffixes of a line in blocks of a window's width. A thread has neighbouring places. Grid: rows,
/// channels.
template <typename sums>
__global__ __launch_bounds__(large_line_threads) void large_line_kernel(const __grid_constant__ real_view t) {
    const large_view& l = t.large;
    sums* const before = dynamic_shared<sums>();
    sums* const behind = before + large_line_threads;
    const int thread = static_cast<int>(threadIdx.x), width = static_cast<int>(t.cols.width());
    const int row = l.first_row + static_cast<int>(blockIdx.x), channel = static_cast<int>(blockIdx.y);
    const std::int64_t begin = l.line_at(row, channel, t.channels);
    sums* const line = static_cast<sums*>(l.suffixes) + begin;
    sums* const prefixes = static_cast<sums*>(l.prefixes) + begin;
    const int share = (l.line + large_line_threads - 1) / large_line_threads, threads = (l.line + share - 1) / share;
    const auto first_of = [&](int i) { return i * share < l.line ? i * share : l.line; };
    const int first = first_of(thread), end = first_of(thread + 1);

    if (t.cols.reduced()) {
        before[thread] = repeated_cols(t.cols, line, first, end);
        __syncthreads();
        if (thread == 0) {
            sums all = before[0];
            for (int i = 1; i < threads; ++i) all.add(before[i]);
            line[l.line] = all;
        }
        __syncthreads();
    }
    // Of the places: those of the block that goes on before them, and of the one that goes on behind them.
    if (first < end) {
        sums head, tail;
        tail.clear();
        bool in_head = true;
        for (int place = first, in_block = first % width; place < end; ++place) {
            if (in_block == 0 && place > first) {
                if (in_head) head = tail;
                in_head = false;
                tail.clear();
            }
            tail.add(line[place]);
            if (++in_block == width) in_block = 0;
        }
        behind[thread] = in_head ? tail : head;
        before[thread] = tail;
    }
    __syncthreads();
    // Of all places before and behind them in these blocks.
    const auto whole = [&](int i) { return first_of(i) / width == (first_of(i + 1) - 1) / width; };
    if (thread == 0) {
        sums carry;
        carry.clear();
        for (int i = 0; i < threads; ++i) {
            const sums own = before[i];
            before[i] = carry;
            if (first_of(i + 1) % width == 0)
                carry.clear();
            else if (whole(i))
                carry.add(own);
            else
                carry = own;
        }
    } else if (thread == 32) {
        sums carry;
        carry.clear();
        for (int i = threads - 1; i >= 0; --i) {
            const sums own = behind[i];
            behind[i] = carry;
            if (first_of(i) % width == 0)
                carry.clear();
            else if (whole(i))
                carry.add(own);
            else
                carry = own;
        }
    }
    __syncthreads();
    if (first >= end) return;
    sums sum = before[thread];
    for (int place = first, in_block = first % width; place < end; ++place) {
        if (in_block == 0) sum.clear();
        sum.add(line[place]);
        prefixes[place] = sum;
        if (++in_block == width) in_block = 0;
    }
    sum = behind[thread];
    for (int place = end - 1, in_block = place % width; place >= first; --place) {
        if (in_block == width - 1) sum.clear();
        sum.add(line[place]);
        line[place] = sum;
        if (--in_block < 0) in_block = width - 1;
    }
}

/// Calls emit(real_windows_of_thread) for the windows of a thread. Grid: strips of columns * batches of rows, channels.
template <typename Kernel, typename Emit>
__device__ void for_each_large_window(const real_view& t, Emit emit) {
    constexpr int K = Kernel::K, G = Kernel::G;
    using sums = typename Kernel::sums;
    const large_view& l = t.large;
    const int channel = static_cast<int>(blockIdx.y), wide = static_cast<int>(t.cols.width());
    const int strip = static_cast<int>(blockIdx.x) % t.strips, batch = static_cast<int>(blockIdx.x) / t.strips;
    const int width = static_cast<int>(t.cols.extent);
    real_windows_of_thread<Kernel> windows;
    windows.channel = channel;
    windows.col = (strip * large_result_threads + static_cast<int>(threadIdx.x)) * K;
    windows.cols = windows.col + K <= width ? K : width - windows.col;
    windows.row = l.first_row + batch * G;
    windows.first = 0;
    windows.end = windows.row + G <= l.end_row ? G : l.end_row - windows.row;
    if (windows.cols <= 0) return;
#pragma unroll
    for (int j = 0; j < G; ++j) {
        windows.rows[j].clear();
        if (j >= windows.end) continue;
        const std::int64_t begin = l.line_at(windows.row + j, channel, t.channels);
        const auto* const suffixes = static_cast<const sums*>(l.suffixes) + begin;
        const auto* const prefixes = static_cast<const sums*>(l.prefixes) + begin;
#pragma unroll
        for (int i = 0; i < K; ++i) {
            const int place = windows.col + i;
            if (i >= windows.cols) continue;
            sums& window = windows.rows[j].of[i];
            window = suffixes[place];
            if (place % wide != 0) window.add(prefixes[place + wide - 1]);
            if (t.cols.reduced()) window.add(suffixes[l.line]);
        }
    }
    emit(windows);
}

// ---- launches -------------------------------------------------------------------------------------------------------

template <typename Kernel>
real_view large_on_device(const real_windows& windows, const large_shape& shape) {
    real_view t = on_device<Kernel>(windows, {.band_rows = shape.band_rows});
    if (windows.job->rows.repeats == 0) return t;
    // All rows are there, and more than windows reach are looked at.
    t.first_taken = std::numeric_limits<int>::min();
    t.end_taken = std::numeric_limits<int>::max();
    return t;
}

/// Launches what makes the lines of each chunk of bands, and use(view, grid) for their windows. `t`: as
/// large_on_device().
template <typename Place, typename Use>
void launch_large(typename Place::view t, const filters::window_job& job, const large_shape& shape, void* scratch,
                  int cols_of_thread, int rows_of_thread, stream_ref stream, Use use) {
    using sums = typename Place::sums;
    const auto up = [](int n, int unit) { return static_cast<unsigned>((n + unit - 1) / unit); };
    t.strips = static_cast<int>(up(static_cast<int>(job.cols.extent), large_result_threads * cols_of_thread));
    const auto channels = static_cast<unsigned>(t.channels);
    const std::int64_t places = std::int64_t{shape.chunk_bands} * shape.band_rows * t.channels * (shape.line + 1);
    const int first_row = t.first_row, end_row = t.end_row;
    for (int band = 0; band < shape.bands; band += shape.chunk_bands) {
        const int bands = std::min(shape.chunk_bands, shape.bands - band);
        large_view& l = t.large;
        l = {scratch, static_cast<sums*>(scratch) + places, shape.line, (shape.first_band + band) * shape.band_rows, 0,
             0};
        l.first_row = std::max(first_row, l.chunk_row);
        l.end_row = std::min(end_row, l.chunk_row + bands * shape.band_rows);
        const int rows = l.end_row - l.first_row;
        launch(large_column_kernel<Place>,
               {.grid = {up(shape.line, large_column_threads), static_cast<unsigned>(bands), channels},
                .block = large_column_threads},
               stream, t);
        launch(large_line_kernel<sums>,
               {.grid = {static_cast<unsigned>(rows), channels, 1},
                .block = large_line_threads,
                .shared_bytes = 2 * large_line_threads * sizeof(sums)},
               stream, static_cast<const real_view&>(t));
        use(t, launch_shape{.grid = {static_cast<unsigned>(t.strips) * up(rows, rows_of_thread), channels, 1},
                            .block = large_result_threads});
    }
}

}  // namespace boxsum::cuda
