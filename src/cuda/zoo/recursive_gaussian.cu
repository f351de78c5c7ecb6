// A Gaussian by recursive filters along rows and columns, forwards and backwards, in 2 reads and 1 write of the image.
// Nehab, Maximo, Lima, Hoppe: GPU-Efficient Recursive Filtering and Summed-Area Tables, 2011, algorithm 5 (overlapped
// rows and columns), of which 2r1w is the case of a table; the filter is that of van Vliet, Young, Verbeek: Recursive
// Gaussian Derivative Filters, 1998, of order r = 3.
//
// A causal filter y(i) = g x(i) + a1 y(i - 1) + a2 y(i - 2) + a3 y(i - 3) runs along each row, the same one backwards,
// then both along each column. They are linear, so a tile can be filtered as if zeros were around it; what comes from
// outside is added later, and is known from the r values beyond an edge: the prologue P (last values of a causal
// filter in the tile before) and the epilogue E (first values of the other in the tile behind). A first launch filters
// every tile alone and leaves its P and E along rows, and P' and E' along columns; walks over the tiles of a line make
// them those of the whole image, along rows, then along columns; a last launch filters every tile again, begun right.
//
//     image --+-> [P E P' E' of tiles alone] -> [walk along rows] -> [rows' part of P' E'] -> [walk along columns]
//             |        kernel 1                     kernel 2              kernel 3                kernel 4
//             +------------------------------------------------> [tiles, begun with P E P' E'] --> result
//                                                                   kernel 5
//
// Cost: 2 reads + 33/32, 1 write + 33/32 per element (4 carries of 3/32, which kernels 1 to 4 write and read); 5
// launches; a thread for 32 elements; workspace 12/32 elements per element; blocks exchange nothing but between
// launches.
// Limits: 32f and 64f; sigma 1 to 100. Below 1 the filter is no Gaussian, and with 32f rounding grows with sigma: 1e-4
// of the range of values at 10, 5e-3 at 40. Differs from the paper: a warp holds a tile of 32 x 32 in registers and
// transposes it (register_matrix.cuh), where the paper's filters columns in shared memory; the borders are zeros,
// exactly: the epilogue behind the last tile is what the causal filter's tail makes there (Triggs, Sdika 2006), where
// the paper pads the image; the scale of the poles is found from the variance, so that it is sigma^2.

#include "cuda/zoo/recursive_gaussian.hpp"

#include <boxsum/error.hpp>

#ifdef __CUDACC__
#include "core/view_checks.hpp"
#include "cuda/device/recursion.cuh"
#include "cuda/device/register_matrix.cuh"
#include "cuda/runtime/launch.cuh"

#include <string>
#endif

namespace boxsum::cuda {

#ifdef __CUDACC__

namespace {

// Policy

constexpr int order = recursion_order;
constexpr int tile_warps = 4;     // of a block, a tile each
constexpr int walk_threads = 64;  // few lines, long walks: small blocks spread over the multiprocessors
constexpr std::int64_t most_layers = 65535;

// Shared memory

/// Carries of a tile on their way along columns.
template <typename T>
struct carried_columns {
    T of[2 * order][matrix_size + 1];  ///< prologues, then epilogues, of 32 rows
};

// Kernels

/// The tile of a warp: row m, column n; `exists` is the same in all lanes.
struct own_tile {
    std::int64_t m, n, first_row, first_col;
    bool exists;

    template <typename T>
    __device__ explicit own_tile(const all_carries<T>& c) {
        const std::int64_t number = std::int64_t{blockIdx.x} * tile_warps + warp_id();
        m = number / c.tile_cols();
        n = number % c.tile_cols();
        first_row = m * matrix_size;
        first_col = n * matrix_size;
        exists = m < c.tile_rows();
    }
};

/// Kernel 1. A warp owns a tile of the layer blockIdx.y: reads the image, writes the carries of a tile among zeros.
template <typename T>
__global__ void __launch_bounds__(tile_warps* matrix_size)
    filter_alone_kernel(layers<const T> image, all_carries<T> c, const recursion<T> f) {
    __shared__ matrix_slot<T> slots[tile_warps];
    const own_tile tile(c);
    if (!tile.exists) return;
    const std::int64_t layer = blockIdx.y, row = tile.first_row + lane_id(), col = tile.first_col + lane_id();
    const T none[order] = {};
    T data[matrix_size];
    load_matrix(data, image[layer], tile.first_row, tile.first_col);
    transpose_matrix(data, slots[warp_id()]);
    filter_forwards(data, f, none);
#pragma unroll
    for (int k = 0; k < order; ++k) c.row_prologues.at(layer, tile.n, k, row) = data[matrix_size - 1 - k];
    filter_backwards(data, f, none);
#pragma unroll
    for (int k = 0; k < order; ++k) c.row_epilogues.at(layer, tile.n, k, row) = data[k];
    transpose_matrix(data, slots[warp_id()]);
    filter_forwards(data, f, none);
#pragma unroll
    for (int k = 0; k < order; ++k) c.col_prologues.at(layer, tile.m, k, col) = data[matrix_size - 1 - k];
    filter_backwards(data, f, none);
#pragma unroll
    for (int k = 0; k < order; ++k) c.col_epilogues.at(layer, tile.m, k, col) = data[k];
}

/// Kernels 2 and 4, in place, after kernels 1 and 3. A thread owns a line: carries of tiles alone become those of the
/// whole line, prologues from the first tile on, epilogues from the one behind the last.
template <typename T>
__global__ void __launch_bounds__(walk_threads)
    walk_lines_kernel(carries<T> prologues, carries<T> epilogues, const recursion<T> f) {
    const std::int64_t layer = blockIdx.y, line = std::int64_t{blockIdx.x} * walk_threads + threadIdx.x;
    if (line >= prologues.lines) return;
    T p[order] = {};
    for (std::int64_t n = 0; n < prologues.tiles; ++n) {
        T own[order];
        read_carries(own, prologues, layer, n, line);
        add_product(own, f.over, p);
#pragma unroll
        for (int k = 0; k < order; ++k) prologues.at(layer, n, k, line) = p[k] = own[k];
    }
    T e[order] = {};
    add_product(e, f.end, p);
#pragma unroll
    for (int k = 0; k < order; ++k) epilogues.at(layer, epilogues.tiles, k, line) = e[k];
    for (std::int64_t n = epilogues.tiles - 1; n >= 0; --n) {
        T own[order];
        read_carries(own, epilogues, layer, n, line);
        read_carries(p, prologues, layer, n - 1, line);
        add_product(own, f.turned, p);
        add_product(own, f.over, e);
#pragma unroll
        for (int k = 0; k < order; ++k) epilogues.at(layer, n, k, line) = e[k] = own[k];
    }
}

/// Kernel 3, after kernel 2. A warp owns a tile: what its rows' carries add to its values is a sum of outer products,
/// a column of carries by the row that each makes, so its columns' carries get those of the six columns, by that row.
template <typename T>
__global__ void __launch_bounds__(tile_warps* matrix_size) pass_rows_on_kernel(all_carries<T> c, const recursion<T> f) {
    __shared__ carried_columns<T> columns[tile_warps];
    const own_tile tile(c);
    if (!tile.exists) return;
    const std::int64_t layer = blockIdx.y, row = tile.first_row + lane_id(), col = tile.first_col + lane_id();
    auto& of = columns[warp_id()].of;
    T p[order], e[order];
    read_carries(p, c.row_prologues, layer, tile.n - 1, row);
    read_carries(e, c.row_epilogues, layer, tile.n + 1, row);
#pragma unroll
    for (int k = 0; k < order; ++k) {
        of[k][lane_id()] = p[k];
        of[order + k][lane_id()] = e[k];
    }
    __syncwarp();  // the six columns, each read by one lane
    T last[order] = {}, first[order] = {};
    if (lane_id() < 2 * order) {
        T data[matrix_size];
        const T none[order] = {};
#pragma unroll
        for (int j = 0; j < matrix_size; ++j) data[j] = of[lane_id()][j];
        filter_forwards(data, f, none);
#pragma unroll
        for (int k = 0; k < order; ++k) last[k] = data[matrix_size - 1 - k];
        filter_backwards(data, f, none);
#pragma unroll
        for (int k = 0; k < order; ++k) first[k] = data[k];
    }
    __syncwarp();  // of the warp, before its last and first values are handed round
#pragma unroll
    for (int j = 0; j < order; ++j) {
        T to_prologue = c.col_prologues.at(layer, tile.m, j, col),
          to_epilogue = c.col_epilogues.at(layer, tile.m, j, col);
#pragma unroll
        for (int k = 0; k < 2 * order; ++k) {
            const T made = k < order ? f.from_prologue[k % order][lane_id()] : f.from_epilogue[k % order][lane_id()];
            to_prologue += __shfl_sync(whole_warp, last[j], k) * made;
            to_epilogue += __shfl_sync(whole_warp, first[j], k) * made;
        }
        c.col_prologues.at(layer, tile.m, j, col) = to_prologue;
        c.col_epilogues.at(layer, tile.m, j, col) = to_epilogue;
    }
}

/// Kernel 5, after kernel 4. A warp owns a tile, last tiles first, as 2r1w has it: reads the image and the carries of
/// the tiles around, writes the result.
template <typename T>
__global__ void __launch_bounds__(tile_warps* matrix_size)
    filter_finally_kernel(layers<const T> image, all_carries<T> c, layers<T> result, const recursion<T> f) {
    __shared__ matrix_slot<T> slots[tile_warps];
    const own_tile tile(c);
    if (!tile.exists) return;
    const std::int64_t layer = blockIdx.y, row = tile.first_row + lane_id(), col = tile.first_col + lane_id();
    T data[matrix_size], carry[order];
    load_matrix(data, image[layer], tile.first_row, tile.first_col);
    transpose_matrix(data, slots[warp_id()]);
    read_carries(carry, c.row_prologues, layer, tile.n - 1, row);
    filter_forwards(data, f, carry);
    read_carries(carry, c.row_epilogues, layer, tile.n + 1, row);
    filter_backwards(data, f, carry);
    transpose_matrix(data, slots[warp_id()]);
    read_carries(carry, c.col_prologues, layer, tile.m - 1, col);
    filter_forwards(data, f, carry);
    read_carries(carry, c.col_epilogues, layer, tile.m + 1, col);
    filter_backwards(data, f, carry);
    store_matrix(data, result[layer], tile.first_row, tile.first_col);
}

// Host

std::int64_t tiles_of(std::int64_t extent) {
    return (extent + matrix_size - 1) / matrix_size;
}

template <typename T>
all_carries<T> carries_of(workspace_slots& slots, const view_shape& s) {
    return {slots, s.planes * s.channels, tiles_of(s.rows), tiles_of(s.cols)};
}

/// f.operator()<T>() for 32f and 64f.
template <typename F>
void visit_real(dtype type, F&& f) {
    if (type == dtype::f32)
        f.template operator()<float>();
    else if (type == dtype::f64)
        f.template operator()<double>();
    else
        throw unsupported("image: type is " + std::string(name_of(type)) + ", must be 32f or 64f");
}

template <typename T>
void enqueue(const const_any_view& image, const any_view& result, double sigma, void* workspace, stream_ref stream) {
    const view_shape &s = image.shape, &t = result.shape;
    workspace_slots slots(workspace);
    const all_carries<T> c = carries_of<T>(slots, s);
    const layers<const T> in{
        static_cast<const T*>(image.data), s.rows, s.cols, s.row_stride, s.plane_stride, s.planes, s.channels};
    const layers<T> out{
        static_cast<T*>(result.data), t.rows, t.cols, t.row_stride, t.plane_stride, t.planes, t.channels};
    const recursion<T> f = rounded<T>(recursion_of(sigma));
    const auto layer_count = static_cast<unsigned>(in.count());
    const auto blocks = [&](std::int64_t count, int of_block) {
        return dim3(static_cast<unsigned>((count + of_block - 1) / of_block), layer_count);
    };
    const launch_shape per_tile{.grid = blocks(c.tile_rows() * c.tile_cols(), tile_warps),
                                .block = tile_warps * matrix_size};
    const auto walk = [&](const carries<T>& prologues, const carries<T>& epilogues) {
        launch(walk_lines_kernel<T>, {.grid = blocks(prologues.lines, walk_threads), .block = walk_threads}, stream,
               prologues, epilogues, f);
    };
    launch(filter_alone_kernel<T>, per_tile, stream, in, c, f);
    walk(c.row_prologues, c.row_epilogues);
    launch(pass_rows_on_kernel<T>, per_tile, stream, c, f);
    walk(c.col_prologues, c.col_epilogues);
    launch(filter_finally_kernel<T>, per_tile, stream, in, c, out, f);
}

}  // namespace

std::size_t recursive_gaussian_bytes(const view_shape& image) {
    workspace_slots slots;
    visit_real(image.type, [&]<typename T>() { carries_of<T>(slots, image); });
    return slots.bytes();
}

void enqueue_recursive_gaussian(const const_any_view& image, const any_view& result, double sigma, void* workspace,
                                stream_ref stream) {
    check_view("image", image);
    check_view("result", result);
    const view_shape &s = image.shape, &t = result.shape;
    if (s.type != t.type || s.planes != t.planes || s.rows != t.rows || s.cols != t.cols || s.channels != t.channels)
        throw invalid_argument("result: is " + std::to_string(t.planes) + " x " + std::to_string(t.rows) + " x " +
                               std::to_string(t.cols) + " x " + std::to_string(t.channels) + ' ' +
                               std::string(name_of(t.type)) + ", must be as the image");
    if (!(sigma >= 1 && sigma <= 100)) throw invalid_argument("sigma: is " + text_of(sigma) + ", must be 1 to 100");
    if (s.planes * s.channels > most_layers)
        throw unsupported("image: has " + std::to_string(s.planes) + " planes of " + std::to_string(s.channels) +
                          " channels; must be at most " + std::to_string(most_layers) + " together");
    visit_real(s.type, [&]<typename T>() { enqueue<T>(image, result, sigma, workspace, stream); });
}

#else

std::size_t recursive_gaussian_bytes(const view_shape&) {
    throw unsupported("recursive Gaussian: exhibits on devices are not built");
}

void enqueue_recursive_gaussian(const const_any_view&, const any_view&, double, void*, stream_ref) {
    throw unsupported("recursive Gaussian: exhibits on devices are not built");
}

#endif

}  // namespace boxsum::cuda
