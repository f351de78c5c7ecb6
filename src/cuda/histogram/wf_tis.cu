// WF-TiS: wave-front tiled scan.
// Poostchi, Palaniappan, Li, Becchi, Bunyak, Seetharaman: Fast Integral Histogram Computations on GPU for Real-Time
// Video Analytics, 2017, Algorithm 5; the order of Needleman-Wunsch in the Rodinia suite (Che et al. 2010).
//
// Both scans of a tile in one visit: the tiles of a diagonal, of all bins, are one launch. A thread per row scans from
// left to right, leaves the last column for the next diagonal, and a thread per column scans downwards from the
// finished row above.
//
//     +---+---+---+---+
//     | 0 | 1 | 2 | 3 |     last column of the row scan ---> h entries of extra memory per bin ---> tile to the right
//     +---+---+---+---+
//     | 1 | 2 | 3 | 4 |     last row of the table       ---> IH itself                         ---> tile below
//     +---+---+---+---+
//
// Cost: 1 read and 2 writes per entry + O(1 / TILE_SIZE); 1 + w / TILE_SIZE + h / TILE_SIZE - 1 launches; workspace h
// entries per bin.
// Limits: planes x bins at most 65535; at most TILE_SIZE^2 threads.
// Differs from the paper: any image size; the diagonal arrangement of the tile in shared memory, free of bank
// conflicts; threads beyond TILE_SIZE load and store; h entries of extra memory for each bin, as bins run at once,
// where the text has an array of h.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/device/tile_order.hpp"
#include "cuda/histogram/parameters.hpp"
#include "cuda/histogram/records.hpp"
#include "cuda/record.hpp"

#ifdef __CUDACC__
#include "cuda/device/one_hot.cuh"
#include "cuda/device/ptx.cuh"
#include "cuda/device/tile_sat.cuh"
#include "cuda/device/workspace_slots.hpp"
#endif

#include <algorithm>

namespace boxsum {
namespace {

// Policy: histogram/parameters.hpp

#ifdef __CUDACC__

using namespace cuda;

// Shared memory

template <typename Entry, int W>
struct tile_shared {
    sat_tile<Entry, W> tile;  // of IH
};

// Kernels

/// Line 4, Tiled_Wavefront_Scan. A block owns tile blockIdx.x of the diagonal, counted downwards, of table blockIdx.y,
/// after the diagonals before: reads the tile of zeros and ones, the row sums up to its left neighbour and the last
/// row of the one above; writes IH and the row sums up to its own last column.
template <int W, typename Entry>
__global__ void scan_wave_front_kernel(bin_tables<Entry> tables, Entry* row_sums, std::int64_t diagonal) {
    auto& s = *dynamic_shared<tile_shared<Entry, W>>();
    const layer<Entry> IH = tables[blockIdx.y];
    const diagonal_order order{(IH.rows + W - 1) / W, (IH.cols + W - 1) / W};
    const std::int64_t row = order.first_row(diagonal) + blockIdx.x;
    const tile_index t{row, diagonal - row};
    const tile_box box = box_of<W>(t, IH.rows, IH.cols);
    const int k = static_cast<int>(threadIdx.x);

    load_tile(s.tile, layer<const Entry>{IH.data, IH.rows, IH.cols, IH.row_stride, IH.col_stride}, box);
    __syncthreads();

    // Horizontal scan; the thread alone reads and writes its row's sum
    if (k < box.rows) {
        Entry& sum = row_sums[blockIdx.y * IH.rows + box.row + k];
        sum = scan_cells<W, Entry>([&](int j) -> Entry& { return s.tile.at(k, j); }, t.col > 0 ? sum : Entry{});
    }
    __syncthreads();

    // Vertical scan
    if (k < box.cols)
        scan_cells<W, Entry>([&](int i) -> Entry& { return s.tile.at(i, k); },
                             t.row > 0 ? IH.at(box.row - 1, box.col + k) : Entry{});
    __syncthreads();
    store_tile(s.tile, IH, box);
}

// Host

support supported(const problem& p, const parameter_values& values) {
    if (const support s = supports_exhibit(p); !s) return s;
    return supports_histogram_tile(values);
}

std::size_t workspace_bytes(const problem& p, const parameter_values&) {
    workspace_slots slots;
    visit_one_of(cuda_histogram_entries{}, p.table.type,
                 [&]<typename Entry>() { slots.take<Entry>(p.table.planes * p.histogram->bins * p.table.rows); });
    return slots.bytes();
}

template <int W, typename Entry>
launch_shape shape_of(const parameter_values& values, std::int64_t tiles, std::int64_t tables) {
    return {.grid = dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(tables)),
            .block = static_cast<unsigned>(std::max(W, histogram_threads_of(values))),
            .shared_bytes = sizeof(tile_shared<Entry, W>)};
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_after_initializing(p, memory, how.stream, [&]<typename Entry>(const bin_tables<Entry>& IH) {
        workspace_slots slots(how.workspace);
        Entry* const row_sums = slots.take<Entry>(IH.count() * IH.rows);
        visit_histogram_tile(histogram_tile_of(how.parameters), [&]<int W>() {
            const diagonal_order order{ceil_div(IH.rows, W), ceil_div(IH.cols, W)};
            for (std::int64_t d = 0; d < order.diagonals(); ++d)
                launch(scan_wave_front_kernel<W, Entry>,
                       shape_of<W, Entry>(how.parameters, order.length(d), IH.count()), how.stream, IH, row_sums, d);
        });
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values& values) {
    const auto bins = static_cast<double>(p.histogram->bins);
    const std::int64_t tile = histogram_tile_of(values);
    const cuda::diagonal_order order{cuda::ceil_div(p.table.rows, tile), cuda::ceil_div(p.table.cols, tile)};
    const double carries = bins / static_cast<double>(tile);
    return {1 + bins + 2 * carries, 2 * bins + carries, 1 + order.diagonals(),
            p.table.planes * p.histogram->bins * std::min(order.rows, order.cols) * histogram_threads_of(values)};
}

}  // namespace

#ifdef __CUDACC__
double wf_tis_occupancy(dtype entry, const parameter_values& values) {
    double occupancy = 0;
    visit_one_of(cuda_histogram_entries{}, entry, [&]<typename Entry>() {
        visit_histogram_tile(histogram_tile_of(values), [&]<int W>() {
            const launch_shape shape = shape_of<W, Entry>(values, 1, 1);
            const auto threads = static_cast<int>(shape.block.x);
            int device = 0, blocks = 0, most = 1;
            BOXSUM_CUDA_TRY(cudaGetDevice(&device));
            BOXSUM_CUDA_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerMultiProcessor, device));
            BOXSUM_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scan_wave_front_kernel<W, Entry>,
                                                                          threads, shape.shared_bytes));
            occupancy = static_cast<double>(blocks) * threads / most;
        });
    });
    return occupancy;
}
#else
double wf_tis_occupancy(dtype, const parameter_values&) {
    return 0;
}
#endif

constinit const algorithm_record histogram_wf_tis_record{
    .info = {.what = operation::histogram,
             .name = "wf-tis",
             .title = "diagonals of tiles, both scans in one visit",
             .paper = "Poostchi et al. 2017, Algorithm 5",
             .cost = "1 read, 2 writes per entry; rows / tile + cols / tile launches",
             .where = backend::cuda,
             .built = cuda_built,
             .parameters = histogram_tile_parameters},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .addition_depth = serial_addition_depth,
    .cost = cost,
};

}  // namespace boxsum
