// Partial column, row: prefix sums of 32 rows of a column in registers, then accumulation along the rows.
// The notes 'How to compute integral image on GPU?' (2025), 'Other Method'; they leave open how blocks work together.
//
// The notes' two steps are a kernel: a lane holds 32 elements of a column and makes them prefix sums (step 1), then
// each of the 32 rows is accumulated along its columns (step 2). A block does this for a strip of 32 rows from the left
// edge to the right, so step 2 never leaves the block. Strips need what is above them; that is the extension: a first
// launch adds up the columns of each strip, a second one scans these sums down the strips, and the column prefix of
// step 1 starts with them.
//
//     strip 0   32 rows | sums of columns |          step 1: |||||  with the sums above
//     strip 1   32 rows | sums of columns | scanned  step 2: ----->
//     strip 2   ...                       v downwards
//
// Cost: 2 reads, 1 write per element + O(1/32); 3 launches; rows cols / 32 threads; workspace 1/32 element per element;
// blocks exchange nothing but between launches.
// Limits: none of its own.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/line_scan.cuh"
#include "cuda/device/register_matrix.cuh"
#include "cuda/device/workspace_slots.hpp"
#endif

#include <algorithm>

namespace boxsum {
namespace {

// Policy

constexpr int strip_rows = 32;
constexpr int sum_threads = 128;    // kernels 1 and 2
constexpr int table_threads = 512;  // kernel 3; halved for 8-byte tables, to spare registers

int table_threads_of(const problem& p) {
    return size_of(p.table.type) == 8 ? table_threads / 2 : table_threads;
}

#ifdef __CUDACC__

using namespace cuda;

// Kernels

/// A block owns a piece of strip blockIdx.x of the layer blockIdx.y, a thread one of its columns: reads I, writes the
/// sum of the 32 elements.
template <typename Pixel, typename Sum>
__global__ void sum_strip_columns_kernel(layers<const Pixel> in, layers<Sum> strip_sums) {
    const std::int64_t pieces = ceil_div(in.cols, sum_threads);
    const std::int64_t strip = blockIdx.x / pieces, c = blockIdx.x % pieces * sum_threads + threadIdx.x;
    if (c >= in.cols) return;
    const std::int64_t first = strip * strip_rows, below = in.rows - first;
    const int rows = below < strip_rows ? static_cast<int>(below) : strip_rows;
    line<const Pixel> x = in[blockIdx.y].column(c);
    x.first = &x[first];
    Sum sum{};
#pragma unroll
    for (int i = 0; i < strip_rows; ++i) {
        if (i < rows) sum += widen<Sum>(*x.first);
        x.first = &x[1];
    }
    strip_sums[blockIdx.y].at(strip, c) = sum;
}

/// A thread owns a column of the layer blockIdx.y: makes the strip sums, in place, sums from the top.
template <typename Sum>
__global__ void scan_strip_sums_kernel(layers<Sum> strip_sums) {
    const std::int64_t c = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x;
    if (c < strip_sums.cols) scan_line_in_place<16>(strip_sums[blockIdx.y].column(c), strip_sums.rows);
}

/// A block owns strip blockIdx.x of the layer blockIdx.y, a warp 32 of its columns at each step to the right. Reads I
/// and the sums above the strip, writes the table.
template <typename Pixel, typename Sum>
__global__ void __launch_bounds__(table_threads)
    finish_strips_kernel(layers<const Pixel> in, layers<const Sum> strip_sums, layers<Sum> table) {
    constexpr int max_warps = table_threads / warp_size;
    __shared__ Sum warp_sums[max_warps][strip_rows];
    const layer<const Pixel> image = in[blockIdx.y];
    const layer<const Sum> above = strip_sums[blockIdx.y];
    const layer<Sum> out = table[blockIdx.y];
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    const std::int64_t strip = blockIdx.x, row = strip * strip_rows;
    Sum carry{};  // of row + lane: all steps before
    for (std::int64_t step = 0; step < in.cols; step += warps * warp_size) {
        const std::int64_t col = step + warp_id() * warp_size, c = col + lane_id();
        Sum data[strip_rows];
        load_matrix(data, image, row, col);

        // Step 1: column prefix sums in registers, after the sums of the strips above
        if (strip > 0 && c < in.cols) data[0] += above.at(strip - 1, c);
        scan_registers(data);

        // Step 2: along the rows, within the warp, then across the warps, then from the step before
#pragma unroll
        for (int i = 0; i < strip_rows; ++i) data[i] = warp_scan(data[i]);
        if (lane_id() == warp_size - 1) {
#pragma unroll
            for (int i = 0; i < strip_rows; ++i) warp_sums[warp_id()][i] = data[i];
        }
        __syncthreads();
        Sum before = carry;  // lane i: of row i
        for (int w = 0; w < warps; ++w) {
            if (w == warp_id()) before = carry;
            carry += warp_sums[w][lane_id()];
        }
#pragma unroll
        for (int i = 0; i < strip_rows; ++i) data[i] = __shfl_sync(whole_warp, before, i) + data[i];
        store_matrix(data, out, row, col);
        __syncthreads();  // before the next step overwrites the sums
    }
}

// Host

support supported(const problem& p, const parameter_values&) {
    return supports_inclusive(p);
}

std::size_t workspace_bytes(const problem& p, const parameter_values&) {
    const inclusive_core core = core_of(p);
    workspace_slots slots;
    visit_sum_types(p, [&]<typename, typename Sum>() {
        slots.take<Sum>(core.layers * ceil_div(core.rows, strip_rows) * core.cols);
    });
    return slots.bytes();
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        workspace_slots slots(how.workspace);
        const std::int64_t strips = ceil_div(a.rows, strip_rows), pieces = ceil_div(a.cols, sum_threads);
        Sum* const scratch = slots.take<Sum>(a.count() * strips * a.cols);
        const layers<Sum> strip_sums = packed_layers(scratch, a.count(), strips, a.cols);
        const layers<const Sum> strip_sums_in = packed_layers<const Sum>(scratch, a.count(), strips, a.cols);
        const auto layers = static_cast<unsigned>(a.count());
        launch(sum_strip_columns_kernel<Pixel, Sum>,
               {.grid = dim3(static_cast<unsigned>(strips * pieces), layers), .block = sum_threads}, how.stream, a,
               strip_sums);
        launch(scan_strip_sums_kernel<Sum>, {.grid = dim3(static_cast<unsigned>(pieces), layers), .block = sum_threads},
               how.stream, strip_sums);
        launch(
            finish_strips_kernel<Pixel, Sum>,
            {.grid = dim3(static_cast<unsigned>(strips), layers), .block = static_cast<unsigned>(table_threads_of(p))},
            how.stream, a, strip_sums_in, b);
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values&) {
    const cuda::inclusive_core core = cuda::core_of(p);
    const std::int64_t strips = cuda::ceil_div(core.rows, strip_rows);
    const double per_strip =
        static_cast<double>(core.layers) * static_cast<double>(core.cols) / std::max(1.0, core.elements());
    const double all = static_cast<double>(strips) * per_strip, carries = static_cast<double>(strips - 1) * per_strip;
    return {2 + all + carries, 1 + 2 * all, 3 + cuda::border_launches(p),
            core.layers * strips *
                std::max<std::int64_t>(cuda::ceil_div(core.cols, sum_threads) * sum_threads, table_threads_of(p))};
}

}  // namespace

constinit const algorithm_record sat_partial_column_row_record{
    .info = {.what = operation::sat,
             .name = "partial-column-row",
             .title = "column prefixes of 32 rows in registers, accumulated along the rows",
             .paper = "How to compute integral image on GPU? 2025, 'Other Method'",
             .cost = "2 reads, 1 write per element; 3 launches",
             .where = backend::cuda,
             .built = cuda_built,
             .in_place = true},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .addition_depth = serial_addition_depth,
    .cost = cost,
};

}  // namespace boxsum
