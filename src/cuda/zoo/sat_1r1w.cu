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
// LCS. All threads scan, pieces of m elements each (tile_pieces.cuh), where the paper has a row or column scanned by
// one. Rows are padded to W + 1 elements; the paper's diagonal arrangement is a choice.

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

constexpr std::string_view threads_values[] = {"1024", "256"};
constexpr std::string_view arrangement_values[] = {"padded", "diagonal"};
constexpr parameter parameters[] = {
    large_tile_width_parameter,
    {"threads", "a tile: W x W / m with the paper's m", threads_values},
    {"arrangement", "of a tile in shared memory; the paper's diagonal one for 32f32f alone", arrangement_values}};

int width_of(const parameter_values& values) {
    return number_of(parameters, values, 0);
}
int threads_of(const parameter_values& values) {
    return number_of(parameters, values, 1);
}
[[maybe_unused]] bool is_diagonal(const parameter_values& values) {
    return values.choice[2] == 1;
}

#ifdef __CUDACC__

using namespace cuda;

// Kernels

/// Launch K. A block owns tile T(I, J) with I + J = K, the blockIdx.x-th of its diagonal, of the layer blockIdx.y:
/// reads a, GRS(I, J-1), GCS(I-1, J), GS(I-1, J-1), which earlier launches wrote; writes GSAT(I, J), GRS(I, J), GCS(I,
/// J), GS(I, J).
template <int W, int Threads, tile_arrangement Arrangement, typename Pixel, typename Sum>
__global__ void __launch_bounds__(Threads, resident_blocks<Sum, W, Threads, Arrangement>(2048))
    finish_diagonal_kernel(layers<const Pixel> a, tile_sums<Sum> global, layers<Sum> b, std::int64_t diagonal) {
    auto& s = *dynamic_shared<tile_in_pieces<Sum, W, Threads, Arrangement>>();
    const std::int64_t I = global.tiles.first_row(diagonal) + blockIdx.x;
    finish_tile<sums_for_neighbours::published>(s, a[blockIdx.y], global, b[blockIdx.y], blockIdx.y, {I, diagonal - I});
}

/// Calls f.template operator()<W, Threads, Arrangement>(); the diagonal arrangement is compiled for 32f32f alone.
template <typename Pixel, typename Sum, typename F>
void visit_finish(const parameter_values& values, F&& f) {
    visit_paper_tile(width_of(values), threads_of(values), [&]<int W, int Threads>() {
        if constexpr (std::is_same_v<Pixel, float> && std::is_same_v<Sum, float>)
            if (is_diagonal(values)) return f.template operator()<W, Threads, tile_arrangement::diagonal>();
        f.template operator()<W, Threads, tile_arrangement::padded>();
    });
}

// Host

support supported(const problem& p, const parameter_values& values) {
    support s = supports_inclusive(p);
    if (!s) return s;
    if (is_diagonal(values) && p.types() != type_pair{dtype::f32, dtype::f32})
        return {false, "the diagonal arrangement is for 32f32f alone"};
    visit_sum_types(p, [&]<typename Pixel, typename Sum>() {
        visit_finish<Pixel, Sum>(values, [&]<int W, int Threads, tile_arrangement A>() {
            s = supports_shared_memory(sizeof(tile_in_pieces<Sum, W, Threads, A>), "tile width " + std::to_string(W));
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
        visit_finish<Pixel, Sum>(how.parameters, [&]<int W, int Threads, tile_arrangement A>() {
            workspace_slots slots(how.workspace);
            const tile_sums<Sum> sums(slots, core_of(p), W);
            for (std::int64_t diagonal = 0; diagonal < sums.tiles.diagonals(); ++diagonal)
                launch(
                    finish_diagonal_kernel<W, Threads, A, Pixel, Sum>,
                    {.grid = dim3(static_cast<unsigned>(sums.tiles.length(diagonal)), static_cast<unsigned>(a.count())),
                     .block = Threads,
                     .shared_bytes = sizeof(tile_in_pieces<Sum, W, Threads, A>)},
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
