// ScanRowColumn: rows by parallel warp scans, columns by serial scans, no transposition.
// Chen, Wahib, Takizawa, Takano, Matsuoka: Efficient Algorithms for the Summed Area Tables Primitive on GPUs, 2018,
// section IV.C.
//
// ScanRow: a warp owns a row; a step is 32 x 32 = 1024 neighbours in registers, data[j] of lane l being number 32 j +
// l, scanned 32 at a time (Kogge-Stone or LF) with the last sum carried on. ScanColumn: a block owns 32 columns; a step
// is 32 rows a warp, a lane holds 32 elements of one column and adds them up serially; the sums of the warps pass
// through shared memory, and the last row is carried to the next step.
//
//     ScanRow: warp w -> row w         ScanColumn: 32 columns   warp 0: 32 rows
//     |0..31|32..63|... |1023| ->                               warp 1: 32 rows    | downwards
//                                                               ...                v
//
// Cost: 2 reads, 2 writes per element; 2 launches; 32 max(rows, cols) threads; no workspace; no exchange between
// blocks. Limits: none of its own. Differs from the paper: the 32 scans of a step are independent and the carry is
// added to their results, not to the first element of the next scan, which would chain 32 x 5 shuffles, so that this
// ScanRow is a faster one than the paper's; the sums of the warps (figure 3c) are not scanned in shared memory: every
// lane adds up those before its own; slips of algorithms 3 and 4 (see warp_scan.cuh).

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/parameters.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/register_matrix.cuh"
#endif

#include <algorithm>

namespace boxsum {
namespace {

// Policy

constexpr std::string_view row_threads_values[] = {"256", "512", "1024"};
constexpr std::string_view column_threads_values[] = {"256", "512", "1024"};
constexpr parameter parameters[] = {
    scan_parameter,
    {"row-threads", "a block of ScanRow; halved for 8-byte tables; the paper's is 1024", row_threads_values},
    {"column-threads", "a block of ScanColumn; halved for 8-byte tables; the paper's is 1024", column_threads_values}};

/// The paper's 4096 / sizeof(T), which is 1024 or, for 8-byte types, 512, or fewer.
int threads_of(const problem& p, const parameter_values& values, std::size_t position) {
    const int threads = number_of(parameters, values, position);
    return size_of(p.table.type) == 8 ? threads / 2 : threads;
}
[[maybe_unused]] int row_threads(const problem& p, const parameter_values& values) {
    return threads_of(p, values, 1);
}
int column_threads(const problem& p, const parameter_values& values) {
    return threads_of(p, values, 2);
}

#ifdef __CUDACC__

using namespace cuda;

// Kernels

/// ScanRow. A warp owns a row of the layer blockIdx.y. Reads I, writes L, the prefix sums of the row.
template <scan_network Network, typename Pixel, typename Sum>
__global__ void __launch_bounds__(most_matrix_threads<Sum>) scan_row_kernel(layers<const Pixel> in, layers<Sum> out) {
    const std::int64_t row = std::int64_t{blockIdx.x} * (blockDim.x / warp_size) + warp_id();
    if (row >= in.rows) return;  // whole warps; the kernel has no barrier
    const line<const Pixel> x = in[blockIdx.y].row(row);
    const line<Sum> y = out[blockIdx.y].row(row);
    Sum carry{};  // all steps before
    for (std::int64_t step = lane_id(); step - lane_id() < in.cols; step += matrix_size * warp_size) {
        const std::int64_t left = in.cols - step;  // to the end of the row, from this lane's first element
        const int count = left < matrix_size * warp_size ? static_cast<int>(ceil_div(left, warp_size)) : matrix_size;
        Sum data[matrix_size];
        load_registers(data, line<const Pixel>{count > 0 ? &x[step] : x.first, x.step_bytes * warp_size}, count);
#pragma unroll
        for (int j = 0; j < matrix_size; ++j) {
            data[j] = carry + warp_scan<Network>(data[j]);
            carry = last_lane(data[j]);
        }
        line<Sum> to{count > 0 ? &y[step] : y.first, y.step_bytes * warp_size};  // one pointer, as in load_registers
#pragma unroll
        for (int j = 0; j < matrix_size; ++j) {
            if (j < count) *to.first = data[j];
            to.first = &to[1];
        }
    }
}

/// ScanColumn, after ScanRow. A block owns columns 32 blockIdx.x .. + 31 of the layer blockIdx.y. Makes L, in place,
/// the table.
template <typename Sum>
__global__ void __launch_bounds__(most_matrix_threads<Sum>) scan_column_kernel(layers<Sum> table) {
    __shared__ warp_partial_sums<Sum> sums;
    const layer<Sum> y = table[blockIdx.y];
    const layer<const Sum> x{y.data, y.rows, y.cols, y.row_stride, y.col_stride};
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    const std::int64_t col = std::int64_t{blockIdx.x} * matrix_size;
    Sum carry{};  // of column col + lane: all steps before
    for (std::int64_t step = 0; step < y.rows; step += warps * matrix_size) {
        const std::int64_t row = step + warp_id() * matrix_size;
        Sum data[matrix_size];
        load_matrix(data, x, row, col);
        sums.of[warp_id()][lane_id()] = scan_registers(data);
        __syncthreads();
        const Sum before = before_this_warp(sums, carry);
#pragma unroll
        for (int j = 0; j < matrix_size; ++j) data[j] = before + data[j];
        store_matrix(data, y, row, col);
        __syncthreads();  // before the next step overwrites the partial sums
    }
}

// Host

support supported(const problem& p, const parameter_values&) {
    return supports_inclusive(p);
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        const auto layers = static_cast<unsigned>(a.count());
        const auto row_block = static_cast<unsigned>(row_threads(p, how.parameters));
        visit_scan_network(how.parameters.choice[0], [&]<scan_network Network>() {
            launch(scan_row_kernel<Network, Pixel, Sum>,
                   {.grid = dim3(static_cast<unsigned>(ceil_div(a.rows, row_block / warp_size)), layers),
                    .block = row_block},
                   how.stream, a, b);
        });
        launch(scan_column_kernel<Sum>,
               {.grid = dim3(static_cast<unsigned>(ceil_div(a.cols, matrix_size)), layers),
                .block = static_cast<unsigned>(column_threads(p, how.parameters))},
               how.stream, b);
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values& values) {
    const cuda::inclusive_core core = cuda::core_of(p);
    return {2, 2, 2 + cuda::border_launches(p),
            core.layers * std::max(core.rows * 32, cuda::ceil_div(core.cols, 32) * column_threads(p, values))};
}

}  // namespace

constinit const algorithm_record sat_scanrow_column_record{
    .info = {.what = operation::sat,
             .name = "scanrow-column",
             .title = "rows by warp scans, columns by serial scans",
             .paper = "Chen et al. 2018, IV.C",
             .cost = "2 reads, 2 writes per element; 2 launches",
             .where = backend::cuda,
             .built = cuda_built,
             .in_place = true,
             .parameters = parameters},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .addition_depth = serial_addition_depth,
    .cost = cost,
};

}  // namespace boxsum
