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
// Differs from the paper: the origin is upper left, not lower left; a sub-image's sum, which pivots are made of, is
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
#include "cuda/device/tile_sums.cuh"
#include "cuda/device/warp_scan.cuh"
#endif

#include <algorithm>

namespace boxsum {
namespace {

// Policy

constexpr std::string_view b_values[] = {"256", "32", "64", "128", "512"};
constexpr parameter parameters[] = {{"b", "width and height of a sub-image", b_values}};
constexpr int max_b = 512, patch = 32;
constexpr int threads = 256, warps = threads / 32, warp_rows = patch / warps;  // 4 elements of a patch a thread
constexpr int sums_threads = 1024;                                             // the one block of the second launch

int b_of(const parameter_values& values) {
    return number_of(parameters, values, 0);
}

#ifdef __CUDACC__

using namespace cuda;

/// Elements (warp + warps k, lane) of a patch, k = 0 to 3; zeros outside the image.
template <typename Sum, typename Pixel>
__device__ void load_patch(Sum (&x)[warp_rows], const layer<const Pixel>& in, std::int64_t row, std::int64_t col) {
    const std::int64_t c = col + lane_id();
    Pixel loaded[warp_rows];
#pragma unroll
    for (int k = 0; k < warp_rows; ++k)
        if (c < in.cols && row + warp_id() + warps * k < in.rows) loaded[k] = in.at(row + warp_id() + warps * k, c);
#pragma unroll
    for (int k = 0; k < warp_rows; ++k)
        x[k] = c < in.cols && row + warp_id() + warps * k < in.rows ? widen<Sum>(loaded[k]) : Sum{};
}

// Kernels

/// Reduce. A block owns sub-image (I, J), row by row along blockIdx.x, of the layer blockIdx.y: writes the sums of its
/// rows, of its columns, and of all.
template <typename Pixel, typename Sum>
__global__ void __launch_bounds__(threads) reduce_kernel(layers<const Pixel> in, tile_sums<Sum> sums, int b) {
    __shared__ Sum row_sums[max_b];
    __shared__ Sum column_parts[warps][patch];
    const layer<const Pixel> image = in[blockIdx.y];
    const tile_index t{blockIdx.x / sums.tiles.cols, blockIdx.x % sums.tiles.cols};
    const std::int64_t row = t.row * b, col = t.col * b;
    const int rows = static_cast<int>(min(in.rows - row, std::int64_t{b}));
    const int cols = static_cast<int>(min(in.cols - col, std::int64_t{b}));
    for (int r = lane_id(); r < b / warps; r += warp_size)
        row_sums[(r / warp_rows) * patch + warp_id() + warps * (r % warp_rows)] = Sum{};
    __syncwarp();
    Sum all{};  // of warp 0: columns lane, lane + 32, ...
    for (int q = 0; q < cols; q += patch) {
        Sum column{};
#pragma unroll 4
        for (int p = 0; p < rows; p += patch) {
            Sum x[warp_rows];
            load_patch(x, image, row + p, col + q);
#pragma unroll
            for (int k = 0; k < warp_rows; ++k) {
                column += x[k];
                const Sum sum = warp_sum(x[k]);
                if (lane_id() == 0) row_sums[p + warp_id() + warps * k] += sum;  // rows of this warp only
            }
        }
        column_parts[warp_id()][lane_id()] = column;
        __syncthreads();
        if (warp_id() == 0) {
            Sum sum{};
            for (int w = 0; w < warps; ++w) sum += column_parts[w][lane_id()];
            all += sum;
            if (q + lane_id() < cols) sums.col_sum(blockIdx.y, t.row, col + q + lane_id()) = sum;
        }
        __syncthreads();
    }
    for (int r = static_cast<int>(threadIdx.x); r < rows; r += threads)
        sums.row_sum(blockIdx.y, row + r, t.col) = row_sums[r];
    if (warp_id() == 0) {
        all = warp_sum(all);
        if (lane_id() == 0) sums.sum(blockIdx.y, t) = all;
    }
}

/// Scan. One block, of the layer blockIdx.y: exclusive prefix sums, in place, of the row sums along J and of the column
/// sums along I.
template <typename Sum>
__global__ void __launch_bounds__(sums_threads) scan_sums_kernel(tile_sums<Sum> sums) {
    const auto step = [](std::int64_t elements) { return elements * static_cast<std::int64_t>(sizeof(Sum)); };
    for (std::int64_t r = threadIdx.x; r < sums.rows; r += sums_threads)
        scan_line_exclusive<16>(line<Sum>{&sums.row_sum(blockIdx.y, r, 0), step(sums.rows)}, sums.tiles.cols);
    for (std::int64_t c = threadIdx.x; c < sums.cols; c += sums_threads)
        scan_line_exclusive<16>(line<Sum>{&sums.col_sum(blockIdx.y, 0, c), step(sums.cols)}, sums.tiles.rows);
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

/// Scan and add, after the pivots. A block owns a sub-image as in reduce_kernel: reads it and what the scans left for
/// it, writes the table.
template <typename Pixel, typename Sum>
__global__ void __launch_bounds__(threads)
    scan_and_add_kernel(layers<const Pixel> in, tile_sums<Sum> sums, layers<Sum> out, int b) {
    __shared__ Sum cells[2][patch][patch + 1];  // 33 = 32 + 1: columns without bank conflicts; patches take turns
    __shared__ Sum above[max_b];                // last row of the table so far
    const layer<const Pixel> image = in[blockIdx.y];
    const layer<Sum> table = out[blockIdx.y];
    const tile_index t{blockIdx.x / sums.tiles.cols, blockIdx.x % sums.tiles.cols};
    const std::int64_t row = t.row * b, col = t.col * b;
    const int rows = static_cast<int>(min(in.rows - row, std::int64_t{b}));
    const int cols = static_cast<int>(min(in.cols - col, std::int64_t{b}));
    Sum next[warp_rows];
    load_patch(next, image, row, col);
    int turn = 0;
    for (int p = 0; p < rows; p += patch) {
        Sum left[warp_rows];  // of row p + warp + warps k: everything to the left
#pragma unroll
        for (int k = 0; k < warp_rows; ++k) {
            const int r = p + warp_id() + warps * k;
            left[k] = r < rows ? sums.row_sum(blockIdx.y, row + r, t.col) : Sum{};
        }
        for (int q = 0; q < cols; q += patch, turn ^= 1) {
            // This patch, the next one on its way
            Sum x[warp_rows];
#pragma unroll
            for (int k = 0; k < warp_rows; ++k) x[k] = next[k];
            const bool ends_row = q + patch >= cols;
            if (!ends_row || p + patch < rows)
                load_patch(next, image, row + (ends_row ? p + patch : p), ends_row ? col : col + q + patch);

            // Column sums, with the pivot in the first, on top of the sub-image
            if (p == 0 && warp_id() == 0 && q + lane_id() < cols)
                x[0] += sums.col_sum(blockIdx.y, t.row, col + q + lane_id());

                // Rows
#pragma unroll
            for (int k = 0; k < warp_rows; ++k) {
                x[k] = left[k] + warp_scan(x[k]);
                left[k] = last_lane(x[k]);
                cells[turn][warp_id() + warps * k][lane_id()] = x[k];
            }
            __syncthreads();

            // Columns, a warp each, below the row above
#pragma unroll
            for (int k = 0; k < warp_rows; ++k) {
                const int c = warp_id() + warps * k;
                const Sum top = p > 0 ? above[q + c] : Sum{};
                __syncwarp();
                const Sum sum = top + warp_scan(cells[turn][lane_id()][c]);
                cells[turn][lane_id()][c] = sum;
                if (lane_id() == warp_size - 1) above[q + c] = sum;
            }
            __syncthreads();

            // To the table. The other cells are written next, so no barrier is needed here.
#pragma unroll
            for (int k = 0; k < warp_rows; ++k) {
                const int r = p + warp_id() + warps * k;
                if (r < rows && q + lane_id() < cols)
                    __stcs(&table.at(row + r, col + q + lane_id()), cells[turn][warp_id() + warps * k][lane_id()]);
            }
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
