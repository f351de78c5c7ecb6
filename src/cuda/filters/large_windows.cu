#include "cuda/filters/real_launches.hpp"
#include "cuda/filters/real_results.cuh"

#include <algorithm>
#include <limits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

/// Windows of any size, pixels and options: what a block does in shared memory for those that it holds goes through
/// memory here, in pairs of doubles and by additions only.
///
/// Down the columns a place of the extended image is a thread's, and a band of rows is worked on as in
/// real_windows.cuh: a core that all its windows hold, trailing rows before it and leading ones behind it. Along the
/// row blocks are as wide as a window, so that every window is a block, or the end of one and the beginning of the
/// next. What all windows hold on top, as they reach several times beyond the image, is added to each.
namespace boxsum::cuda {
namespace {

using kernel = real_kernel<any_pixel, real_terms::weighted_moments>;
using sums = kernel::sums;
using one_pixel = weighted_run<double, 1>;
using place_reader = real_reader<any_pixel, one_pixel, 1, true>;

constexpr int column_threads = 128, line_threads = 256, result_threads = 128;

/// A chunk's lines: one for each row and channel, of sums by place and one more.
struct large_view {
    sums* suffixes;  ///< at first what windows hold of the columns; the last is of what all windows hold on top
    sums* prefixes;
    int line;
    int chunk_row;           ///< the first in memory, a band's
    int first_row, end_row;  ///< with results

    __device__ std::int64_t line_at(int row, int channel, int channels) const {
        return (std::int64_t{row - chunk_row} * channels + channel) * (line + 1);
    }
};

/// n times a sum.
__device__ sums times(const sums& s, std::int64_t n) {
    sums product;
    product.clear();
    if (n == 0) return product;  // of infinities, too
    const auto factor = static_cast<double>(n);
#pragma unroll
    for (int k = 0; k < sums::values; k += 2) {
        const exact_product high = multiplied(s.v[k], factor);
        product.v[k] = high.high;
        product.v[k + 1] = high.low + s.v[k + 1] * factor;
    }
    return product;
}

/// Calls use(k, sums of the pixel in row first + k step), for `count` rows, several of which are read at once.
template <typename Use>
__device__ void for_each_row(const place_reader& from, int first, int count, int step, Use use) {
    constexpr int together = 8;
#pragma unroll 1
    for (int k = 0; k < count; k += together) {
        one_pixel rows[together];
#pragma unroll
        for (int j = 0; j < together; ++j)
            if (k + j < count) from.read(rows[j], first + (k + j) * step);
#pragma unroll
        for (int j = 0; j < together; ++j)
            if (k + j < count)
                use(k + j, terms_of_pixel<real_terms::weighted_moments>(rows[j].x[0], rows[j].weight(0), 0.0));
    }
}

/// What all windows hold of a column on top of their reduced reach.
__device__ sums repeated_rows(const filters::window_axis& rows, const place_reader& from) {
    sums all;
    all.clear();
    const auto n = static_cast<int>(rows.extent);
    if (rows.repeats > 0) {
        for_each_row(from, 0, n, 1, [&](int row, const sums& s) { all.add(times(s, rows.repeated(row))); });
    } else if (rows.reduced()) {
        for_each_row(from, -1, 1, 1, [&](int, const sums& s) { all.add(times(s, rows.edge_before)); });
        for_each_row(from, n, 1, 1, [&](int, const sums& s) { all.add(times(s, rows.edge_after)); });
    }
    return all;
}

/// Sums down the columns. Grid: places, bands, channels.
__global__ __launch_bounds__(column_threads) void column_kernel(const __grid_constant__ real_view t,
                                                                const __grid_constant__ large_view l) {
    const int place = static_cast<int>(blockIdx.x) * column_threads + static_cast<int>(threadIdx.x);
    if (place >= l.line) return;
    const int channel = static_cast<int>(blockIdx.z), B = t.band_rows;
    const int R = l.chunk_row + static_cast<int>(blockIdx.y) * B;
    const int before = static_cast<int>(t.rows.before), after = static_cast<int>(t.rows.after);
    const place_reader from(t, place - static_cast<int>(t.cols.before), channel, true);
    const auto at = [&](int row) -> sums& { return l.suffixes[l.line_at(row, channel, t.channels) + place]; };

    sums sum = repeated_rows(t.rows, from);
    for_each_row(from, R + B - before, before + after + 1 - B, 1, [&](int, const sums& s) { sum.add(s); });
    for_each_row(from, R + B - 1 - before, B, -1, [&](int k, const sums& s) {
        sum.add(s);
        at(R + B - 1 - k) = sum;
    });
    sums leading;
    leading.clear();
    for_each_row(from, R + 1 + after, B - 1, 1, [&](int k, const sums& s) {
        leading.add(s);
        at(R + 1 + k).add(leading);
    });
}

/// What all windows of a line hold on top of their reduced reach, for a thread's share of the places of the image.
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
__global__ __launch_bounds__(line_threads) void line_kernel(const __grid_constant__ real_view t,
                                                            const __grid_constant__ large_view l) {
    __shared__ sums before[line_threads], behind[line_threads];
    const int thread = static_cast<int>(threadIdx.x), width = static_cast<int>(t.cols.width());
    const int row = l.first_row + static_cast<int>(blockIdx.x), channel = static_cast<int>(blockIdx.y);
    const std::int64_t begin = l.line_at(row, channel, t.channels);
    sums* const line = l.suffixes + begin;
    sums* const prefixes = l.prefixes + begin;
    const int share = (l.line + line_threads - 1) / line_threads, threads = (l.line + share - 1) / share;
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

/// Grid: strips of columns * pairs of rows, channels.
__global__ __launch_bounds__(result_threads) void large_filter_kernel(const __grid_constant__ real_view t,
                                                                      const __grid_constant__ large_view l,
                                                                      const __grid_constant__ real_finish to) {
    constexpr int K = kernel::K, G = kernel::G;
    const int channel = static_cast<int>(blockIdx.y), wide = static_cast<int>(t.cols.width());
    const int strip = static_cast<int>(blockIdx.x) % t.strips, batch = static_cast<int>(blockIdx.x) / t.strips;
    const int width = static_cast<int>(t.cols.extent);
    real_windows_of_thread<kernel> windows;
    windows.channel = channel;
    windows.col = (strip * result_threads + static_cast<int>(threadIdx.x)) * K;
    windows.cols = windows.col + K <= width ? K : width - windows.col;
    windows.row = l.first_row + batch * G;
    windows.first = 0;
    windows.end = windows.row + G <= l.end_row ? G : l.end_row - windows.row;
    make_results<kernel>(t, to, channel, [&](auto emit) {
        if (windows.cols <= 0) return;
#pragma unroll
        for (int j = 0; j < G; ++j) {
            windows.rows[j].clear();
            if (j >= windows.end) continue;
            const std::int64_t line = l.line_at(windows.row + j, channel, t.channels);
#pragma unroll
            for (int i = 0; i < K; ++i) {
                const int place = windows.col + i;
                if (i >= windows.cols) continue;
                sums& window = windows.rows[j].of[i];
                window = l.suffixes[line + place];
                if (place % wide != 0) window.add(l.prefixes[line + place + wide - 1]);
                if (t.cols.reduced()) window.add(l.suffixes[line + l.line]);
            }
        }
        emit(windows);
    });
}

}  // namespace

void launch_large_windows(const real_windows& windows, const real_finish& finish, stream_ref stream) {
    const filters::window_job& job = *windows.job;
    const large_shape shape = large_shape_of(job, windows.first_row, windows.end_row);
    const auto up = [](int n, int unit) { return static_cast<unsigned>((n + unit - 1) / unit); };
    real_view t = on_device<kernel>(windows, {.band_rows = shape.band_rows});
    if (job.rows.repeats > 0) {  // all rows are there, and more than windows reach are looked at
        t.first_taken = std::numeric_limits<int>::min();
        t.end_taken = std::numeric_limits<int>::max();
    }
    t.strips = static_cast<int>(up(static_cast<int>(job.cols.extent), result_threads * kernel::K));
    real_finish to = finish;
    to.offset = 0;  // pixels are held as they are
    to.exact = !is_floating(job.shape.type) && !job.weighted;
    const auto channels = static_cast<unsigned>(t.channels);
    const std::int64_t places = std::int64_t{shape.chunk_bands} * shape.band_rows * t.channels * (shape.line + 1);
    auto* const memory = static_cast<sums*>(windows.scratch);
    for (int band = 0; band < shape.bands; band += shape.chunk_bands) {
        const int bands = std::min(shape.chunk_bands, shape.bands - band);
        large_view l{memory, memory + places, shape.line, (shape.first_band + band) * shape.band_rows, 0, 0};
        l.first_row = std::max(t.first_row, l.chunk_row);
        l.end_row = std::min(t.end_row, l.chunk_row + bands * shape.band_rows);
        const int rows = l.end_row - l.first_row;
        launch(
            column_kernel,
            {.grid = {up(shape.line, column_threads), static_cast<unsigned>(bands), channels}, .block = column_threads},
            stream, t, l);
        launch(line_kernel, {.grid = {static_cast<unsigned>(rows), channels, 1}, .block = line_threads}, stream, t, l);
        launch(large_filter_kernel,
               {.grid = {static_cast<unsigned>(t.strips) * up(rows, kernel::G), channels, 1}, .block = result_threads},
               stream, t, l, to);
    }
}

}  // namespace boxsum::cuda
