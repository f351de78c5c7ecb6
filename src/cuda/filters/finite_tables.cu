// A pixel that is not finite spoils every entry of a table below and to the right of it, the last one always: sums of
// it and of others are inf, -inf or NaN. So the last entry tells whether there is one, and two launches end at once
// where there is none. Else a warp adds up a row of the pixels that are finite, and counts the others, then a thread a
// column.

#include "core/visit_types.hpp"
#include "cuda/device/warp_scan.cuh"
#include "cuda/filters/finite_tables.hpp"
#include "cuda/filters/pixel_planes.cuh"
#include "cuda/runtime/launch.cuh"

#include <boxsum/cuda/memory.hpp>

#include <algorithm>
#include <cfloat>
#include <cstdint>

namespace boxsum::cuda {
namespace {

constexpr int row_warps = 8;  ///< of a block
constexpr std::int64_t most_row_blocks = 512;
constexpr int column_threads = 64;
constexpr int column_reads = 8;  ///< rows of a column whose reads are under way together

/// Entries of a padded table.
template <typename T>
struct padded_entries {
    char* data;
    std::int64_t row_stride;

    __device__ T& at(std::int64_t row, std::int64_t element) const {
        return reinterpret_cast<T*>(data + row * row_stride)[element];
    }
};

template <typename Number>
struct finite_task {
    pixel_plane image;
    std::int64_t rows, cols, channels;
    padded_entries<f64> sums;
    padded_entries<Number> positive, negative;  ///< inf or NaN, -inf or NaN
    u32* any;
    f64* last;  ///< of the last entries' rows: those keep what they are until every block has seen them
};

__device__ bool is_finite(f64 x) {
    return x >= -DBL_MAX && x <= DBL_MAX;
}

template <typename Number>
__device__ bool is_spoilt(const finite_task<Number>& t) {
    for (std::int64_t channel = 0; channel < t.channels; ++channel)
        if (!is_finite(t.sums.at(t.rows, t.cols * t.channels + channel))) return true;
    return false;
}

/// A warp owns rows of one channel.
template <typename Number>
__global__ void __launch_bounds__(row_warps* warp_size) sum_finite_rows_kernel(finite_task<Number> t) {
    const bool spoilt = is_spoilt(t);
    if (blockIdx.x == 0 && threadIdx.x == 0) *t.any = spoilt ? 1 : 0;
    if (!spoilt) return;
    for (std::int64_t line = std::int64_t{blockIdx.x} * row_warps + warp_id(); line < t.rows * t.channels;
         line += std::int64_t{gridDim.x} * row_warps) {
        const std::int64_t r = line / t.channels, channel = line - r * t.channels;
        f64 sum = 0;
        Number positive = 0, negative = 0;
        for (std::int64_t c = lane_id(); c - lane_id() < t.cols; c += warp_size) {
            const f64 x = c < t.cols ? t.image.real_at(r, c, channel) : 0;
            const bool nan = x != x;
            sum += warp_scan(is_finite(x) ? x : 0.0);
            positive += warp_scan(static_cast<Number>(nan || x > DBL_MAX ? 1 : 0));
            negative += warp_scan(static_cast<Number>(nan || x < -DBL_MAX ? 1 : 0));
            if (c < t.cols) {
                const std::int64_t element = (c + 1) * t.channels + channel;
                if (r == t.rows - 1 && c == t.cols - 1)
                    t.last[channel] = sum;
                else
                    t.sums.at(r + 1, element) = sum;
                t.positive.at(r + 1, element) = positive;
                t.negative.at(r + 1, element) = negative;
            }
            sum = shuffle(sum, warp_size - 1);
            positive = shuffle(positive, warp_size - 1);
            negative = shuffle(negative, warp_size - 1);
        }
    }
}

/// Of rows that have been summed. `last`: in the place of the last row's, or null.
template <typename T>
__device__ void sum_column(const padded_entries<T>& table, std::int64_t rows, std::int64_t element, bool padding,
                           const T* last) {
    T sum = 0;
    table.at(0, element) = sum;
    for (std::int64_t first = 1; first <= rows; first += column_reads) {
        T x[column_reads];
#pragma unroll
        for (int k = 0; k < column_reads; ++k) {
            const std::int64_t r = first + k;
            x[k] = r > rows || padding ? T{0} : r == rows && last != nullptr ? *last : table.at(r, element);
        }
#pragma unroll
        for (int k = 0; k < column_reads; ++k)
            if (first + k <= rows) table.at(first + k, element) = sum += x[k];
    }
}

/// A thread owns a column of one of the three tables.
template <typename Number>
__global__ void __launch_bounds__(column_threads) sum_finite_columns_kernel(finite_task<Number> t) {
    const std::int64_t element = std::int64_t{blockIdx.x} * column_threads + threadIdx.x, end = t.cols * t.channels;
    if (*t.any == 0 || element >= end + t.channels) return;
    const bool padding = element < t.channels;
    if (blockIdx.y == 0)
        sum_column<f64>(t.sums, t.rows, element, padding, element >= end ? t.last + (element - end) : nullptr);
    else
        sum_column<Number>(blockIdx.y == 1 ? t.positive : t.negative, t.rows, element, padding, nullptr);
}

std::size_t up(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/// Of positive and negative.
view_shape numbers_of(const view_shape& table, dtype numbers) {
    return device_shape(numbers, table.rows, table.cols, table.channels, 2);
}

}  // namespace

std::size_t finite_table_bytes(const view_shape& table, dtype numbers) {
    return up(span_bytes(numbers_of(table, numbers))) + up(static_cast<std::size_t>(table.channels) * sizeof(f64)) +
           256;
}

void enqueue_finite_table(const const_any_view& image, const any_view& table, dtype numbers, void* space,
                          stream_ref stream, sample_tables& to) {
    const view_shape &s = image.shape, shape = numbers_of(table.shape, numbers);
    auto* const first = static_cast<char*>(space);
    auto* const last = first + up(span_bytes(shape));
    auto* const any = last + up(static_cast<std::size_t>(s.channels) * sizeof(f64));
    to.counts = {first, shape};  // named from the plane before, which nobody reads
    to.counts.data = reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(first) -
                                                   static_cast<std::uintptr_t>(shape.plane_stride));
    to.counts.shape.planes = 3;
    to.any_infinite = reinterpret_cast<u32*>(any);
    to.all_count = true;
    visit_type(type_list<u32, u64>{}, numbers, [&]<typename Number>() {
        const finite_task<Number> task{.image = pixel_plane(image, 0),
                                       .rows = s.rows,
                                       .cols = s.cols,
                                       .channels = s.channels,
                                       .sums = {static_cast<char*>(table.data), table.shape.row_stride},
                                       .positive = {first, shape.row_stride},
                                       .negative = {first + shape.plane_stride, shape.row_stride},
                                       .any = reinterpret_cast<u32*>(any),
                                       .last = reinterpret_cast<f64*>(last)};
        const std::int64_t lines = s.rows * s.channels, columns = (s.cols + 1) * s.channels;
        launch(sum_finite_rows_kernel<Number>,
               {.grid = static_cast<unsigned>(std::min((lines + row_warps - 1) / row_warps, most_row_blocks)),
                .block = row_warps * warp_size},
               stream, task);
        launch(sum_finite_columns_kernel<Number>,
               {.grid = dim3(static_cast<unsigned>((columns + column_threads - 1) / column_threads), 3),
                .block = column_threads},
               stream, task);
    });
}

}  // namespace boxsum::cuda
