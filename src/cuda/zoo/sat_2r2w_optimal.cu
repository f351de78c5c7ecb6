// 2R2W-optimal: single-pass prefix sums of all columns, then of all rows, each with decoupled look-back.
// Merrill, Garland: Single-Pass Parallel Prefix Scan with Decoupled Look-Back, 2016; Tokura, Fujita, Nakano, Ito,
// Bordim: Almost Optimal Column-wise Prefix-sum Computation on the GPU, 2018; put together by Emoto et al. 2018, I.B.
//
// 2R2W with as many threads as elements allow and no strided access. Rows are cut into segments, columns into tiles. A
// block, or for rows a warp, holds its piece in registers, publishes the sums of the piece, finds by look-back what
// comes before, publishes the sums up to its end, and writes. Nothing is read twice within a direction.
//
//     columns: tiles, T(I, J) looks back at T(I-1, J), ..   rows: segments, S(r, k) looks back at S(r, k-1), ..
//     T T T                                                 SSSS SSSS SSSS
//     T T T                                                 SSSS SSSS SSSS
//
// Cost: 2 reads, 2 writes per element + O(1/64); 2 launches and a memset; rows cols / 32 threads; workspace 2/64 +
// 2/1024 elements per element; a block waits in one direction. Limits: none of its own. Differs from the papers:
// statuses lie beside the sums, in the same words, and looked-back sums are added forwards (see lookback.cuh); one
// thread looks at 4 predecessors of a row's segment together, where Merrill and Garland have a warp look at 32; pieces
// have their sizes from this GPU.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/lookback.cuh"
#include "cuda/device/neighbours.cuh"
#include "cuda/device/register_matrix.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/device/workspace_slots.hpp"
#endif

#include <algorithm>

namespace boxsum {
namespace {

// Policy

constexpr int threads = 256, warps = threads / 32;

// Columns: each warp has 32 x 32 elements in registers, 4 warps side by side, 2 above each other.
constexpr int warps_across = 4, warps_down = warps / warps_across;
constexpr int tile_cols = 32 * warps_across, tile_rows = 32 * warps_down;

// Rows: each warp has a segment of its own row, 8 times 4 neighbours a lane.
constexpr int lane_items = 4, lane_vectors = 8;
constexpr int vector_items = 32 * lane_items, segment_items = lane_vectors * vector_items;

#ifdef __CUDACC__

using namespace cuda;

enum status : unsigned { aggregate_published = 1, inclusive_published };

/// Blocks of 4-byte or 8-byte sums that shall run on a multiprocessor at once: a thread has 32 sums in registers.
template <typename Sum>
constexpr int resident_blocks = sizeof(Sum) == 8 ? 2 : 4;

template <typename Sum>
struct scratch {
    unsigned *next_tile, *next_segment;  // tickets
    status_words<Sum>* tile_sums;        // [layer][I][column]
    status_words<Sum>* segment_sums;     // [segment][layer][row]
    std::size_t cleared_bytes;

    scratch(workspace_slots& slots, const inclusive_core& core)
        : next_tile(slots.take<unsigned>(1)),
          next_segment(slots.take<unsigned>(1)),
          tile_sums(slots.take<status_words<Sum>>(core.layers * ceil_div(core.rows, tile_rows) * core.cols)),
          segment_sums(slots.take<status_words<Sum>>(core.layers * core.rows * ceil_div(core.cols, segment_items))),
          cleared_bytes(slots.bytes()) {}
};

// Kernels

/// A block owns tile_rows x tile_cols elements, by ticket, upper tiles first; a lane owns 32 elements of one column.
/// Reads a; writes the column-wise prefix sums to b, and the column sums of the tile, its own and inclusive, to g.
template <typename Pixel, typename Sum>
__global__ void __launch_bounds__(threads, resident_blocks<Sum>)
    scan_columns_kernel(layers<const Pixel> a, layers<Sum> b, scratch<Sum> g, unsigned tiles_across,
                        unsigned tiles_down) {
    __shared__ Sum warp_sums[warps_down][tile_cols];
    __shared__ Sum above[tile_cols];
    const unsigned ticket = take_ticket(g.next_tile);
    const unsigned J = ticket % tiles_across, upto = ticket / tiles_across, I = upto % tiles_down;
    const std::int64_t layer = upto / tiles_down;
    const int down = warp_id() / warps_across, j = warp_id() % warps_across * 32 + lane_id();
    const std::int64_t c = std::int64_t{J} * tile_cols + j, r = std::int64_t{I} * tile_rows + down * 32;

    // Prefix sums of the lane's piece, in registers
    Sum sum[matrix_size];
    load_matrix(sum, a[layer], r, c - lane_id());
    warp_sums[down][j] = scan_registers(sum);
    __syncthreads();

    // Publish the tile's own column sums, look back up the columns, publish what is below
    if (down == 0) {
        Sum before{};
        if (c < a.cols) {
            const auto tile_sum = [&](std::int64_t back) {
                return g.tile_sums + (layer * tiles_down + I - back) * a.cols + c;
            };
            Sum own{};
            for (int w = 0; w < warps_down; ++w) own += warp_sums[w][j];
            publish(tile_sum(0), aggregate_published, own);
            before = sum_before<Sum>(I, aggregate_published, inclusive_published, tile_sum);
            publish(tile_sum(0), inclusive_published, Sum(before + own));
        }
        above[j] = before;
    }
    __syncthreads();

    // Add and write
    Sum carry = above[j];
    for (int w = 0; w < down; ++w) carry += warp_sums[w][j];
#pragma unroll
    for (int i = 0; i < matrix_size; ++i) sum[i] = carry + sum[i];
    store_matrix(sum, b[layer], r, c - lane_id());
}

/// A warp owns segment_items elements of one row, a block neighbouring rows, by ticket, left segments of all rows
/// first. After scan_columns_kernel: makes its prefix sums in b the table.
template <typename Sum>
__global__ void __launch_bounds__(threads, resident_blocks<Sum>)
    scan_rows_kernel(layers<Sum> b, scratch<Sum> g, unsigned blocks_down) {
    const unsigned ticket = take_ticket(g.next_segment);
    const unsigned segment = ticket / blocks_down;
    const std::int64_t row = std::int64_t{ticket % blocks_down} * warps + warp_id(), all_rows = b.rows * b.count();
    if (row >= all_rows) return;  // whole warps; no barrier follows
    const std::int64_t layer = b.count() == 1 ? 0 : row / b.rows;
    const line<Sum> x = b[layer].row(row - layer * b.rows);
    const std::int64_t first = std::int64_t{segment} * segment_items + lane_id() * lane_items;
    const auto part = [&](int v) { return line<Sum>{&x[first + v * vector_items], x.step_bytes}; };
    const auto left_of = [&](int v) { return b.cols - first - v * vector_items; };

    // Prefix sums of the segment, in registers
    Sum sum[lane_vectors][lane_items];
#pragma unroll
    for (int v = 0; v < lane_vectors; ++v)
        load_neighbours(sum[v], line<const Sum>{part(v).first, x.step_bytes}, left_of(v));
#pragma unroll
    for (int v = 0; v < lane_vectors; ++v) warp_scan_row(sum[v]);
    Sum own{};
#pragma unroll
    for (int v = 0; v < lane_vectors; ++v) {
        const Sum before = own;
        own = before + last_lane(sum[v][lane_items - 1]);
#pragma unroll
        for (int i = 0; i < lane_items; ++i) sum[v][i] = before + sum[v][i];
    }

    // Publish the segment's sum, look back along the row, publish the sum up to here
    Sum before{};
    if (lane_id() == 0) {
        const auto segment_sum = [&](std::int64_t back) { return g.segment_sums + (segment - back) * all_rows + row; };
        publish(segment_sum(0), aggregate_published, own);
        before = sum_before<Sum>(segment, aggregate_published, inclusive_published, segment_sum);
        publish(segment_sum(0), inclusive_published, Sum(before + own));
    }
    before = __shfl_sync(whole_warp, before, 0);

    // Add and write
#pragma unroll
    for (int v = 0; v < lane_vectors; ++v) {
#pragma unroll
        for (int i = 0; i < lane_items; ++i) sum[v][i] = before + sum[v][i];
        store_neighbours(part(v), sum[v], left_of(v));
    }
}

// Host

support supported(const problem& p, const parameter_values&) {
    return supports_inclusive(p);
}

std::size_t workspace_bytes(const problem& p, const parameter_values&) {
    workspace_slots slots;
    visit_sum_types(p, [&]<typename, typename Sum>() { scratch<Sum>(slots, core_of(p)); });
    return slots.bytes();
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        workspace_slots slots(how.workspace);
        const scratch<Sum> g(slots, core_of(p));
        const std::int64_t across = ceil_div(a.cols, tile_cols), down = ceil_div(a.rows, tile_rows);
        const std::int64_t blocks_down = ceil_div(a.rows * a.count(), warps);
        BOXSUM_CUDA_TRY(cudaMemsetAsync(how.workspace, 0, g.cleared_bytes, how.stream.get()));
        launch(scan_columns_kernel<Pixel, Sum>,
               {.grid = static_cast<unsigned>(across * down * a.count()), .block = threads}, how.stream, a, b, g,
               static_cast<unsigned>(across), static_cast<unsigned>(down));
        launch(scan_rows_kernel<Sum>,
               {.grid = static_cast<unsigned>(ceil_div(a.cols, segment_items) * blocks_down), .block = threads},
               how.stream, b, g, static_cast<unsigned>(blocks_down));
    });
}

#endif  // __CUDACC__

/// A piece that looks back finds the inclusive sums of its neighbour at best: the least count.
algorithm_cost cost(const problem& p, const parameter_values&) {
    const cuda::inclusive_core core = cuda::core_of(p);
    const double elements = std::max(1.0, core.elements());
    const auto layers = static_cast<double>(core.layers);
    const std::int64_t down = cuda::ceil_div(core.rows, tile_rows), across = cuda::ceil_div(core.cols, tile_cols);
    const std::int64_t segments = cuda::ceil_div(core.cols, segment_items);
    const double column_sums = layers * static_cast<double>(down * core.cols);
    const double row_sums = layers * static_cast<double>(segments * core.rows);
    const double column_carries = layers * static_cast<double>((down - 1) * core.cols);
    const double row_carries = layers * static_cast<double>((segments - 1) * core.rows);
    return {2 + (column_carries + row_carries) / elements, 2 + 2 * (column_sums + row_sums) / elements,
            3 + cuda::border_launches(p),
            threads * std::max(core.layers * across * down, segments * cuda::ceil_div(core.layers * core.rows, warps))};
}

}  // namespace

constinit const algorithm_record sat_2r2w_optimal_record{
    .info = {.what = operation::sat,
             .name = "2r2w-optimal",
             .title = "prefix sums of columns, then of rows, with look-back",
             .paper = "Merrill and Garland 2016; Tokura et al. 2018; Emoto et al. 2018, I.B",
             .cost = "2 reads, 2 writes per element; 2 launches, 1 memset",
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
