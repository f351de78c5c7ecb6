// CW-STs: cross-weave, one scan, one 3-D transpose, one scan.
// Poostchi, Palaniappan, Li, Becchi, Bunyak, Seetharaman: Fast Integral Histogram Computations on GPU for Real-Time
// Video Analytics, 2017, Algorithm 3, built from the prescan of Harris et al. 2007 and the transpose of Ruetsch and
// Micikevicius 2009.
//
// What CW-B does in b x h small launches is one launch with a block per row of every bin; the bin is one more index of
// the transpose.
//
//     Q ---> IH  --prescan--> rows  --3-D transpose--> IH^T  --prescan--> columns  --3-D transpose--> IH
//                  1 launch             1 launch               1 launch                1 launch
//
// Cost: 4 reads and 5 writes per entry; 5 launches; workspace 1 entry per entry.
// Limits: planes x bins at most 65535.
// Differs from the paper: a block scans one whole row, segment by segment where it is longer than the tree, instead of
// 2 x threads elements of the 1-D array; the tensor is transposed back, where the paper leaves it lying.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/histogram/records.hpp"
#include "cuda/record.hpp"

#ifdef __CUDACC__
#include "cuda/device/one_hot.cuh"
#include "cuda/device/prescan.cuh"
#include "cuda/device/transpose.cuh"
#include "cuda/device/workspace_slots.hpp"
#endif

#include <algorithm>

namespace boxsum {
namespace {

// Policy

constexpr int scan_threads = 256;   // 512 elements a tree
constexpr int transpose_size = 32;  // BLOCK_DIM, the banks of shared memory
constexpr int transpose_lines = 8;

#ifdef __CUDACC__

using namespace cuda;

// Shared memory: the tree of prescan_line and the tile of transpose_tile

// Kernels

/// Lines 2 to 4, and 6 to 8 on IH^T. A block owns row blockIdx.x of table blockIdx.y: replaces it by its prefix sums.
template <typename Entry>
__global__ void __launch_bounds__(scan_threads) prescan_rows_kernel(bin_tables<Entry> IH) {
    prescan_line<scan_threads>(IH[blockIdx.y].row(blockIdx.x), IH.cols);
}

/// Line 5, after the rows. A block owns a tile of 32 x 32 of table blockIdx.y.
template <typename Entry>
__global__ void __launch_bounds__(transpose_size* transpose_lines)
    transpose_3d_kernel(bin_tables<const Entry> in, bin_tables<Entry> out) {
    transpose_tile<transpose_size, transpose_lines>(in[blockIdx.y], out[blockIdx.y], blockIdx.x);
}

// Host

support supported(const problem& p, const parameter_values&) {
    return supports_exhibit(p);
}

std::size_t workspace_bytes(const problem& p, const parameter_values&) {
    workspace_slots slots;
    visit_one_of(cuda_histogram_entries{}, p.table.type, [&]<typename Entry>() {
        slots.take<Entry>(p.table.planes * p.histogram->bins * p.table.rows * p.table.cols);
    });
    return slots.bytes();
}

template <typename Entry>
void scan_rows(const bin_tables<Entry>& IH, stream_ref stream) {
    launch(prescan_rows_kernel<Entry>,
           {.grid = dim3(static_cast<unsigned>(IH.rows), static_cast<unsigned>(IH.count())), .block = scan_threads},
           stream, IH);
}

template <typename Entry>
void transpose(const bin_tables<Entry>& in, const bin_tables<Entry>& out, stream_ref stream) {
    const std::int64_t tiles = ceil_div(in.rows, transpose_size) * ceil_div(in.cols, transpose_size);
    const bin_tables<const Entry> from{in.data,       in.rows,         in.cols, in.row_stride,
                                       in.bin_stride, in.plane_stride, in.bins, in.planes};
    launch(transpose_3d_kernel<Entry>,
           {.grid = dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(in.count())),
            .block = transpose_size * transpose_lines},
           stream, from, out);
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_after_initializing(p, memory, how.stream, [&]<typename Entry>(const bin_tables<Entry>& IH) {
        workspace_slots slots(how.workspace);
        const auto IH_T = packed_tables(slots.take<Entry>(IH.count() * IH.rows * IH.cols), IH, IH.cols, IH.rows);
        scan_rows(IH, how.stream);
        transpose(IH, IH_T, how.stream);
        scan_rows(IH_T, how.stream);
        transpose(IH_T, IH, how.stream);
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values&) {
    const auto bins = static_cast<double>(p.histogram->bins);
    return {1 + 4 * bins, 5 * bins, 5,
            p.table.planes * p.histogram->bins * std::max(p.table.rows, p.table.cols) * scan_threads};
}

}  // namespace

constinit const algorithm_record histogram_cw_sts_record{
    .info = {.what = operation::histogram,
             .name = "cw-sts",
             .title = "one prescan of all rows, one 3-D transpose, one prescan of all columns",
             .paper = "Poostchi et al. 2017, Algorithm 3",
             .cost = "4 reads, 5 writes per entry; 5 launches",
             .where = backend::cuda,
             .built = cuda_built},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .addition_depth = serial_addition_depth,
    .cost = cost,
};

}  // namespace boxsum
