// (1+r)R1W: 2R1W in the corners, where diagonals are short, and 1R1W between them.
// Kasagi, Nakano, Ito: Parallel Algorithms for the Summed Area Table on the Asynchronous Hierarchical Memory Machine,
// with GPU Implementations, 2014; as told by Emoto et al. 2018, section III.B, whose symbols are used here.
//
// The first and last launches of 1R1W have few blocks. So the tiles of the first diagonals, and those of the last, are
// done by three launches of 2R1W, at the price of a second read of these tiles; only the diagonals between are done one
// by one. r is the share of tiles that are read twice: 0 is 1R1W, and with r = 1 little but the main diagonal is left.
//
//     A A A b b    A: I + J < a            2R1W: sum, scan, finish
//     A A b b b    b: the a-th diagonal..  1R1W: a launch per diagonal
//     A b b b C    C: the last a diagonals 2R1W, its sums continued from those of b
//     b b b C C
//     b b C C C
//
// Cost: 1 + r reads + O(1/W), 1 write + O(1/W) per element; 2 (1 - sqrt(r)) n / W + 5 launches for n x n;
// max(r n^2 / 2m, n W / m) threads; workspace (2/W + 1/W^2) elements per element; blocks exchange nothing but between
// launches.
// Limits: W x W elements of the table's type in shared memory.
// Differs from the paper: it is told for squares; here a = sqrt(r) min(tile rows, tile columns), so that A and C are
// triangles of any image. By the conditions that it prints for b and C, C has one diagonal less than A; here it has as
// many, which gives the launches of its Table I. GRS and GCS are added, not subtracted, and all threads scan pieces of
// rows padded to W + 1 elements (see 1R1W).

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/device/tile_order.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/parameters.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/line_scan.cuh"
#include "cuda/device/tile_sums.cuh"
#endif

#include <algorithm>
#include <cmath>

namespace boxsum {
namespace {

// Policy

constexpr std::string_view threads_values[] = {"1024", "256"};
constexpr std::string_view r_values[] = {"25", "0", "6", "12", "50", "75", "100"};
constexpr parameter parameters[] = {large_tile_width_parameter,
                                    {"threads", "a tile: W x W / m with the paper's m", threads_values},
                                    {"r", "the paper's r in percent: tiles that are read twice", r_values}};
constexpr int sums_threads = 256;  // kernels that scan sums

int width_of(const parameter_values& values) {
    return number_of(parameters, values, 0);
}
int threads_of(const parameter_values& values) {
    return number_of(parameters, values, 1);
}

/// Diagonals of A, and as many of C.
std::int64_t corner_diagonals(const cuda::diagonal_order& tiles, const parameter_values& values) {
    const double r = number_of(parameters, values, 2) / 100.0;
    const auto a =
        static_cast<std::int64_t>(std::lround(std::sqrt(r) * static_cast<double>(std::min(tiles.rows, tiles.cols))));
    return std::min(a, tiles.diagonals() / 2);
}

#ifdef __CUDACC__

using namespace cuda;

// Shared memory

template <typename Sum, int W, int Threads>
struct tile_shared {
    tile_in_pieces<Sum, W, Threads> a;
    Sum lcs[W];  // column sums, to be added up
};

/// The diagonals first <= I + J < end: A, b or C.
struct region {
    diagonal_order tiles;
    std::int64_t first, end;

    __host__ __device__ std::int64_t count() const { return tiles.before(end) - tiles.before(first); }
    __device__ tile_index tile(std::int64_t k) const { return tiles.tile(tiles.before(first) + k); }

    /// Its tiles in tile row I are J = first_in(I, cols) .. last_in(I, cols) - 1, and likewise in a tile column.
    __device__ std::int64_t first_in(std::int64_t line) const { return first > line ? first - line : 0; }
    __device__ std::int64_t end_in(std::int64_t line, std::int64_t extent) const {
        const std::int64_t e = end > line ? end - line : 0;
        return e < extent ? e : extent;
    }
};

// Kernels

/// A block owns a tile of the region A or C: reads a, writes LRS(I, J), LCS(I, J), LS(I, J). Kernel 1 of 2R1W.
template <int W, int Threads, typename Pixel, typename Sum>
__global__ void __launch_bounds__(Threads, resident_blocks<Sum, W, Threads>(2048))
    sum_tiles_kernel(layers<const Pixel> a, tile_sums<Sum> local, region part) {
    auto& s = *dynamic_shared<tile_shared<Sum, W, Threads>>();
    sum_tile(s.a, s.lcs, a[blockIdx.y], local, blockIdx.y, part.tile(blockIdx.x));
}

/// Makes the local sums of the region A or C global, in place: kernel 2 of 2R1W, continued from the GRS, GCS and GS of
/// the tiles before the region, if there are any. The first blocks own rows of the image, the next columns, a thread
/// each; the last block owns the matrix of LS.
template <int W, typename Sum>
__global__ void scan_sums_kernel(tile_sums<Sum> sums, region part, unsigned row_blocks, unsigned col_blocks) {
    const diagonal_order tiles = part.tiles;
    const std::int64_t layer = blockIdx.y;
    const auto step = [](std::int64_t elements) { return elements * static_cast<std::int64_t>(sizeof(Sum)); };
    constexpr int batch = 8;
    if (blockIdx.x < row_blocks) {
        const std::int64_t r = std::int64_t{blockIdx.x} * sums_threads + threadIdx.x;
        if (r >= sums.rows) return;
        const std::int64_t first = part.first_in(r / W), end = part.end_in(r / W, tiles.cols);
        if (first >= end) return;
        scan_line_in_place<batch>(line<Sum>{&sums.row_sum(layer, r, first), step(sums.rows)}, end - first,
                                  first > 0 ? sums.row_sum(layer, r, first - 1) : Sum{});
    } else if (blockIdx.x < row_blocks + col_blocks) {
        const std::int64_t c = std::int64_t{blockIdx.x - row_blocks} * sums_threads + threadIdx.x;
        if (c >= sums.cols) return;
        const std::int64_t first = part.first_in(c / W), end = part.end_in(c / W, tiles.rows);
        if (first >= end) return;
        scan_line_in_place<batch>(line<Sum>{&sums.col_sum(layer, first, c), step(sums.cols)}, end - first,
                                  first > 0 ? sums.col_sum(layer, first - 1, c) : Sum{});
    } else {
        // Sums of a tile column from the top: what the tile above the region has of them is the sum of its GCS.
        for (std::int64_t J = threadIdx.x; J < tiles.cols; J += sums_threads) {
            const std::int64_t first = part.first_in(J), end = part.end_in(J, tiles.rows);
            if (first >= end) continue;
            Sum above{};
            if (first > 0)
                for (std::int64_t c = J * W; c < (J + 1) * W && c < sums.cols; ++c)
                    above += sums.col_sum(layer, first - 1, c);
            scan_line_in_place<batch>(line<Sum>{&sums.sum(layer, {first, J}), step(tiles.cols)}, end - first, above);
        }
        __syncthreads();
        for (std::int64_t I = threadIdx.x; I < tiles.rows; I += sums_threads) {
            const std::int64_t first = part.first_in(I), end = part.end_in(I, tiles.cols);
            if (first >= end) continue;
            scan_line_in_place<batch>(line<Sum>{&sums.sum(layer, {I, first}), step(1)}, end - first,
                                      first > 0 ? sums.sum(layer, {I, first - 1}) : Sum{});
        }
    }
}

/// A block owns a tile of the region: reads a, GRS(I, J-1), GCS(I-1, J), GS(I-1, J-1), writes GSAT(I, J). For A and C:
/// kernel 3 of 2R1W, after their sums were scanned. For one diagonal of b: a launch of 1R1W, after all before; it also
/// writes GRS(I, J), GCS(I, J) and GS(I, J).
template <int W, int Threads, sums_for_neighbours Sums, typename Pixel, typename Sum>
__global__ void __launch_bounds__(Threads, resident_blocks<Sum, W, Threads>(2048))
    finish_tiles_kernel(layers<const Pixel> a, tile_sums<Sum> global, layers<Sum> b, region part) {
    auto& s = *dynamic_shared<tile_in_pieces<Sum, W, Threads>>();
    finish_tile<Sums>(s, a[blockIdx.y], global, b[blockIdx.y], blockIdx.y, part.tile(blockIdx.x));
}

// Host

support supported(const problem& p, const parameter_values& values) {
    support s = supports_inclusive(p);
    if (!s) return s;
    visit_paper_tile(width_of(values), threads_of(values), [&]<int W, int Threads>() {
        visit_sum_types(p, [&]<typename, typename Sum>() {
            s = supports_shared_memory(sizeof(tile_shared<Sum, W, Threads>), "tile width " + std::to_string(W));
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
        visit_paper_tile(width_of(how.parameters), threads_of(how.parameters), [&]<int W, int Threads>() {
            workspace_slots slots(how.workspace);
            const tile_sums<Sum> sums(slots, core_of(p), W);
            const auto layers = static_cast<unsigned>(a.count());
            const auto per_tile = [&](const region& part, std::size_t shared_bytes) {
                return launch_shape{.grid = dim3(static_cast<unsigned>(part.count()), layers),
                                    .block = Threads,
                                    .shared_bytes = shared_bytes};
            };
            constexpr std::size_t summing = sizeof(tile_shared<Sum, W, Threads>),
                                  finishing = sizeof(tile_in_pieces<Sum, W, Threads>);
            const auto by_2r1w = [&](const region& part) {
                const auto row_blocks = static_cast<unsigned>(ceil_div(a.rows, sums_threads));
                const auto col_blocks = static_cast<unsigned>(ceil_div(a.cols, sums_threads));
                launch(sum_tiles_kernel<W, Threads, Pixel, Sum>, per_tile(part, summing), how.stream, a, sums, part);
                launch(scan_sums_kernel<W, Sum>,
                       {.grid = dim3(row_blocks + col_blocks + 1, layers), .block = sums_threads}, how.stream, sums,
                       part, row_blocks, col_blocks);
                launch(finish_tiles_kernel<W, Threads, sums_for_neighbours::known, Pixel, Sum>,
                       per_tile(part, finishing), how.stream, a, sums, b, part);
            };

            const std::int64_t corner = corner_diagonals(sums.tiles, how.parameters);
            const std::int64_t last = sums.tiles.diagonals() - corner;
            if (corner > 0) by_2r1w({sums.tiles, 0, corner});
            for (std::int64_t diagonal = corner; diagonal < last; ++diagonal) {
                const region part{sums.tiles, diagonal, diagonal + 1};
                launch(finish_tiles_kernel<W, Threads, sums_for_neighbours::published, Pixel, Sum>,
                       per_tile(part, finishing), how.stream, a, sums, b, part);
            }
            if (corner > 0) by_2r1w({sums.tiles, last, sums.tiles.diagonals()});
        });
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values& values) {
    const cuda::inclusive_core core = cuda::core_of(p);
    if (core.empty()) return {0, 0, cuda::border_launches(p), 0};
    const std::int64_t w = width_of(values);
    const cuda::diagonal_order order{cuda::ceil_div(core.rows, w), cuda::ceil_div(core.cols, w)};
    const std::int64_t corner = corner_diagonals(order, values);
    // The element accesses tile by tile, as the kernels do them.
    double reads = 0, writes = 0;
    for (std::int64_t I = 0; I < order.rows; ++I)
        for (std::int64_t J = 0; J < order.cols; ++J) {
            const double rows = static_cast<double>(std::min(w, core.rows - I * w));
            const double cols = static_cast<double>(std::min(w, core.cols - J * w));
            const double left = J > 0 ? rows : 0, above = I > 0 ? cols : 0, corners = I > 0 && J > 0 ? 1 : 0;
            const bool in_a = I + J < corner, in_c = I + J >= order.diagonals() - corner;
            reads += rows * cols + left + above + corners;
            writes += rows * cols + rows + cols + 1;
            if (!in_a && !in_c) {
                reads += left + above;  // once more, for the sums that are handed on
                continue;
            }
            reads += rows * cols + rows + cols + 2;  // kernel 1, then kernel 2: LS is scanned twice
            writes += rows + cols + 2;
            if (in_c && I + J == order.diagonals() - corner) reads += left + 2 * above + (J > 0 ? 1 : 0);
        }
    const std::int64_t between = order.diagonals() - 2 * corner;
    const std::int64_t widest = between > 0 ? std::min(order.rows, order.cols) : 0;
    return {reads * static_cast<double>(core.layers) / core.elements(),
            writes * static_cast<double>(core.layers) / core.elements(),
            between + (corner > 0 ? 6 : 0) + cuda::border_launches(p),
            std::max(widest, order.before(corner)) * core.layers * threads_of(values)};
}

}  // namespace

constinit const algorithm_record sat_1r1w_hybrid_record{
    .info = {.what = operation::sat,
             .name = "1r1w-hybrid",
             .title = "2R1W in the corners, 1R1W between them",
             .paper = "Kasagi et al. 2014; Emoto et al. 2018, III.B, (1+r)R1W",
             .cost = "1 + r reads, 1 write per element; 2 (1 - sqrt(r)) n / W + 5 launches",
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
