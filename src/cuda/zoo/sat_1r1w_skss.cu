// 1R1W-SKSS: a block per column of tiles, in one launch, with soft synchronisation.
// Funasaka, Nakano, Ito: Single Kernel Soft Synchronization Technique for Task Arrays on CUDA-enabled GPUs, with
// Applications, 2017; as told by Emoto et al. 2018, section III.C, whose symbols are used here.
//
// A block takes the next column of tiles from a counter and finishes its tiles from top to bottom, so that the bottom
// row of the table above, GCP(I-1, J), stays with the block. From the block of the column to the left it needs
// GRS(I, J-1) for each tile, and waits until that is written. Blocks start in the order of their columns, so the one
// waited for is running or done.
//
//     block 0   block 1   block 2
//     T(0,0) -> T(0,1) -> T(0,2)     -> GRS(I, J), waited for
//       |         |         |        |  GCP(I, J), kept
//     T(1,0) -> T(1,1) -> T(1,2)
//
// Cost: 1 read + O(1/W), 1 write + O(1/W) per element; 1 launch and a memset; cols W / m threads; workspace 2/W
// elements per element; a block waits once per tile. Limits: W x W elements of the table's type in shared memory.
// Differs from the paper: the flags R[I][J] lie beside the values of GRS, in the same words, so that one trip to memory
// brings both; GRS(I, J-1) is added while the columns are summed, not to the leftmost column before the rows are, so
// that rows need not wait for it; the next tile is loaded into registers while the current one is worked on.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/parameters.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/lookback.cuh"
#include "cuda/device/tile_sat.cuh"
#include "cuda/device/workspace_slots.hpp"
#endif

namespace boxsum {
namespace {

// Policy

constexpr parameter parameters[] = {tile_width_parameter};

int width_of(const parameter_values& values) {
    return number_of(parameters, values, 0);
}

/// The most threads that a tile can use, up to the most that a block can have.
constexpr int threads_for(int w) {
    return w * w < 1024 ? w * w : 1024;
}

#ifdef __CUDACC__

using namespace cuda;

template <typename Sum>
struct scratch {
    unsigned* next_column;    // the counter c
    flagged_words<Sum>* grs;  // [layer][J][row]: GRS(I, J)[i] and R[I][J]
    std::size_t cleared_bytes;

    scratch(workspace_slots& slots, const inclusive_core& core, std::int64_t w)
        : next_column(slots.take<unsigned>(1)),
          grs(slots.take<flagged_words<Sum>>(core.layers * ceil_div(core.cols, w) * core.rows)),
          cleared_bytes(slots.bytes()) {}
};

// Shared memory

template <typename Sum, int W>
struct column_shared {
    sat_tile<Sum, W> tile;  // a, then its row sums, then its table
    Sum grs_left[W];        // GRS(I, J-1)
    Sum lrs[W];             // LRS(I, J)
};

// Kernels

/// Column j of the tile downwards: its row sums, what is left of each row, and GCP(I-1, J)[j] on top. Returns the last,
/// GCP(I, J)[j].
template <typename Sum, int W>
__device__ Sum scan_column_with_carries(column_shared<Sum, W>& s, int j, Sum gcp) {
    for (int i = 0; i < W; i += tile_batch) {
        Sum x[tile_batch];
#pragma unroll
        for (int q = 0; q < tile_batch; ++q) x[q] = s.grs_left[i + q] + s.tile.at(i + q, j);
#pragma unroll
        for (int q = 0; q < tile_batch; ++q) s.tile.at(i + q, j) = gcp += x[q];
    }
    return gcp;
}

/// A block owns the tile column J of a layer, by ticket. For each I downwards it reads a and GRS(I, J-1), and writes
/// GRS(I, J) and GSAT(I, J). Everything of lower tickets is running or done.
template <int W, typename Pixel, typename Sum>
__global__ void __launch_bounds__(threads_for(W))
    finish_columns_kernel(layers<const Pixel> images, layers<Sum> tables, scratch<Sum> global, std::int64_t tile_rows,
                          std::int64_t tile_cols) {
    constexpr int threads = threads_for(W), m = W * W / threads;
    auto& s = *dynamic_shared<column_shared<Sum, W>>();
    const int thread = static_cast<int>(threadIdx.x), k = thread % W, first = thread / W * m;

    // Soft synchronisation: J from the counter
    const std::int64_t ticket = take_ticket(global.next_column);
    const std::int64_t number = ticket / tile_cols, J = ticket % tile_cols;
    const layer<const Pixel> a = images[number];
    const layer<Sum> b = tables[number];

    const auto load = [&](std::int64_t I, Sum(&next)[m]) {
        const tile_box box = box_of<W>({I, J}, a.rows, a.cols);
        Pixel x[m];
#pragma unroll
        for (int q = 0; q < m; ++q)
            if (first + q < box.rows && k < box.cols) x[q] = a.column(box.col + k)[box.row + first + q];
#pragma unroll
        for (int q = 0; q < m; ++q) next[q] = first + q < box.rows && k < box.cols ? widen<Sum>(x[q]) : Sum{};
    };

    Sum next[m];
    load(0, next);
    Sum gcp{};  // of threads below W: GCP(I-1, J)[k]
    for (std::int64_t I = 0; I < tile_rows; ++I) {
        const tile_box box = box_of<W>({I, J}, a.rows, a.cols);

        // T(I, J) to shared memory, T(I+1, J) on its way
#pragma unroll
        for (int q = 0; q < m; ++q) s.tile.at(first + q, k) = next[q];
        if (I + 1 < tile_rows) load(I + 1, next);
        __syncthreads();

        // Row-wise prefix sums by W threads, while the next W wait for GRS(I, J-1)
        if (thread < W)
            s.lrs[k] = scan_cells<W, Sum>([&](int j) -> Sum& { return s.tile.at(k, j); });
        else if (thread < 2 * W)
            s.grs_left[k] = J > 0 && k < box.rows
                                ? take_over(&global.grs[(number * tile_cols + J - 1) * a.rows + box.row + k])
                                : Sum{};
        __syncthreads();

        // GRS(I, J) for the column to the right
        if (thread >= W && thread < 2 * W && k < box.rows && J + 1 < tile_cols)
            hand_over(&global.grs[(number * tile_cols + J) * a.rows + box.row + k], Sum(s.grs_left[k] + s.lrs[k]));

        // Column-wise prefix sums with GCP(I-1, J) on top and GRS(I, J-1) from the left
        if (thread < W) gcp = scan_column_with_carries(s, k, gcp);
        __syncthreads();

        // GSAT(I, J)
        store_tile(s.tile, b, box);
        __syncthreads();  // before the next tile overwrites this one
    }
}

// Host

support supported(const problem& p, const parameter_values& values) {
    if (const support s = supports_inclusive(p); !s) return s;
    const std::size_t w = static_cast<std::size_t>(width_of(values));
    return supports_shared_memory(w * (w + 2) * size_of(p.table.type), "tile width " + std::to_string(w));
}

std::size_t workspace_bytes(const problem& p, const parameter_values& values) {
    workspace_slots slots;
    visit_sum_types(p, [&]<typename, typename Sum>() { scratch<Sum>(slots, core_of(p), width_of(values)); });
    return slots.bytes();
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        visit_tile_width(width_of(how.parameters), [&]<int W>() {
            workspace_slots slots(how.workspace);
            const scratch<Sum> global(slots, core_of(p), W);
            const std::int64_t tile_cols = ceil_div(a.cols, W);
            BOXSUM_CUDA_TRY(cudaMemsetAsync(how.workspace, 0, global.cleared_bytes, how.stream.get()));
            launch(finish_columns_kernel<W, Pixel, Sum>,
                   {.grid = static_cast<unsigned>(tile_cols * a.count()),
                    .block = threads_for(W),
                    .shared_bytes = sizeof(column_shared<Sum, W>)},
                   how.stream, a, b, global, ceil_div(a.rows, W), tile_cols);
        });
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values& values) {
    const int w = width_of(values);
    const cuda::tile_cost tiles(p, w);
    const cuda::inclusive_core core = cuda::core_of(p);
    return {1 + tiles.row_carries / tiles.elements, 1 + tiles.row_carries / tiles.elements,
            2 + cuda::border_launches(p), cuda::ceil_div(core.cols, w) * core.layers * threads_for(w)};
}

}  // namespace

constinit const algorithm_record sat_1r1w_skss_record{
    .info = {.what = operation::sat,
             .name = "1r1w-skss",
             .title = "a block per column of tiles, soft synchronisation",
             .paper = "Funasaka et al. 2017; Emoto et al. 2018, III.C",
             .cost = "1 read, 1 write per element; 1 launch, 1 memset",
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
