// 1R1W-SKSS-LB: a block per tile, in one launch, with soft synchronisation and look-back in three directions.
// Emoto, Funasaka, Tokura, Honda, Nakano, Ito: An Optimal Parallel Algorithm for Computing the Summed Area Table on the
// GPU, 2018, section IV.
//
// Every tile needs the sums of its rows to the left, GRS(I, J-1), of its columns above, GCS(I-1, J), and of the tiles
// above and to the left, GS(I-1, J-1). It publishes its own sums LRS, LCS and GLS as soon as it has them, and finds the
// global ones by looking back along its row, its column and its diagonal: it adds up own sums until it meets a tile
// whose global sums are published. Tiles are taken in diagonal-major order, so most of these are old.
//
//      GS   .    .   GCS           0  1  3  6    status R: 1 LRS, 2 GRS, 3 GLS, 4 GS published
//       .  GLS   .   LCS           2  4  7 10    status C: 1 LCS, 2 GCS published
//       .   .   GLS  LCS           5  8 11 13
//     GRS  LRS  LRS  T(I, J)       9 12 14 15
//
// Cost: 1 read + O(1/W), 1 write + O(1/W) per element; 1 launch and a memset; rows cols / m threads; workspace
// (4/W + 2/W^2) elements per element; a block waits in three directions.
// Limits: W x W elements of the table's type in shared memory: two blocks a multiprocessor of an H200, which wait for
// each other's sums.
// Differs from the paper: the printed serial number fails past the main anti-diagonal (tile_order.hpp has the one of
// figure 9, for any rows and columns); R and C lie beside the values that they speak of, in the same words, so that one
// trip to memory brings both and no fence is needed, and a global sum takes the place of the local one; each thread
// looks at 4 predecessors together; what was looked back at is added forwards from the global sum, so that floats do
// not depend on timing; all threads scan, pieces of m elements each (tile_pieces.cuh), and GS(I-1, J-1) is looked for
// while they do; rows are padded to W + 1 elements in place of the diagonal arrangement; more barriers than three; the
// statuses take words of 64 bits beside the sums, so that the workspace is 4/W and not 2/W elements and bytes.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/parameters.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/lookback.cuh"
#include "cuda/device/tile_order.hpp"
#include "cuda/device/tile_pieces.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/device/workspace_slots.hpp"
#endif

namespace boxsum {
namespace {

// Policy

constexpr std::string_view threads_values[] = {"512", "256", "1024"};
constexpr parameter parameters[] = {large_tile_width_parameter,
                                    {"threads", "a tile: W x W / m with the paper's m", threads_values}};

int width_of(const parameter_values& values) {
    return number_of(parameters, values, 0);
}
int threads_of(const parameter_values& values) {
    return number_of(parameters, values, 1);
}

#ifdef __CUDACC__

using namespace cuda;

enum r_status : unsigned { lrs_published = 1, grs_published, gls_published, gs_published };
enum c_status : unsigned { lcs_published = 1, gcs_published };

/// What tiles publish, each value with its status R or C: first the tile's own sum, then in its place the global one.
template <typename Sum>
struct scratch {
    unsigned* next_tile;           // [layer]: the counter c
    status_words<Sum>* row_sums;   // [layer][J][row]: LRS, GRS
    status_words<Sum>* col_sums;   // [layer][I][column]: LCS, GCS
    status_words<Sum>* tile_sums;  // [layer][I][J]: GLS, GS
    std::size_t cleared_bytes;
    std::int64_t rows, cols;
    diagonal_order tiles;

    scratch(workspace_slots& slots, const inclusive_core& core, std::int64_t w)
        : rows(core.rows), cols(core.cols), tiles{ceil_div(core.rows, w), ceil_div(core.cols, w)} {
        next_tile = slots.take<unsigned>(core.layers);
        row_sums = slots.take<status_words<Sum>>(core.layers * tiles.cols * rows);
        col_sums = slots.take<status_words<Sum>>(core.layers * tiles.rows * cols);
        tile_sums = slots.take<status_words<Sum>>(core.layers * tiles.count());
        cleared_bytes = slots.bytes();
    }

    __device__ status_words<Sum>* row_sum(std::int64_t layer, std::int64_t row, std::int64_t J) const {
        return row_sums + (layer * tiles.cols + J) * rows + row;
    }
    __device__ status_words<Sum>* col_sum(std::int64_t layer, std::int64_t I, std::int64_t col) const {
        return col_sums + (layer * tiles.rows + I) * cols + col;
    }
    __device__ status_words<Sum>* tile_sum(std::int64_t layer, std::int64_t I, std::int64_t J) const {
        return tile_sums + (layer * tiles.rows + I) * tiles.cols + J;
    }
};

// Shared memory

template <typename Sum, int W, int Threads>
struct tile_shared {
    tile_in_pieces<Sum, W, Threads> a;  // with GRS(I, J-1), GCS(I-1, J), GS(I-1, J-1) as left, above, corner
    tile_index t;
};

// Kernels

/// A block owns tile T(I, J) of the layer blockIdx.y, by ticket in diagonal-major order: reads a; writes LRS, GRS, LCS,
/// GCS, GLS, GS and GSAT of (I, J). Everything of lower tickets is running or done.
template <int W, int Threads, typename Pixel, typename Sum>
__global__ void __launch_bounds__(Threads, resident_blocks<Sum, W, Threads>(1280))
    finish_tiles_kernel(layers<const Pixel> a, layers<Sum> b, scratch<Sum> g) {
    auto& s = *dynamic_shared<tile_shared<Sum, W, Threads>>();
    const tile_piece<W, Threads> own;
    const int thread = static_cast<int>(threadIdx.x), k = own.k;
    const bool does_rows = thread < W, does_columns = !does_rows && thread < 2 * W;  // whole warps: W is a multiple
    const std::int64_t layer = blockIdx.y;

    if (thread == 0) s.t = g.tiles.tile(atomicAdd(&g.next_tile[layer], 1u));
    __syncthreads();
    const tile_index t = s.t;
    const tile_box box = box_of<W>(t, a.rows, a.cols);

    // Step 1: T(I, J) to shared memory
    Sum x[own.m];
    load_piece(x, own, a[layer], box);
    s.a.put(own, x);
    s.a.sum_columns(own, x);
    __syncthreads();
    s.a.scan_rows(own, x);
    __syncthreads();

    // Steps 2.A.1 and 2.B.1: LRS(I, J), LCS(I, J)
    Sum sum{};
    const bool rows = does_rows && k < box.rows, columns = does_columns && k < box.cols;
    const auto row_sum = [&](std::int64_t back) { return g.row_sum(layer, box.row + k, t.col - back); };
    const auto col_sum = [&](std::int64_t back) { return g.col_sum(layer, t.row - back, box.col + k); };
    if (rows) publish(row_sum(0), lrs_published, sum = s.a.row_sum(k));
    if (columns) publish(col_sum(0), lcs_published, sum = s.a.column_sum(k));
    s.a.put_rows(own, x);

    // Steps 2.A.2 and 2.B.2: GRS(I, J-1) and GCS(I-1, J) by look-back; 2.A.3 and 2.B.3: GRS(I, J) and GCS(I, J)
    if (does_rows) {
        const Sum left = rows ? sum_before<Sum>(t.col, lrs_published, grs_published, row_sum) : Sum{};
        if (rows) publish(row_sum(0), grs_published, Sum(left + sum));
        s.a.left[k] = left;
    } else if (does_columns) {
        const Sum above = columns ? sum_before<Sum>(t.row, lcs_published, gcs_published, col_sum) : Sum{};
        if (columns) publish(col_sum(0), gcs_published, Sum(above + sum));
        s.a.above[k] = above;
    }
    __syncthreads();

    // By the last warp, while the others scan columns
    if (thread >= Threads - warp_size) {
        // Step 3.1: GLS(I, J) = GS(I, J) - GS(I-1, J-1), as the sum of what lies between
        Sum gls{};
        for (int i = lane_id(); i < W; i += warp_size) gls += s.a.left[i] + s.a.above[i] + s.a.row_sum(i);
        gls = warp_sum(gls);

        // Step 3.2: GS(I-1, J-1) by look-back along the diagonal; 3.3: GS(I, J)
        if (lane_id() == 0) {
            const auto tile_sum = [&](std::int64_t back) { return g.tile_sum(layer, t.row - back, t.col - back); };
            publish(tile_sum(0), gls_published, gls);
            const Sum gs = sum_before<Sum>(t.row < t.col ? t.row : t.col, gls_published, gs_published, tile_sum);
            publish(tile_sum(0), gs_published, Sum(gs + gls));
            s.a.corner = gs;
        }
        __syncwarp();  // `above` has been read by all lanes
        s.a.sum_above();
    }

    // Step 4: GSAT(I, J) as in 1R1W
    s.a.scan_columns(own, x);
    __syncthreads();
    store_piece(x, s.a.before_columns(own, Sum(s.a.corner + s.a.above[k])), own, b[layer], box);
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
    visit_sum_types(p, [&]<typename, typename Sum>() { scratch<Sum>(slots, core_of(p), width_of(values)); });
    return slots.bytes();
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        visit_tile(width_of(how.parameters), threads_of(how.parameters), [&]<int W, int Threads>() {
            workspace_slots slots(how.workspace);
            const scratch<Sum> g(slots, core_of(p), W);
            BOXSUM_CUDA_TRY(cudaMemsetAsync(how.workspace, 0, g.cleared_bytes, how.stream.get()));
            launch(finish_tiles_kernel<W, Threads, Pixel, Sum>,
                   {.grid = dim3(static_cast<unsigned>(g.tiles.count()), static_cast<unsigned>(a.count())),
                    .block = Threads,
                    .shared_bytes = sizeof(tile_shared<Sum, W, Threads>)},
                   how.stream, a, b, g);
        });
    });
}

#endif  // __CUDACC__

/// A tile that looks back finds the global sums of its neighbour at best: the least count.
algorithm_cost cost(const problem& p, const parameter_values& values) {
    const cuda::tile_cost tiles(p, width_of(values));
    return {1 + (tiles.row_carries + tiles.col_carries + tiles.corners) / tiles.elements,
            1 + 2 * (tiles.row_sums + tiles.col_sums + tiles.count) / tiles.elements, 2 + cuda::border_launches(p),
            static_cast<std::int64_t>(tiles.count) * threads_of(values)};
}

}  // namespace

constinit const algorithm_record sat_1r1w_skss_lb_record{
    .info = {.what = operation::sat,
             .name = "1r1w-skss-lb",
             .title = "a block per tile, look-back in three directions",
             .paper = "Emoto et al. 2018, IV",
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
