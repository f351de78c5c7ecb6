// 1R1W: one launch per diagonal of tiles.
// Kasagi, Nakano, Ito: Parallel Algorithms for the Summed Area Table on the Asynchronous Hierarchical Memory Machine,
// with GPU Implementations, 2014; as told by Emoto et al. 2018, section III.B, whose symbols are used here.
//
// A tile can be finished when its left, upper and upper left neighbours are: GRS(I, J-1), GCS(I-1, J) and
// GS(I-1, J-1) are added to its first column, row and corner. All tiles of a diagonal I + J = K can be done at once, so
// launch K does diagonal K, and the end of a launch is the only synchronisation. Every element is read once and written
// once, but the first and last launches have few blocks.
//
//     K = 0 1 2 3          T(I-1, J-1) GS |  GCS T(I-1, J)
//         1 2 3 4          ---------------+---------------
//         2 3 4 5          GRS T(I, J-1)  |     T(I, J)      -> GRS(I, J), GCS(I, J), GS(I, J)
//
// Cost: 1 read + O(1/W), 1 write + O(1/W) per element; tile rows + tile columns - 1 launches; at most
// min(tile rows, tile columns) W^2 / m threads; workspace (2/W + 1/W^2) elements per element; blocks exchange nothing
// but between launches.
// Limits: W x W elements of the table's type in shared memory.
// Differs from the paper: it takes GRS(I, J) and GCS(I, J) as differences of neighbours on the border of GSAT(I, J).
// For floats that cancels digits, and makes NaN of infinities; here they are the carries plus the tile's own LRS and
// LCS.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/device/tile_order.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/parameters.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/tile_sums.cuh"
#endif

#include <algorithm>

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

// Shared memory

template <typename Sum, int W>
struct tile_shared {
    sat_tile<Sum, W> tile;  // a, then its table
};

// Kernels

/// Launch K. A block owns tile T(I, J) with I + J = K, the blockIdx.x-th of its diagonal, of the layer blockIdx.y:
/// reads a, GRS(I, J-1), GCS(I-1, J), GS(I-1, J-1), which earlier launches wrote; writes GSAT(I, J), GRS(I, J), GCS(I,
/// J), GS(I, J).
template <int W, typename Pixel, typename Sum>
__global__ void finish_diagonal_kernel(layers<const Pixel> a, tile_sums<Sum> global, layers<Sum> b,
                                       std::int64_t diagonal) {
    auto& s = *dynamic_shared<tile_shared<Sum, W>>();
    const std::int64_t I = global.tiles.first_row(diagonal) + blockIdx.x;
    const tile_index t{I, diagonal - I};
    const tile_box box = box_of<W>(t, a.rows, a.cols);

    // Step 1 of the shared memory SAT algorithm
    load_tile(s.tile, a[blockIdx.y], box);
    __syncthreads();

    // GRS(I, J) and GCS(I, J) for the next launch
    publish_row_and_column_sums(s.tile, global, blockIdx.y, t, box);
    __syncthreads();

    // Carries, steps 2 and 3, step 4
    add_carries(s.tile, global, blockIdx.y, t, box);
    scan_tile(s.tile);
    store_tile(s.tile, b[blockIdx.y], box);

    // GS(I, J), the corner of GSAT(I, J)
    if (threadIdx.x == 0) global.sum(blockIdx.y, t) = s.tile.at(box.rows - 1, box.cols - 1);
}

// Host

support supported(const problem& p, const parameter_values& values) {
    if (const support s = supports_inclusive(p); !s) return s;
    const std::size_t w = static_cast<std::size_t>(width_of(values));
    return supports_shared_memory(w * w * size_of(p.table.type), "tile width " + std::to_string(w));
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
            for (std::int64_t diagonal = 0; diagonal < sums.tiles.diagonals(); ++diagonal)
                launch(
                    finish_diagonal_kernel<W, Pixel, Sum>,
                    {.grid = dim3(static_cast<unsigned>(sums.tiles.length(diagonal)), static_cast<unsigned>(a.count())),
                     .block = static_cast<unsigned>(threads_of(how.parameters)),
                     .shared_bytes = sizeof(tile_shared<Sum, W>)},
                    how.stream, a, sums, b, diagonal);
        });
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values& values) {
    const cuda::tile_cost tiles(p, width_of(values));
    const auto core = cuda::core_of(p);
    const cuda::diagonal_order order{cuda::ceil_div(core.rows, width_of(values)),
                                     cuda::ceil_div(core.cols, width_of(values))};
    // Carries are read twice: for the sums that are handed on, and for the table.
    return {1 + (2 * tiles.row_carries + 2 * tiles.col_carries + tiles.corners) / tiles.elements,
            1 + (tiles.row_sums + tiles.col_sums + tiles.count) / tiles.elements,
            (core.empty() ? 0 : order.diagonals()) + cuda::border_launches(p),
            std::min(order.rows, order.cols) * core.layers * threads_of(values)};
}

}  // namespace

constinit const algorithm_record sat_1r1w_record{
    .info = {.what = operation::sat,
             .name = "1r1w",
             .title = "one launch per diagonal of tiles",
             .paper = "Kasagi et al. 2014; Emoto et al. 2018, III.B",
             .cost = "1 read, 1 write per element; rows / W + cols / W - 1 launches",
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
