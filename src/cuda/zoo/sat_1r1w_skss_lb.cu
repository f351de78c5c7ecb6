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
// (4/W + 2/W^2) elements per element and 2 words per tile; a block waits in three directions.
// Limits: W x W elements of the table's type in shared memory.
// Differs from the paper: the printed serial number fails past the main anti-diagonal (tile_order.hpp has the one of
// figure 9, for any rows and columns); 32 statuses are looked at together; what was looked back at is added forwards
// from the global sum, so that floats do not depend on timing; R and C are 32-bit words; more barriers than three.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/parameters.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/lookback.cuh"
#include "cuda/device/tile_order.hpp"
#include "cuda/device/tile_sums.cuh"
#include "cuda/device/warp_scan.cuh"
#endif

namespace boxsum {
namespace {

// Policy

constexpr std::string_view threads_values[] = {"256", "512", "1024"};
constexpr parameter parameters[] = {tile_width_parameter,
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

template <typename Sum>
struct scratch {
    unsigned* next_tile;  // the counter c
    unsigned* R;          // [layer][I][J]
    unsigned* C;
    std::size_t cleared_bytes;
    tile_sums<Sum> local;   // LRS, LCS and, as sums, GLS
    tile_sums<Sum> global;  // GRS, GCS, GS

    scratch(workspace_slots& slots, const inclusive_core& core, std::int64_t w)
        : next_tile(slots.take<unsigned>(1)),
          R(slots.take<unsigned>(core.layers * ceil_div(core.rows, w) * ceil_div(core.cols, w))),
          C(slots.take<unsigned>(core.layers * ceil_div(core.rows, w) * ceil_div(core.cols, w))),
          cleared_bytes(slots.bytes()),
          local(slots, core, w),
          global(slots, core, w) {}
};

// Shared memory

template <typename Sum, int W>
struct tile_shared {
    sat_tile<Sum, W> tile;  // a, then its table
    Sum lrs[W];             // LRS(I, J)
    Sum grs_left[W];        // GRS(I, J-1)
    Sum gcs_above[W];       // GCS(I-1, J)
    Sum gs_before;          // GS(I-1, J-1)
};

// Kernels

/// A block owns tile T(I, J) of a layer, by ticket in diagonal-major order: reads a; writes LRS, GRS, LCS, GCS, GLS, GS
/// and GSAT of (I, J). Everything of lower tickets is running or done.
template <int W, typename Pixel, typename Sum>
__global__ void finish_tiles_kernel(layers<const Pixel> a, layers<Sum> b, scratch<Sum> g) {
    auto& s = *dynamic_shared<tile_shared<Sum, W>>();
    const diagonal_order tiles = g.global.tiles;
    const int thread = static_cast<int>(threadIdx.x), k = thread % W;
    const bool does_rows = thread < W, does_columns = !does_rows && thread < 2 * W;  // whole warps: W is a multiple

    const std::int64_t ticket = take_ticket(g.next_tile);
    const std::int64_t number = ticket / tiles.count();
    const tile_index t = tiles.tile(ticket % tiles.count());
    const tile_box box = box_of<W>(t, a.rows, a.cols);
    const auto status = [&](unsigned* flags, std::int64_t I, std::int64_t J) {
        return flags + (number * tiles.rows + I) * tiles.cols + J;
    };
    const std::int64_t row = box.row + (k < box.rows ? k : 0), col = box.col + (k < box.cols ? k : 0);

    // Step 1: T(I, J) to shared memory
    load_tile(s.tile, a[number], box);
    __syncthreads();

    // Steps 2.A.1 and 2.B.1: LRS(I, J), LCS(I, J)
    Sum own{};
    if (does_rows) {
        s.lrs[k] = own = sum_cells<W, Sum>([&](int j) { return s.tile.at(k, j); });
        if (k < box.rows) g.local.row_sum(number, row, t.col) = own;
    } else if (does_columns) {
        own = sum_cells<W, Sum>([&](int i) { return s.tile.at(i, k); });
        if (k < box.cols) g.local.col_sum(number, t.row, col) = own;
    }
    __syncthreads();
    if (thread == 0) store_release(status(g.R, t.row, t.col), lrs_published);
    if (thread == W) store_release(status(g.C, t.row, t.col), lcs_published);

    // Steps 2.A.2 and 2.B.2: GRS(I, J-1) and GCS(I-1, J) by look-back; 2.A.3 and 2.B.3: GRS(I, J) and GCS(I, J)
    if (does_rows) {
        const std::int64_t d = look_back(t.col, lrs_published, grs_published,
                                         [&](std::int64_t back) { return status(g.R, t.row, t.col - back); });
        const Sum left = sum_forwards<Sum>(
            d, t.col, [&](std::int64_t back) -> Sum& { return g.global.row_sum(number, row, t.col - back); },
            [&](std::int64_t back) -> Sum& { return g.local.row_sum(number, row, t.col - back); });
        s.grs_left[k] = k < box.rows ? left : Sum{};
        if (k < box.rows) g.global.row_sum(number, row, t.col) = left + own;
    } else if (does_columns) {
        const std::int64_t d = look_back(t.row, lcs_published, gcs_published,
                                         [&](std::int64_t back) { return status(g.C, t.row - back, t.col); });
        const Sum above = sum_forwards<Sum>(
            d, t.row, [&](std::int64_t back) -> Sum& { return g.global.col_sum(number, t.row - back, col); },
            [&](std::int64_t back) -> Sum& { return g.local.col_sum(number, t.row - back, col); });
        s.gcs_above[k] = k < box.cols ? above : Sum{};
        if (k < box.cols) g.global.col_sum(number, t.row, col) = above + own;
    }
    __syncthreads();
    if (thread == 0) store_release(status(g.R, t.row, t.col), grs_published);
    if (thread == W) store_release(status(g.C, t.row, t.col), gcs_published);

    if (thread < warp_size) {
        // Step 3.1: GLS(I, J) = GS(I, J) - GS(I-1, J-1), as the sum of what lies between
        Sum gls{};
        for (int i = thread; i < W; i += warp_size) gls += s.grs_left[i] + s.gcs_above[i] + s.lrs[i];
        gls = warp_sum(gls);
        if (thread == 0) {
            g.local.sum(number, t) = gls;
            store_release(status(g.R, t.row, t.col), gls_published);
        }

        // Step 3.2: GS(I-1, J-1) by look-back along the diagonal; 3.3: GS(I, J)
        const std::int64_t count = t.row < t.col ? t.row : t.col;
        const std::int64_t d = look_back(count, gls_published, gs_published,
                                         [&](std::int64_t back) { return status(g.R, t.row - back, t.col - back); });
        const auto before = [&](std::int64_t back) { return tile_index{t.row - back, t.col - back}; };
        const Sum gs = sum_forwards<Sum>(
            d, count, [&](std::int64_t back) -> Sum& { return g.global.sum(number, before(back)); },
            [&](std::int64_t back) -> Sum& { return g.local.sum(number, before(back)); });
        if (thread == 0) {
            s.gs_before = gs;
            g.global.sum(number, t) = gs + gls;
            store_release(status(g.R, t.row, t.col), gs_published);
        }
    }
    __syncthreads();

    // Step 4: GSAT(I, J) as in 1R1W
    if (does_rows && k > 0) s.tile.at(k, 0) += s.grs_left[k];
    if (does_columns && k > 0) s.tile.at(0, k) += s.gcs_above[k];
    if (thread == 0) s.tile.at(0, 0) += s.gs_before + s.grs_left[0] + s.gcs_above[0];
    scan_tile(s.tile);
    store_tile(s.tile, b[number], box);
}

// Host

support supported(const problem& p, const parameter_values& values) {
    if (const support s = supports_inclusive(p); !s) return s;
    return visit_tile_width(width_of(values), [&]<int W>() {
        return supports_shared_memory((W * W + 3 * W + 1) * size_of(p.table.type), "tile width " + std::to_string(W));
    });
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
            const scratch<Sum> g(slots, core_of(p), W);
            BOXSUM_CUDA_TRY(cudaMemsetAsync(how.workspace, 0, g.cleared_bytes, how.stream.get()));
            launch(finish_tiles_kernel<W, Pixel, Sum>,
                   {.grid = static_cast<unsigned>(g.global.tiles.count() * a.count()),
                    .block = static_cast<unsigned>(threads_of(how.parameters)),
                    .shared_bytes = sizeof(tile_shared<Sum, W>)},
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
