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
// by 2R2W in one block, the second of the two ways that the paper names; all threads scan, W x W / m of them pieces of
// m elements (tile_pieces.cuh), where the paper has a row or column scanned by one; rows are padded to W + 1 elements
// in place of the diagonal arrangement; kernel 3 goes through the tiles from the last to the first, which kernel 1 has
// left in the second-level cache.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/parameters.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/line_scan.cuh"
#include "cuda/device/register_matrix.cuh"
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
constexpr int sums_threads = 256, sums_slots = 4;  // kernel 2; warps that transpose at once

int width_of(const parameter_values& values) {
    return number_of(parameters, values, 0);
}
int threads_of(const parameter_values& values) {
    return number_of(parameters, values, 1);
}

#ifdef __CUDACC__

using namespace cuda;

// Shared memory

template <typename Sum, int W, int Threads>
struct tile_shared {
    tile_in_pieces<Sum, W, Threads> a;
    Sum lcs[W];  // column sums, to be added up
};

// Kernels

/// Tiles are numbered row by row.
__device__ tile_index own_tile(const diagonal_order& tiles, unsigned number) {
    const auto across = static_cast<unsigned>(tiles.cols);
    return {number / across, number % across};
}

/// Kernel 1. A block owns tile T(I, J) of the layer blockIdx.y: reads a, writes LRS(I, J), LCS(I, J) and LS(I, J): the
/// shared memory column-wise/row-wise sum algorithm.
template <int W, int Threads, typename Pixel, typename Sum>
__global__ void __launch_bounds__(Threads, resident_blocks<Sum, W, Threads>(2048))
    sum_tiles_kernel(layers<const Pixel> a, tile_sums<Sum> local) {
    auto& s = *dynamic_shared<tile_shared<Sum, W, Threads>>();
    sum_tile(s.a, s.lcs, a[blockIdx.y], local, blockIdx.y, own_tile(local.tiles, blockIdx.x));
}

/// 2R2W by one block, in place: each warp scans 32 columns at a time downwards, then 32 rows at a time, which are
/// transposed in registers to be columns.
template <typename Sum>
__device__ void scan_in_one_block(const layer<Sum>& x, matrix_slot<Sum> (&slots)[sums_slots]) {
    const layer<const Sum> in{x.data, x.rows, x.cols, x.row_stride, x.col_stride};
    Sum data[matrix_size];
    for (std::int64_t c = matrix_size * warp_id(); c < x.cols; c += matrix_size * (sums_threads / warp_size)) {
        Sum carry{};
        for (std::int64_t r = 0; r < x.rows; r += matrix_size) {
            load_matrix(data, in, r, c);
            data[0] = carry + data[0];
            carry = scan_registers(data);
            store_matrix(data, x, r, c);
        }
    }
    __syncthreads();
    if (warp_id() >= sums_slots) return;
    for (std::int64_t r = matrix_size * warp_id(); r < x.rows; r += matrix_size * sums_slots) {
        Sum carry{};
        for (std::int64_t c = 0; c < x.cols; c += matrix_size) {
            load_matrix(data, in, r, c);
            transpose_matrix(data, slots[warp_id()]);
            data[0] = carry + data[0];
            carry = scan_registers(data);
            transpose_matrix(data, slots[warp_id()]);
            store_matrix(data, x, r, c);
        }
    }
}

/// Kernel 2, after kernel 1, in place. The first blocks own rows of the image, a thread a row: LRS -> GRS along J. The
/// next own columns: LCS -> GCS along I. The last block owns the matrix of LS and makes it GS by 2R2W.
template <typename Sum>
__global__ void __launch_bounds__(sums_threads)
    scan_sums_kernel(tile_sums<Sum> sums, unsigned row_blocks, unsigned col_blocks) {
    __shared__ matrix_slot<Sum> slots[sums_slots];
    const diagonal_order tiles = sums.tiles;
    const std::int64_t layer = blockIdx.y;
    const auto step = [](std::int64_t elements) { return elements * static_cast<std::int64_t>(sizeof(Sum)); };
    constexpr int batch = 128 / static_cast<int>(sizeof(Sum));  // few blocks: loads on their way decide their time
    if (blockIdx.x < row_blocks) {
        const std::int64_t r = std::int64_t{blockIdx.x} * sums_threads + threadIdx.x;
        if (r < sums.rows)
            scan_line_in_place<batch>(line<Sum>{&sums.row_sum(layer, r, 0), step(sums.rows)}, tiles.cols);
    } else if (blockIdx.x < row_blocks + col_blocks) {
        const std::int64_t c = std::int64_t{blockIdx.x - row_blocks} * sums_threads + threadIdx.x;
        if (c < sums.cols)
            scan_line_in_place<batch>(line<Sum>{&sums.col_sum(layer, 0, c), step(sums.cols)}, tiles.rows);
    } else {
        scan_in_one_block(cuda::layer<Sum>{&sums.sum(layer, {0, 0}), tiles.rows, tiles.cols, step(tiles.cols), step(1)},
                          slots);
    }
}

/// Kernel 3, after kernel 2. A block owns tile T(I, J) as in kernel 1, last tiles first, which kernel 1 has left in the
/// second-level cache: reads a, GRS(I, J-1), GCS(I-1, J) and GS(I-1, J-1), writes GSAT(I, J).
template <int W, int Threads, typename Pixel, typename Sum>
__global__ void __launch_bounds__(Threads, resident_blocks<Sum, W, Threads>(2048))
    finish_tiles_kernel(layers<const Pixel> a, tile_sums<Sum> global, layers<Sum> b) {
    auto& s = *dynamic_shared<tile_in_pieces<Sum, W, Threads>>();
    finish_tile<sums_for_neighbours::known>(s, a[blockIdx.y], global, b[blockIdx.y], blockIdx.y,
                                            own_tile(global.tiles, gridDim.x - 1 - blockIdx.x));
}

// Host

support supported(const problem& p, const parameter_values& values) {
    support s = supports_inclusive(p);
    if (!s) return s;
    visit_tile(width_of(values), threads_of(values), [&]<int W, int Threads>() {
        visit_sum_types(p, [&]<typename, typename Sum>() {
            s = supports_shared_memory(sizeof(tile_shared<Sum, W, Threads>), "tile width " + std::to_string(W));
        });
    });
    return s;
}

std::size_t workspace_bytes(const problem& p, const parameter_values& values) {
    workspace_slots slots;
    visit_sum_types(p, [&]<typename, typename Sum>() { tile_sums<Sum>(slots, core_of(p), width_of(values)); });
    return slots.bytes();
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        visit_tile(width_of(how.parameters), threads_of(how.parameters), [&]<int W, int Threads>() {
            workspace_slots slots(how.workspace);
            const tile_sums<Sum> sums(slots, core_of(p), W);
            const auto layers = static_cast<unsigned>(a.count());
            const auto per_tile = [&](std::size_t shared_bytes) {
                return launch_shape{.grid = dim3(static_cast<unsigned>(sums.tiles.count()), layers),
                                    .block = Threads,
                                    .shared_bytes = shared_bytes};
            };
            const auto row_blocks = static_cast<unsigned>(ceil_div(a.rows, sums_threads));
            const auto col_blocks = static_cast<unsigned>(ceil_div(a.cols, sums_threads));
            launch(sum_tiles_kernel<W, Threads, Pixel, Sum>, per_tile(sizeof(tile_shared<Sum, W, Threads>)), how.stream,
                   a, sums);
            launch(scan_sums_kernel<Sum>, {.grid = dim3(row_blocks + col_blocks + 1, layers), .block = sums_threads},
                   how.stream, sums, row_blocks, col_blocks);
            launch(finish_tiles_kernel<W, Threads, Pixel, Sum>, per_tile(sizeof(tile_in_pieces<Sum, W, Threads>)),
                   how.stream, a, sums, b);
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
