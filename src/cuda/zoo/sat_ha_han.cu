// Ha-Han: sub-images of b x b, reduced, their sums scanned, then scanned themselves.
// Ha, Choi, Jun, Kim, Byun, Han: Bandwidth Efficient Summed Area Table Generation for CUDA, 2012, section 4.
//
// Four launches. Reduce: a block adds up the rows and the columns of its sub-image. Scan: one block per layer scans the
// row sums along the rows of sub-images and the column sums along their columns. Pivots: the sum of everything above
// and to the left of a sub-image, added to the first of its column sums, from where the last launch carries it on. Scan
// and add: a block reads its sub-image again, adds the row sums at its left edge and the column sums at its top, and
// scans both ways. A block walks its sub-image in patches of 32 x 32, so b is not bound to shared memory.
//
//     pivot | column sums (b)            image -> [reduce] -> row, column sums -> [scan] -> [pivots] --+
//     ------+---------------              |                                                           v
//     row   |  sub-image                  +------------------------------------------------> [scan and add] -> table
//     sums  |  patch patch ..
//
// Cost: 3wh + 8wh/b accesses, 2 reads + 4/b, 1 write + 4/b per element; 4 launches; w h / (b b) blocks; workspace
// 2/b + 1/(b b) elements per element; blocks exchange nothing but between launches.
// Limits: b a multiple of 32.
// Differs from the paper: 4 neighbours a thread, so that 8 threads scan a row and a warp reads 4 rows of 128 bytes at
// once; the origin is upper left, not lower left; a sub-image's sum, which pivots are made of, is
// written by the first launch beside its column sums; warp shuffles instead of padded rows that useless threads spill
// to (the padding against bank conflicts of columns, 33 a row, is there).

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/parameters.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/line_scan.cuh"
#include "cuda/device/neighbours.cuh"
#include "cuda/device/patches.cuh"
#include "cuda/device/tile_sums.cuh"
#include "cuda/device/warp_scan.cuh"
#endif

#include <algorithm>

namespace boxsum {
namespace {

// Policy

constexpr std::string_view b_values[] = {"256", "32", "64", "128", "512"};
constexpr parameter parameters[] = {{"b", "width and height of a sub-image", b_values}};
constexpr int max_b = 512;
constexpr int threads = 256;         // of a block that has a patch
constexpr int patches_together = 4;  // loaded by the first launch
constexpr int sums_threads = 1024;   // the one block of the second launch

int b_of(const parameter_values& values) {
    return number_of(parameters, values, 0);
}

#ifdef __CUDACC__

using namespace cuda;

static_assert(threads == patch_threads);

/// Sub-images are numbered row by row.
__device__ tile_index own_sub_image(const diagonal_order& tiles, unsigned number) {
    const auto across = static_cast<unsigned>(tiles.cols);
    return {number / across, number % across};
}

// Kernels

/// Reduce. A block owns sub-image (I, J) of the layer blockIdx.y: writes the sums of its rows, of its columns, and of
/// all.
template <typename Pixel, typename Sum>
__global__ void __launch_bounds__(threads, 4) reduce_kernel(layers<const Pixel> in, tile_sums<Sum> sums, int b) {
    __shared__ Sum row_parts[max_b][patch_line_threads];    // of columns that are the same modulo 32
    __shared__ Sum column_parts[threads / 32][patch_side];  // of the rows of a warp
    __shared__ Sum warp_sums[threads / 32];
    const layer<const Pixel> image = in[blockIdx.y];
    const tile_index t = own_sub_image(sums.tiles, blockIdx.x);
    const std::int64_t row = t.row * b, col = t.col * b;
    const int rows = static_cast<int>(min(in.rows - row, std::int64_t{b}));
    const int cols = static_cast<int>(min(in.cols - col, std::int64_t{b}));
    const patch_share own;
    const int part = own.first / patch_items;
    for (int q = 0; q < cols; q += patch_side) {
        Sum column[patch_items]{};
        for (int p = 0; p < rows; p += patches_together * patch_side) {
            Sum x[patches_together][patch_items];
            load_patches(x, image, row + p + own.line, col + q + own.first, rows - p - own.line);
#pragma unroll
            for (int u = 0; u < patches_together; ++u) {
                Sum sum{};
#pragma unroll
                for (int i = 0; i < patch_items; ++i) {
                    sum += x[u][i];
                    column[i] += x[u][i];
                }
                if (p + u * patch_side >= rows) break;
                Sum& parts = row_parts[p + u * patch_side + own.line][part];  // of this thread only
                parts = q == 0 ? sum : parts + sum;
            }
        }
#pragma unroll
        for (int i = 0; i < patch_items; ++i) {
#pragma unroll
            for (int lanes = patch_line_threads; lanes < warp_size; lanes *= 2)
                column[i] += __shfl_xor_sync(whole_warp, column[i], lanes);
            if (lane_id() < patch_line_threads) column_parts[warp_id()][own.first + i] = column[i];
        }
        __syncthreads();
        if (warp_id() == 0 && q + lane_id() < cols) {
            Sum sum{};
            for (int w = 0; w < threads / 32; ++w) sum += column_parts[w][lane_id()];
            sums.col_sum(blockIdx.y, t.row, col + q + lane_id()) = sum;
        }
        __syncthreads();
    }
    Sum all{};
    for (int r = static_cast<int>(threadIdx.x); r < rows; r += threads) {
        Sum sum{};
        for (int k = 0; k < patch_line_threads; ++k) sum += row_parts[r][k];
        sums.row_sum(blockIdx.y, row + r, t.col) = sum;
        all += sum;
    }
    all = warp_sum(all);
    if (lane_id() == 0) warp_sums[warp_id()] = all;
    __syncthreads();
    if (threadIdx.x == 0) {
        all = Sum{};
        for (int w = 0; w < threads / 32; ++w) all += warp_sums[w];
        sums.sum(blockIdx.y, t) = all;
    }
}

/// Scan. One block, of the layer blockIdx.y: exclusive prefix sums, in place, of the row sums along J and of the column
/// sums along I.
template <typename Sum>
__global__ void __launch_bounds__(sums_threads) scan_sums_kernel(tile_sums<Sum> sums) {
    const auto step = [](std::int64_t elements) { return elements * static_cast<std::int64_t>(sizeof(Sum)); };
    constexpr int batch = 64 / static_cast<int>(sizeof(Sum));
    for (std::int64_t r = threadIdx.x; r < sums.rows; r += sums_threads)
        scan_line_exclusive<batch>(line<Sum>{&sums.row_sum(blockIdx.y, r, 0), step(sums.rows)}, sums.tiles.cols);
    for (std::int64_t c = threadIdx.x; c < sums.cols; c += sums_threads)
        scan_line_exclusive<batch>(line<Sum>{&sums.col_sum(blockIdx.y, 0, c), step(sums.cols)}, sums.tiles.rows);
}

/// Pivots, after the scan. One block, of the layer blockIdx.y: exclusive prefix sums of the sums of sub-images, down
/// and then along; each pivot is added to the first column sum of its sub-image.
template <typename Sum>
__global__ void __launch_bounds__(threads) add_pivots_kernel(tile_sums<Sum> sums, int b) {
    const diagonal_order tiles = sums.tiles;
    const auto step = [](std::int64_t elements) { return elements * static_cast<std::int64_t>(sizeof(Sum)); };
    for (std::int64_t J = threadIdx.x; J < tiles.cols; J += threads)
        scan_line_exclusive<16>(line<Sum>{&sums.sum(blockIdx.y, {0, J}), step(tiles.cols)}, tiles.rows);
    __syncthreads();
    for (std::int64_t I = threadIdx.x; I < tiles.rows; I += threads)
        scan_line_exclusive<16>(line<Sum>{&sums.sum(blockIdx.y, {I, 0}), step(1)}, tiles.cols);
    __syncthreads();
    for (std::int64_t k = threadIdx.x; k < tiles.count(); k += threads) {
        const tile_index t{k / tiles.cols, k % tiles.cols};
        sums.col_sum(blockIdx.y, t.row, t.col * b) += sums.sum(blockIdx.y, t);
    }
}

/// Scan and add, after the pivots. A block owns a sub-image as in reduce_kernel, last ones first, which that has left
/// in the second-level cache: reads it and what the scans left for it, writes the table.
template <typename Pixel, typename Sum>
__global__ void __launch_bounds__(threads, 8)
    scan_and_add_kernel(layers<const Pixel> in, tile_sums<Sum> sums, layers<Sum> out, int b) {
    __shared__ Sum cells[2][patch_side][patch_side + 1];  // patches take turns; 33: columns without bank conflicts
    __shared__ Sum above[max_b];                          // last row of the table so far
    const layer<const Pixel> image = in[blockIdx.y];
    const layer<Sum> table = out[blockIdx.y];
    const tile_index t = own_sub_image(sums.tiles, gridDim.x - 1 - blockIdx.x);
    const std::int64_t row = t.row * b, col = t.col * b;
    const int rows = static_cast<int>(min(in.rows - row, std::int64_t{b}));
    const int cols = static_cast<int>(min(in.cols - col, std::int64_t{b}));
    const patch_share own;
    Sum next[patch_items];
    load_patch(next, image, row + own.line, col + own.first);
    int turn = 0;
    for (int p = 0; p < rows; p += patch_side) {
        const int r = p + own.line;
        Sum left = r < rows ? sums.row_sum(blockIdx.y, row + r, t.col) : Sum{};  // of row r: everything to the left
        for (int q = 0; q < cols; q += patch_side, turn ^= 1) {
            // This patch, the next one on its way
            Sum x[patch_items];
#pragma unroll
            for (int i = 0; i < patch_items; ++i) x[i] = next[i];
            const bool ends_row = q + patch_side >= cols;
            if (!ends_row || p + patch_side < rows)
                load_patch(next, image, row + (ends_row ? r + patch_side : r),
                           col + (ends_row ? 0 : q + patch_side) + own.first);

            // Column sums, with the pivot in the first, on top of the sub-image
            if (r == 0)
#pragma unroll
                for (int i = 0; i < patch_items; ++i)
                    if (q + own.first + i < cols) x[i] += sums.col_sum(blockIdx.y, t.row, col + q + own.first + i);

            // Rows
            scan_patch_lines(x);
#pragma unroll
            for (int i = 0; i < patch_items; ++i) cells[turn][own.line][own.first + i] = x[i] = left + x[i];
            left = __shfl_sync(whole_warp, x[patch_items - 1], patch_line_threads - 1, patch_line_threads);
            __syncthreads();

            // Columns, below the row above
#pragma unroll
            for (int i = 0; i < patch_items; ++i) x[i] = cells[turn][own.first + i][own.line];
            scan_patch_lines(x);
            const Sum top = p > 0 ? above[q + own.line] : Sum{};
            __syncwarp();
#pragma unroll
            for (int i = 0; i < patch_items; ++i) cells[turn][own.first + i][own.line] = x[i] = top + x[i];
            if (own.first + patch_items == patch_side) above[q + own.line] = x[patch_items - 1];
            __syncthreads();

            // To the table. The other cells are written next, so no barrier is needed here.
#pragma unroll
            for (int i = 0; i < patch_items; ++i) x[i] = cells[turn][own.line][own.first + i];
            if (r < rows && q + own.first < cols)
                store_neighbours(line<Sum>{&table.at(row + r, col + q + own.first), table.col_stride}, x,
                                 cols - q - own.first);
        }
    }
}

// Host

support supported(const problem& p, const parameter_values&) {
    return supports_inclusive(p);
}

std::size_t workspace_bytes(const problem& p, const parameter_values& values) {
    workspace_slots slots;
    visit_sum_types(p, [&]<typename, typename Sum>() { tile_sums<Sum>(slots, core_of(p), b_of(values)); });
    return slots.bytes();
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        const int size = b_of(how.parameters);
        workspace_slots slots(how.workspace);
        const tile_sums<Sum> sums(slots, core_of(p), size);
        const auto layers = static_cast<unsigned>(a.count());
        const launch_shape per_sub_image{.grid = dim3(static_cast<unsigned>(sums.tiles.count()), layers),
                                         .block = threads};
        launch(reduce_kernel<Pixel, Sum>, per_sub_image, how.stream, a, sums, size);
        launch(scan_sums_kernel<Sum>, {.grid = dim3(1, layers), .block = sums_threads}, how.stream, sums);
        launch(add_pivots_kernel<Sum>, {.grid = dim3(1, layers), .block = threads}, how.stream, sums, size);
        launch(scan_and_add_kernel<Pixel, Sum>, per_sub_image, how.stream, a, sums, b, size);
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values& values) {
    const cuda::tile_cost blocks(p, b_of(values));
    // Reduce writes all sums; scan reads and writes those of rows and columns; pivots read and write a sum thrice and
    // twice, and the first column sum once each; scan and add reads rows and columns.
    const double sums = blocks.row_sums + blocks.col_sums;
    return {2 + (2 * sums + 4 * blocks.count) / blocks.elements, 1 + (2 * sums + 4 * blocks.count) / blocks.elements,
            4 + cuda::border_launches(p), static_cast<std::int64_t>(blocks.count) * threads};
}

}  // namespace

constinit const algorithm_record sat_ha_han_record{
    .info = {.what = operation::sat,
             .name = "ha-han",
             .title = "sums of sub-images, scanned by one block, then their tables",
             .paper = "Ha et al. 2012, 4",
             .cost = "2 reads, 1 write per element; 4 launches",
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
