// CW-TiS: cross-weave tiled horizontal and vertical scan.
// Poostchi, Palaniappan, Li, Becchi, Bunyak, Seetharaman: Fast Integral Histogram Computations on GPU for Real-Time
// Video Analytics, 2017, Algorithm 4.
//
// Tiles in shared memory replace tree and transpose: a thread per row pushes the sums of a vertical strip of tiles from
// left to right, strip after strip; then a thread per column pushes those of the horizontal strips downwards.
//
//     horizontal scan               vertical scan
//     +----+----+----+              +----+----+----+
//     | -> | -> | -> |              |  | |  | |  | |  strip 0
//     +----+----+----+              +--v-+--v-+--v-+
//     | -> | -> | -> |              |  | |  | |  | |  strip 1
//     +----+----+----+              +--v-+--v-+--v-+
//     strip 0    1    2             a launch per strip, a block per tile and bin
//
// Cost: 2 reads and 3 writes per entry; 1 + w / TILE_SIZE + h / TILE_SIZE launches; no workspace.
// Limits: planes x bins at most 65535; at most TILE_SIZE^2 threads.
// Differs from the paper: any image size (the paper pads to whole tiles); the diagonal arrangement of the tile in
// shared memory, so that rows and columns are both free of bank conflicts; threads beyond TILE_SIZE load and store.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/histogram/parameters.hpp"
#include "cuda/histogram/records.hpp"
#include "cuda/record.hpp"

#ifdef __CUDACC__
#include "cuda/device/one_hot.cuh"
#include "cuda/device/ptx.cuh"
#include "cuda/device/tile_sat.cuh"
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

/// The tile of IH itself: it is read, scanned and written back.
template <int W, typename Entry>
__device__ void load_own_tile(sat_tile<Entry, W>& tile, const layer<Entry>& IH, const tile_box& box) {
    load_tile(tile, layer<const Entry>{IH.data, IH.rows, IH.cols, IH.row_stride, IH.col_stride}, box);
}

// Kernels

/// Line 4, Tiled_Horizontal_Scan. A block owns tile (blockIdx.x, strip) of table blockIdx.y, after strip - 1: thread k
/// carries on from the last column of that strip.
template <int W, typename Entry>
__global__ void scan_horizontally_kernel(bin_tables<Entry> tables, std::int64_t strip) {
    auto& s = *dynamic_shared<tile_shared<Entry, W>>();
    const layer<Entry> IH = tables[blockIdx.y];
    const tile_box box = box_of<W>({blockIdx.x, strip}, IH.rows, IH.cols);
    const int k = static_cast<int>(threadIdx.x);

    load_own_tile(s.tile, IH, box);
    __syncthreads();
    if (k < W)
        scan_cells<W, Entry>([&](int j) -> Entry& { return s.tile.at(k, j); },
                             strip > 0 && k < box.rows ? IH.at(box.row + k, box.col - 1) : Entry{});
    __syncthreads();
    store_tile(s.tile, IH, box);
}

/// Line 7, Tiled_Vertical_Scan. A block owns tile (strip, blockIdx.x) of table blockIdx.y, after all horizontal strips
/// and strip - 1: thread k carries on from the last row of that strip.
template <int W, typename Entry>
__global__ void scan_vertically_kernel(bin_tables<Entry> tables, std::int64_t strip) {
    auto& s = *dynamic_shared<tile_shared<Entry, W>>();
    const layer<Entry> IH = tables[blockIdx.y];
    const tile_box box = box_of<W>({strip, blockIdx.x}, IH.rows, IH.cols);
    const int k = static_cast<int>(threadIdx.x);

    load_own_tile(s.tile, IH, box);
    __syncthreads();
    if (k < W)
        scan_cells<W, Entry>([&](int i) -> Entry& { return s.tile.at(i, k); },
                             strip > 0 && k < box.cols ? IH.at(box.row - 1, box.col + k) : Entry{});
    __syncthreads();
    store_tile(s.tile, IH, box);
}

// Host

support supported(const problem& p, const parameter_values& values) {
    if (const support s = supports_exhibit(p); !s) return s;
    return supports_histogram_tile(values);
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_after_initializing(p, memory, how.stream, [&]<typename Entry>(const bin_tables<Entry>& IH) {
        visit_histogram_tile(histogram_tile_of(how.parameters), [&]<int W>() {
            const std::int64_t v_strips = ceil_div(IH.cols, W), h_strips = ceil_div(IH.rows, W);
            const auto tiles = [&](std::int64_t count) {
                return launch_shape{.grid = dim3(static_cast<unsigned>(count), static_cast<unsigned>(IH.count())),
                                    .block = static_cast<unsigned>(std::max(W, histogram_threads_of(how.parameters))),
                                    .shared_bytes = sizeof(tile_shared<Entry, W>)};
            };
            for (std::int64_t v = 0; v < v_strips; ++v)
                launch(scan_horizontally_kernel<W, Entry>, tiles(h_strips), how.stream, IH, v);
            for (std::int64_t h = 0; h < h_strips; ++h)
                launch(scan_vertically_kernel<W, Entry>, tiles(v_strips), how.stream, IH, h);
        });
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values& values) {
    const auto bins = static_cast<double>(p.histogram->bins);
    const std::int64_t tile = histogram_tile_of(values);
    const std::int64_t v_strips = cuda::ceil_div(p.table.cols, tile), h_strips = cuda::ceil_div(p.table.rows, tile);
    return {1 + 2 * bins, 3 * bins, 1 + v_strips + h_strips,
            p.table.planes * p.histogram->bins * std::max(v_strips, h_strips) * histogram_threads_of(values)};
}

}  // namespace

constinit const algorithm_record histogram_cw_tis_record{
    .info = {.what = operation::histogram,
             .name = "cw-tis",
             .title = "strips of tiles from left to right, then from top to bottom",
             .paper = "Poostchi et al. 2017, Algorithm 4",
             .cost = "2 reads, 3 writes per entry; rows / tile + cols / tile launches",
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
