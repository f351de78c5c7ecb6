// 2R2W: a thread per column, then a thread per row.
// Emoto, Funasaka, Tokura, Honda, Nakano, Ito: An Optimal Parallel Algorithm for Computing the Summed Area Table on the
// GPU, 2018, section I.B.
//
// The table is the prefix sums of the columns, and of these the prefix sums of the rows. Each of n threads adds up one
// column from top to bottom; then each of n threads adds up one row from left to right. Columns are read and written
// coalesced (a warp covers 32 neighbours of one row), rows are not (a warp covers 32 rows): slow on purpose, the floor
// that the other algorithms rise from.
//
//     image          column prefix sums         table
//     a b c    t0 t1 t2 downwards           t0 ->
//     d e f     |  |  |                     t1 -> rightwards
//     g h i     v  v  v                     t2 ->
//
// Cost: 2 reads, 2 writes per element; 2 launches; max(rows, cols) threads; no workspace; no exchange between blocks.
// Limits: none of its own.
// Differs from the paper: a thread issues the loads of 8 elements together, else it would measure latency only.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/line_scan.cuh"
#endif

#include <algorithm>

namespace boxsum {
namespace {

#ifdef __CUDACC__

using namespace cuda;

// Policy

struct serial_policy {
    int threads;         // a block; few, so that n threads reach all multiprocessors
    int loads_together;  // by one thread
};

constexpr serial_policy policy{.threads = 64, .loads_together = 8};

// Kernels

/// A thread owns one column of the layer blockIdx.y. Reads a, writes the column-wise prefix sums to b.
template <typename Pixel, typename Sum>
__global__ void scan_columns_kernel(layers<const Pixel> a, layers<Sum> b) {
    const std::int64_t c = std::int64_t{blockIdx.x} * policy.threads + threadIdx.x;
    if (c >= a.cols) return;
    scan_line<policy.loads_together>(a[blockIdx.y].column(c), b[blockIdx.y].column(c), a.rows);
}

/// A thread owns one row of the layer blockIdx.y. Reads the column-wise prefix sums in b, after scan_columns_kernel;
/// leaves the summed area table there.
template <typename Sum>
__global__ void scan_rows_kernel(layers<Sum> b) {
    const std::int64_t r = std::int64_t{blockIdx.x} * policy.threads + threadIdx.x;
    if (r >= b.rows) return;
    scan_line_in_place<policy.loads_together>(b[blockIdx.y].row(r), b.cols);
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
        const auto grid = [&](std::int64_t lines) {
            return dim3(static_cast<unsigned>(ceil_div(lines, policy.threads)), static_cast<unsigned>(a.count()));
        };
        launch(scan_columns_kernel<Pixel, Sum>, {.grid = grid(a.cols), .block = policy.threads}, how.stream, a, b);
        launch(scan_rows_kernel<Sum>, {.grid = grid(a.rows), .block = policy.threads}, how.stream, b);
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values&) {
    return {2, 2, 2 + cuda::border_launches(p),
            std::max(p.image.rows, p.image.cols) * p.image.planes * p.image.channels};
}

}  // namespace

constinit const algorithm_record sat_2r2w_record{
    .info = {.what = operation::sat,
             .name = "2r2w",
             .title = "a thread per column, then a thread per row",
             .paper = "Emoto et al. 2018, I.B",
             .cost = "2 reads, 2 writes per element; 2 launches",
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
