// CW-B: cross-weave baseline, one launch per row and per column of every bin.
// Poostchi, Palaniappan, Li, Becchi, Bunyak, Seetharaman: Fast Integral Histogram Computations on GPU for Real-Time
// Video Analytics, 2017, Algorithm 2, built from the prescan of Harris et al. 2007 and the transpose of Ruetsch and
// Micikevicius 2009.
//
// The planes of zeros and ones are scanned row by row, each row by a launch of its own; every bin's table is
// transposed, its rows, which are the columns, are scanned in the same way, and it is transposed back.
//
//     Q ---> IH  --prescan--> rows  --transpose--> IH^T  --prescan--> columns  --transpose--> IH
//            1      b x h launches     b launches          b x w launches         b launches
//
// Cost: 4 reads and 5 writes per entry; 1 + b (h + w + 2) launches; workspace 1 entry per entry. Slow on purpose: each
// scan has work for one block, so that a GPU of a hundred multiprocessors is idle but for one, and waits for launches.
// Limits: 262144 launches.
// Differs from the paper: rows longer than the tree go segment by segment in the same block; the tables are transposed
// back, where the paper leaves them lying; line 1 is one launch for all bins.

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
#include <string>

namespace boxsum {
namespace {

// Policy

constexpr int scan_threads = 256;  // 512 elements a tree
constexpr int transpose_size = 32;
constexpr int transpose_lines = 8;
constexpr std::int64_t most_launches = std::int64_t{1} << 18;  // the paper's 2048^2 x 32 and 512^2 x 128 take 131137

std::int64_t launches_of(const problem& p) {
    const std::int64_t tables = p.table.planes * p.histogram->bins;
    const std::int64_t per_table = p.table.rows + p.table.cols + 2;
    return per_table > most_launches / tables ? most_launches + 1 : 1 + tables * per_table;
}

#ifdef __CUDACC__

using namespace cuda;

// Shared memory: the tree of prescan_line and the tile of transpose_tile

// Kernels

/// Lines 4 and 12. The only block owns row `row` of table k: replaces it by its prefix sums.
template <typename Entry>
__global__ void __launch_bounds__(scan_threads)
    prescan_row_kernel(bin_tables<Entry> IH, std::int64_t k, std::int64_t row) {
    prescan_line<scan_threads>(IH[k].row(row), IH.cols);
}

/// Line 8, after the rows. A block owns a tile of 32 x 32 of table k.
template <typename Entry>
__global__ void __launch_bounds__(transpose_size* transpose_lines)
    transpose_kernel(bin_tables<const Entry> in, bin_tables<Entry> out, std::int64_t k) {
    transpose_tile<transpose_size, transpose_lines>(in[k], out[k], blockIdx.x);
}

// Host

support supported(const problem& p, const parameter_values&) {
    if (const support s = supports_exhibit(p); !s) return s;
    return {launches_of(p) <= most_launches, "more than " + std::to_string(most_launches) + " launches"};
}

std::size_t workspace_bytes(const problem& p, const parameter_values&) {
    workspace_slots slots;
    visit_one_of(cuda_histogram_entries{}, p.table.type, [&]<typename Entry>() {
        slots.take<Entry>(p.table.planes * p.histogram->bins * p.table.rows * p.table.cols);
    });
    return slots.bytes();
}

template <typename Entry>
bin_tables<const Entry> read_only(const bin_tables<Entry>& t) {
    return {t.data, t.rows, t.cols, t.row_stride, t.bin_stride, t.plane_stride, t.bins, t.planes};
}

template <typename Entry>
void scan_rows(const bin_tables<Entry>& IH, stream_ref stream) {
    for (std::int64_t k = 0; k < IH.count(); ++k)
        for (std::int64_t row = 0; row < IH.rows; ++row)
            launch(prescan_row_kernel<Entry>, {.grid = 1, .block = scan_threads}, stream, IH, k, row);
}

template <typename Entry>
void transpose(const bin_tables<Entry>& in, const bin_tables<Entry>& out, stream_ref stream) {
    const std::int64_t tiles = ceil_div(in.rows, transpose_size) * ceil_div(in.cols, transpose_size);
    for (std::int64_t k = 0; k < in.count(); ++k)
        launch(transpose_kernel<Entry>,
               {.grid = static_cast<unsigned>(tiles), .block = transpose_size * transpose_lines}, stream, read_only(in),
               out, k);
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
    return {1 + 4 * bins, 5 * bins, launches_of(p), cuda::ceil_div(p.table.rows * p.table.cols, 256) * 256};
}

}  // namespace

constinit const algorithm_record histogram_cw_b_record{
    .info = {.what = operation::histogram,
             .name = "cw-b",
             .title = "a prescan per row, a transpose per bin, a prescan per column",
             .paper = "Poostchi et al. 2017, Algorithm 2",
             .cost = "4 reads, 5 writes per entry; b (rows + cols + 2) launches",
             .where = backend::cuda,
             .built = cuda_built},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .addition_depth = serial_addition_depth,
    .cost = cost,
};

}  // namespace boxsum
