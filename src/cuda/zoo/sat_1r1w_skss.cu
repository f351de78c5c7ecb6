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
// that rows need not wait for it; all threads scan, pieces of m elements each (tile_pieces.cuh); the next tile is
// loaded into registers while the current one is worked on; rows are padded to W + 1 elements in place of the diagonal
// arrangement; a block takes one ticket, as there are as many blocks as columns, and needs no second atomicAdd.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/parameters.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/lookback.cuh"
#include "cuda/device/tile_pieces.cuh"
#include "cuda/device/workspace_slots.hpp"
#endif

namespace boxsum {
namespace {

// Policy

constexpr std::string_view threads_values[] = {"8W", "1024"};
constexpr parameter parameters[] = {large_tile_width_parameter,
                                    {"threads", "a block; the paper's is 1024", threads_values}};

int width_of(const parameter_values& values) {
    return number_of(parameters, values, 0);
}

int threads_of(const parameter_values& values) {
    return values.choice[1] == 0 ? 8 * width_of(values) : 1024;
}

#ifdef __CUDACC__

using namespace cuda;

template <typename Sum>
struct scratch {
    unsigned* next_column;   // the counter c
    status_words<Sum>* grs;  // [layer][J][row]: GRS(I, J)[i] and R[I][J]
    std::size_t cleared_bytes;

    scratch(workspace_slots& slots, const inclusive_core& core, std::int64_t w)
        : next_column(slots.take<unsigned>(1)),
          grs(slots.take<status_words<Sum>>(core.layers * ceil_div(core.cols, w) * core.rows)),
          cleared_bytes(slots.bytes()) {}
};

constexpr unsigned grs_published = 1;  // R

// Shared memory

template <typename Sum, int W, int Threads>
using column_shared = tile_in_pieces<Sum, W, Threads>;  // with GRS(I, J-1) as left

// Kernels

/// A block owns the tile column J of a layer, by ticket. For each I downwards it reads a and GRS(I, J-1), and writes
/// GRS(I, J) and GSAT(I, J). Everything of lower tickets is running or done.
template <int W, int Threads, typename Pixel, typename Sum>
__global__ void __launch_bounds__(Threads, 1)
    finish_columns_kernel(layers<const Pixel> images, layers<Sum> tables, scratch<Sum> global, unsigned tile_rows,
                          unsigned tile_cols) {
    auto& s = *dynamic_shared<column_shared<Sum, W, Threads>>();
    const tile_piece<W, Threads> own;
    const int k = own.k;

    // Soft synchronisation: J from the counter
    const unsigned ticket = take_ticket(global.next_column);
    const std::int64_t number = ticket / tile_cols, J = ticket % tile_cols;
    const layer<const Pixel> a = images[number];
    const layer<Sum> b = tables[number];
    const auto box_at = [&](std::int64_t I) { return box_of<W>({I, J}, a.rows, a.cols); };

    Sum next[own.m];
    load_piece(next, own, a, box_at(0));
    Sum gcp{};  // GCP(I-1, J)[k]
    for (std::int64_t I = 0; I < tile_rows; ++I) {
        const tile_box box = box_at(I);

        // T(I, J) to shared memory, T(I+1, J) on its way
        s.put(own, next);
        if (I + 1 < tile_rows) load_piece(next, own, a, box_at(I + 1));
        __syncthreads();

        // Row-wise prefix sums; W threads wait for GRS(I, J-1), and write GRS(I, J) for the column to the right
        Sum x[own.m];
        s.scan_rows(own, x);
        __syncthreads();
        s.put_rows(own, x);
        if (own.piece == 0) {
            const auto grs = [&](std::int64_t back) {
                return &global.grs[(number * tile_cols + J - back) * a.rows + box.row + k];
            };
            s.left[k] = J > 0 && k < box.rows ? wait_for(grs(1), grs_published) : Sum{};
            if (J + 1 < tile_cols && k < box.rows) publish(grs(0), grs_published, Sum(s.left[k] + s.row_sum(k)));
        }
        __syncthreads();

        // Column-wise prefix sums with GCP(I-1, J) on top and GRS(I, J-1) from the left: GSAT(I, J)
        s.scan_columns(own, x);
        __syncthreads();
        store_piece(x, s.before_columns(own, gcp), own, b, box);
        gcp += s.column_sum(k);  // overwritten behind three barriers
    }
}

// Host

/// Calls f.template operator()<W, Threads>() for 8 W and 1024 threads.
template <typename F>
void visit_block(const parameter_values& values, F&& f) {
    visit_tile_width(width_of(values), [&]<int W>() {
        if constexpr (W < 128)
            if (threads_of(values) == 8 * W) return f.template operator()<W, 8 * W>();
        f.template operator()<W, 1024>();
    });
}

support supported(const problem& p, const parameter_values& values) {
    if (const support s = supports_inclusive(p); !s) return s;
    support s;
    visit_block(values, [&]<int W, int Threads>() {
        visit_sum_types(p, [&]<typename, typename Sum>() {
            s = supports_shared_memory(sizeof(column_shared<Sum, W, Threads>), "tile width " + std::to_string(W));
        });
    });
    return s;
}

std::size_t workspace_bytes(const problem& p, const parameter_values& values) {
    workspace_slots slots;
    visit_sum_types(p, [&]<typename, typename Sum>() { scratch<Sum>(slots, core_of(p), width_of(values)); });
    return slots.bytes();
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        visit_block(how.parameters, [&]<int W, int Threads>() {
            workspace_slots slots(how.workspace);
            const scratch<Sum> global(slots, core_of(p), W);
            const std::int64_t tile_cols = ceil_div(a.cols, W);
            BOXSUM_CUDA_TRY(cudaMemsetAsync(how.workspace, 0, global.cleared_bytes, how.stream.get()));
            launch(finish_columns_kernel<W, Threads, Pixel, Sum>,
                   {.grid = static_cast<unsigned>(tile_cols * a.count()),
                    .block = Threads,
                    .shared_bytes = sizeof(column_shared<Sum, W, Threads>)},
                   how.stream, a, b, global, static_cast<unsigned>(ceil_div(a.rows, W)),
                   static_cast<unsigned>(tile_cols));
        });
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values& values) {
    const int w = width_of(values);
    const cuda::tile_cost tiles(p, w);
    const cuda::inclusive_core core = cuda::core_of(p);
    return {1 + tiles.row_carries / tiles.elements, 1 + tiles.row_carries / tiles.elements,
            2 + cuda::border_launches(p), cuda::ceil_div(core.cols, w) * core.layers * threads_of(values)};
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
