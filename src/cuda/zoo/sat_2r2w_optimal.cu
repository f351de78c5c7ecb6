// 2R2W-optimal: single-pass prefix sums of all columns, then of all rows, each with decoupled look-back.
// Merrill, Garland: Single-Pass Parallel Prefix Scan with Decoupled Look-Back, 2016; Tokura, Fujita, Nakano, Ito,
// Bordim: Almost Optimal Column-wise Prefix-sum Computation on the GPU, 2018; put together by Emoto et al. 2018, I.B.
//
// 2R2W with as many threads as elements allow and no strided access. Rows are cut into segments, columns into tiles. A
// block holds its piece in registers, publishes the sums of the piece, finds by look-back what comes before, publishes
// the sums up to its end, and writes. Nothing is read twice within a direction.
//
//     columns: tiles, T(I, J) looks back at T(I-1, J), ..   rows: segments, S(r, k) looks back at S(r, k-1), ..
//     T T T                                                 SSSS SSSS SSSS
//     T T T                                                 SSSS SSSS SSSS
//
// Cost: 2 reads, 2 writes per element + O(1/64); 2 launches and a memset; rows cols / 16 threads; workspace 2 elements
// per 64 and 3 words per piece; a block waits in one direction.
// Limits: none of its own.
// Differs from the papers: looked-back sums are added forwards (see lookback.cuh); pieces have their sizes from this
// GPU.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/lookback.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/device/workspace_slots.hpp"
#endif

#include <algorithm>

namespace boxsum {
namespace {

// Policy

constexpr int threads = 256, warps = threads / 32;

// Columns: 128 threads side by side, 2 above each other, 32 rows in the registers of each.
constexpr int tile_cols = 128, tile_groups = threads / tile_cols, group_rows = 32, tile_rows = tile_groups * group_rows;

// Rows: each warp has 8 x 32 neighbours.
constexpr int lane_items = 8, warp_items = lane_items * 32, segment_items = warps * warp_items;

#ifdef __CUDACC__

using namespace cuda;

enum status : unsigned { aggregate_published = 1, inclusive_published };

template <typename Sum>
struct scratch {
    unsigned *next_tile, *next_segment;  // tickets
    unsigned* tile_status;               // [layer][I][J]
    unsigned* segment_status;            // [segment][layer][row]
    std::size_t cleared_bytes;
    Sum *tile_aggregates, *tile_inclusives;        // [layer][I][column]
    Sum *segment_aggregates, *segment_inclusives;  // as their status

    scratch(workspace_slots& slots, const inclusive_core& core) {
        const std::int64_t tiles = core.layers * ceil_div(core.rows, tile_rows);
        const std::int64_t segments = core.layers * core.rows * ceil_div(core.cols, segment_items);
        next_tile = slots.take<unsigned>(1);
        next_segment = slots.take<unsigned>(1);
        tile_status = slots.take<unsigned>(tiles * ceil_div(core.cols, tile_cols));
        segment_status = slots.take<unsigned>(segments);
        cleared_bytes = slots.bytes();
        tile_aggregates = slots.take<Sum>(tiles * core.cols);
        tile_inclusives = slots.take<Sum>(tiles * core.cols);
        segment_aggregates = slots.take<Sum>(segments);
        segment_inclusives = slots.take<Sum>(segments);
    }
};

// Kernels

/// A block owns tile_rows x tile_cols elements, by ticket, upper tiles first; a thread owns group_rows of one column.
/// Reads a; writes the column-wise prefix sums to b, and the column sums of the tile, its own and inclusive, to g.
template <typename Pixel, typename Sum>
__global__ void __launch_bounds__(threads) scan_columns_kernel(layers<const Pixel> a, layers<Sum> b, scratch<Sum> g,
                                                               std::int64_t tiles_across, std::int64_t tiles_down) {
    __shared__ Sum group_sums[tile_groups][tile_cols];
    __shared__ Sum above[tile_cols];
    const std::int64_t ticket = take_ticket(g.next_tile);
    const std::int64_t layer = ticket / (tiles_across * tiles_down), tile = ticket % (tiles_across * tiles_down);
    const std::int64_t I = tile / tiles_across, J = tile % tiles_across;
    const int j = static_cast<int>(threadIdx.x) % tile_cols, group = static_cast<int>(threadIdx.x) / tile_cols;
    const std::int64_t c = J * tile_cols + j, r = I * tile_rows + group * group_rows;
    const bool in_image = c < a.cols;
    const int rows = in_image ? static_cast<int>(min(max(a.rows - r, std::int64_t{0}), std::int64_t{group_rows})) : 0;

    // Prefix sums of the thread's piece, in registers
    Pixel x[group_rows];
    const line<const Pixel> in = a[layer].column(in_image ? c : 0);
#pragma unroll
    for (int i = 0; i < group_rows; ++i)
        if (i < rows) x[i] = in[r + i];
    Sum sum[group_rows];
    Sum total{};
#pragma unroll
    for (int i = 0; i < group_rows; ++i) sum[i] = total += i < rows ? widen<Sum>(x[i]) : Sum{};
    group_sums[group][j] = total;
    __syncthreads();

    // Publish the tile's own column sums
    const auto at = [&](Sum* sums, std::int64_t back) -> Sum& {
        return sums[(layer * tiles_down + I - back) * a.cols + (in_image ? c : 0)];
    };
    Sum own{};
    if (group == 0) {
        for (int k = 0; k < tile_groups; ++k) own += group_sums[k][j];
        if (in_image) at(g.tile_aggregates, 0) = own;
    }
    __syncthreads();
    unsigned* const status = g.tile_status + ticket;
    if (threadIdx.x == 0) store_release(status, aggregate_published);

    // Look back up the columns, publish what is below
    if (group == 0) {
        const std::int64_t d = look_back(I, aggregate_published, inclusive_published,
                                         [&](std::int64_t back) { return status - back * tiles_across; });
        const Sum before = sum_forwards<Sum>(
            d, I, [&](std::int64_t back) -> Sum& { return at(g.tile_inclusives, back); },
            [&](std::int64_t back) -> Sum& { return at(g.tile_aggregates, back); });
        above[j] = before;
        if (in_image) at(g.tile_inclusives, 0) = before + own;
    }
    __syncthreads();
    if (threadIdx.x == 0) store_release(status, inclusive_published);

    // Add and write
    Sum carry = above[j];
    for (int k = 0; k < group; ++k) carry += group_sums[k][j];
    const line<Sum> out = b[layer].column(in_image ? c : 0);
#pragma unroll
    for (int i = 0; i < group_rows; ++i)
        if (i < rows) out[r + i] = carry + sum[i];
}

/// A block owns segment_items elements of one row, by ticket, left segments of all rows first; a warp owns warp_items
/// neighbours, a lane every 32nd of these. After scan_columns_kernel: makes its prefix sums in b the table.
template <typename Sum>
__global__ void __launch_bounds__(threads) scan_rows_kernel(layers<Sum> b, scratch<Sum> g) {
    __shared__ Sum warp_sums[warps];
    __shared__ Sum left;
    const std::int64_t ticket = take_ticket(g.next_segment);
    const std::int64_t all_rows = b.rows * b.count();
    const std::int64_t segment = ticket / all_rows, row = ticket % all_rows;
    const line<Sum> x = b[row / b.rows].row(row % b.rows);
    const std::int64_t first = segment * segment_items + warp_id() * warp_items + lane_id();

    // Prefix sums of the warp's piece, in registers
    Sum sum[lane_items];
#pragma unroll
    for (int i = 0; i < lane_items; ++i) sum[i] = first + i * 32 < b.cols ? x[first + i * 32] : Sum{};
    Sum total{};
#pragma unroll
    for (int i = 0; i < lane_items; ++i) {
        sum[i] = total + warp_scan(sum[i]);
        total = last_lane(sum[i]);
    }
    if (lane_id() == 0) warp_sums[warp_id()] = total;
    __syncthreads();

    // Publish the segment's sum, look back along the row, publish the sum up to here
    if (warp_id() == 0) {
        Sum own{};
        for (int k = 0; k < warps; ++k) own += warp_sums[k];
        if (lane_id() == 0) {
            g.segment_aggregates[ticket] = own;
            store_release(&g.segment_status[ticket], aggregate_published);
        }
        const std::int64_t d = look_back(segment, aggregate_published, inclusive_published, [&](std::int64_t back) {
            return &g.segment_status[ticket - back * all_rows];
        });
        const Sum before = sum_forwards<Sum>(
            d, segment, [&](std::int64_t back) -> Sum& { return g.segment_inclusives[ticket - back * all_rows]; },
            [&](std::int64_t back) -> Sum& { return g.segment_aggregates[ticket - back * all_rows]; });
        if (lane_id() == 0) {
            left = before;
            g.segment_inclusives[ticket] = before + own;
            store_release(&g.segment_status[ticket], inclusive_published);
        }
    }
    __syncthreads();

    // Add and write
    Sum carry = left;
    for (int k = 0; k < warp_id(); ++k) carry += warp_sums[k];
#pragma unroll
    for (int i = 0; i < lane_items; ++i)
        if (first + i * 32 < b.cols) __stcs(&x[first + i * 32], carry + sum[i]);
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
        BOXSUM_CUDA_TRY(cudaMemsetAsync(how.workspace, 0, g.cleared_bytes, how.stream.get()));
        launch(scan_columns_kernel<Pixel, Sum>,
               {.grid = static_cast<unsigned>(across * down * a.count()), .block = threads}, how.stream, a, b, g,
               across, down);
        launch(scan_rows_kernel<Sum>,
               {.grid = static_cast<unsigned>(ceil_div(a.cols, segment_items) * a.rows * a.count()), .block = threads},
               how.stream, b, g);
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
            3 + cuda::border_launches(p), threads * core.layers * std::max(across * down, segments * core.rows)};
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
