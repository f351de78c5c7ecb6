// 2R1W: sums of the tiles, prefix sums of these, tables of the tiles.
// Nehab, Maximo, Lima, Hoppe: GPU-Efficient Recursive Filtering and Summed-Area Tables, 2011; as told by Emoto et al.
// 2018, section III.A, whose symbols are used here.
//
// The image is cut into tiles T(I, J) of W x W that fit shared memory. A first launch reads every tile and leaves its
// row sums LRS, column sums LCS and sum LS; a second one turns these into global sums by prefix sums over the tiles; a
// third one reads every tile again, adds the sums of everything to the left and above to its first column and row, and
// finishes it in shared memory.
//
//     image --+--> [LRS LCS LS]  --->  [GRS GCS GS]  --+
//             |    kernel 1            kernel 2        v
//             +-------------------------------------> [T(I, J) + carries] ---> table
//                                                      kernel 3
//
// Cost: 2 reads + O(1/W), 1 write + O(1/W) per element; 3 launches; rows x cols / m threads; workspace
// (2/W + 1/W^2) elements per element; blocks exchange nothing but between launches.
// Limits: W x W elements of the table's type in shared memory.
// Differs from the paper: the printed text lets kernel 1 write GS; it writes LS, which kernel 2 needs. GS is computed
// by 2R2W in one block, the second of the two ways that the paper names.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/parameters.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/line_scan.cuh"
#include "cuda/device/tile_sums.cuh"
#include "cuda/device/warp_scan.cuh"
#endif

#include <algorithm>

namespace boxsum {
namespace {

// Policy

constexpr std::string_view threads_values[] = {"256", "512", "1024"};
constexpr parameter parameters[] = {tile_width_parameter,
                                    {"threads", "a tile: W x W / m with the paper's m", threads_values}};
constexpr int sums_threads = 256;  // kernel 2

int width_of(const parameter_values& values) {
    return number_of(parameters, values, 0);
}
int threads_of(const parameter_values& values) {
    return number_of(parameters, values, 1);
}

#ifdef __CUDACC__

using namespace cuda;

// Shared memory

template <typename Sum, int W>
struct tile_shared {
    sat_tile<Sum, W> tile;  // a, then its sums or its table
    Sum lcs[W];             // column sums, to be added up
};

// Kernels

/// Kernel 1. A block owns tile T(I, J), tiles row by row along blockIdx.x, of the layer blockIdx.y: reads a, writes
/// LRS(I, J), LCS(I, J) and LS(I, J): the shared memory column-wise/row-wise sum algorithm.
template <int W, typename Pixel, typename Sum>
__global__ void sum_tiles_kernel(layers<const Pixel> a, tile_sums<Sum> local) {
    auto& s = *dynamic_shared<tile_shared<Sum, W>>();
    const tile_index t{blockIdx.x / local.tiles.cols, blockIdx.x % local.tiles.cols};
    const tile_box box = box_of<W>(t, a.rows, a.cols);
    const int thread = static_cast<int>(threadIdx.x), k = thread % W;

    // Step 1: tile to shared memory
    load_tile(s.tile, a[blockIdx.y], box);
    __syncthreads();

    // Step 2: rows by W threads, columns by the next W
    if (thread < W) {
        const Sum lrs = sum_cells<W, Sum>([&](int j) { return s.tile.at(k, j); });
        if (k < box.rows) local.row_sum(blockIdx.y, box.row + k, t.col) = lrs;
    } else if (thread < 2 * W) {
        s.lcs[k] = sum_cells<W, Sum>([&](int i) { return s.tile.at(i, k); });
        if (k < box.cols) local.col_sum(blockIdx.y, t.row, box.col + k) = s.lcs[k];
    }
    __syncthreads();

    // LS by a warp
    if (thread < warp_size) {
        Sum ls{};
        for (int j = thread; j < W; j += warp_size) ls += s.lcs[j];
        ls = warp_sum(ls);
        if (thread == 0) local.sum(blockIdx.y, t) = ls;
    }
}

/// Kernel 2, after kernel 1, in place. The first blocks own rows of the image, a thread a row: LRS -> GRS along J. The
/// next own columns: LCS -> GCS along I. The last block owns the matrix of LS and makes it GS by 2R2W.
template <typename Sum>
__global__ void scan_sums_kernel(tile_sums<Sum> sums, unsigned row_blocks, unsigned col_blocks) {
    const diagonal_order tiles = sums.tiles;
    const std::int64_t layer = blockIdx.y;
    const auto step = [](std::int64_t elements) { return elements * static_cast<std::int64_t>(sizeof(Sum)); };
    constexpr int batch = 16;
    if (blockIdx.x < row_blocks) {
        const std::int64_t r = std::int64_t{blockIdx.x} * sums_threads + threadIdx.x;
        if (r < sums.rows)
            scan_line_in_place<batch>(line<Sum>{&sums.row_sum(layer, r, 0), step(sums.rows)}, tiles.cols);
    } else if (blockIdx.x < row_blocks + col_blocks) {
        const std::int64_t c = std::int64_t{blockIdx.x - row_blocks} * sums_threads + threadIdx.x;
        if (c < sums.cols)
            scan_line_in_place<batch>(line<Sum>{&sums.col_sum(layer, 0, c), step(sums.cols)}, tiles.rows);
    } else {
        for (std::int64_t J = threadIdx.x; J < tiles.cols; J += sums_threads)
            scan_line_in_place<batch>(line<Sum>{&sums.sum(layer, {0, J}), step(tiles.cols)}, tiles.rows);
        __syncthreads();
        for (std::int64_t I = threadIdx.x; I < tiles.rows; I += sums_threads)
            scan_line_in_place<batch>(line<Sum>{&sums.sum(layer, {I, 0}), step(1)}, tiles.cols);
    }
}

/// Kernel 3, after kernel 2. A block owns tile T(I, J) as in kernel 1: reads a, GRS(I, J-1), GCS(I-1, J) and
/// GS(I-1, J-1), writes GSAT(I, J).
template <int W, typename Pixel, typename Sum>
__global__ void finish_tiles_kernel(layers<const Pixel> a, tile_sums<Sum> global, layers<Sum> b) {
    auto& s = *dynamic_shared<tile_shared<Sum, W>>();
    const tile_index t{blockIdx.x / global.tiles.cols, blockIdx.x % global.tiles.cols};
    const tile_box box = box_of<W>(t, a.rows, a.cols);

    load_tile(s.tile, a[blockIdx.y], box);
    __syncthreads();
    add_carries(s.tile, global, blockIdx.y, t, box);
    scan_tile(s.tile);
    store_tile(s.tile, b[blockIdx.y], box);
}

// Host

support supported(const problem& p, const parameter_values& values) {
    if (const support s = supports_inclusive(p); !s) return s;
    return visit_tile_width(width_of(values), [&]<int W>() {
        return supports_shared_memory(W * (W + 1) * size_of(p.table.type), "tile width " + std::to_string(W));
    });
}

std::size_t workspace_bytes(const problem& p, const parameter_values& values) {
    workspace_slots slots;
    visit_sum_types(p, [&]<typename, typename Sum>() { tile_sums<Sum>(slots, core_of(p), width_of(values)); });
    return slots.bytes();
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        visit_tile_width(width_of(how.parameters), [&]<int W>() {
            workspace_slots slots(how.workspace);
            const tile_sums<Sum> sums(slots, core_of(p), W);
            const auto layers = static_cast<unsigned>(a.count());
            const launch_shape per_tile{.grid = dim3(static_cast<unsigned>(sums.tiles.count()), layers),
                                        .block = static_cast<unsigned>(threads_of(how.parameters)),
                                        .shared_bytes = sizeof(tile_shared<Sum, W>)};
            const auto row_blocks = static_cast<unsigned>(ceil_div(a.rows, sums_threads));
            const auto col_blocks = static_cast<unsigned>(ceil_div(a.cols, sums_threads));
            launch(sum_tiles_kernel<W, Pixel, Sum>, per_tile, how.stream, a, sums);
            launch(scan_sums_kernel<Sum>, {.grid = dim3(row_blocks + col_blocks + 1, layers), .block = sums_threads},
                   how.stream, sums, row_blocks, col_blocks);
            launch(finish_tiles_kernel<W, Pixel, Sum>, per_tile, how.stream, a, sums, b);
        });
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values& values) {
    const cuda::tile_cost tiles(p, width_of(values));
    // Kernel 1 writes, kernel 2 reads and writes all local sums; kernel 3 reads those of the left and upper neighbours.
    const double sums = tiles.row_sums + tiles.col_sums + 2 * tiles.count;  // 2R2W on LS
    return {2 + (sums + tiles.row_carries + tiles.col_carries + tiles.corners) / tiles.elements,
            1 + (2 * sums - tiles.count) / tiles.elements, 3 + cuda::border_launches(p),
            static_cast<std::int64_t>(tiles.count) * threads_of(values)};
}

}  // namespace

constinit const algorithm_record sat_2r1w_record{
    .info = {.what = operation::sat,
             .name = "2r1w",
             .title = "sums of tiles, their prefix sums, tables of tiles",
             .paper = "Nehab et al. 2011; Emoto et al. 2018, III.A",
             .cost = "2 reads, 1 write per element; 3 launches",
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
