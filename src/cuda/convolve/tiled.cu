// Convolution, written for the machine: tiles of results in registers over a tile of pixels in shared memory.
//
// A lane owns neighbouring columns, as many as 16 bytes hold (4 of 32f, 2 of 64f), and 8 rows; a block has four warps,
// one below the other: 32 rows of 128 columns, 64 of 64f. Its pixels, borders resolved, are loaded into shared memory
// in the type of the sums. The kernel is taken in parts of at most 8 rows, so that loops over rows are unrolled, and a
// part in chunks of columns: a lane reads the weights of a chunk, all lanes the same ones, and then one row of its
// window after the other, of which each pixel meets all weights and results that it belongs to.
//
//     chunk of 4 columns, lane l:    pixels 4 l .. 4 l + 7 of row y, two loads of 16 bytes
//     result (i, 4 l + c)            += pixel (y, 4 l + c + m) * w[n][m]  for all n + i = y, m < 4, c < 4
//
// For 8 x 4 weights of 32f these are 38 loads to 1024 multiplications. Parts are of one size, so the last one reaches
// back over rows that the part before has, with weights of zero, and the last chunk has as many columns as are left:
// nothing is multiplied but pixels of the window. Code is what limits odd sizes: a body of 8 rows of 4 columns is 16
// KB, and warps wait for instructions. The pixels of a large kernel are loaded in bands of parts; results stay in
// registers.
//
// Cost: (32 + N - 1) (128 + M - 1) / 4096 reads, mostly of caches, 1 write per element; 1 launch; 1 / 32 threads per
// element. Limits: none of its own.

#include "cuda/convolve/bordered.cuh"
#include "cuda/convolve/kernels.hpp"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/runtime/launch.cuh"

#include <algorithm>

namespace boxsum::cuda {
namespace {

// Policy

constexpr int warps = 4, outputs = 8;       // of a block, one below the other; rows of results of a warp
constexpr int tile_rows = warps * outputs;  // of results
constexpr int most_rows = 8;                // of a part
constexpr int most_shared = 44 * 1024;      // bytes; of them five blocks fit a multiprocessor of 9.0

template <typename Sum>
constexpr int unit = 16 / static_cast<int>(sizeof(Sum));  // columns of a lane, and of a chunk but the last
template <typename Sum>
constexpr int columns = warp_size* unit<Sum>;  // of results of a warp

/// Blocks that a multiprocessor has registers for: 80 a thread, or 128 where fewer are spilled.
template <int N, typename Sum>
constexpr int blocks = N > 2 && sizeof(Sum) == 4 ? 6 : 4;

__host__ __device__ constexpr int padded(int n, int to) {
    return (n + to - 1) / to * to;
}

/// The rows of a kernel, cut into parts of one size.
struct row_parts {
    int rows, count, size;

    explicit row_parts(int kernel_rows) : rows(kernel_rows), count((rows + most_rows - 1) / most_rows) {
        size = (rows + count - 1) / count;
    }
    __host__ __device__ int first(int k) const { return k * size < rows - size ? k * size : rows - size; }
    /// Rows at the beginning of part k that an earlier part has.
    int shared(int k) const { return k * size - first(k); }
};

template <typename Sum>
struct tiled_call {
    const Sum* weights;  ///< part by part, chunk by chunk, [n][m]; parts padded to 16 bytes
    row_parts parts;
    int cols;                  ///< of the kernel
    int chunks, tail;          ///< of a part: whole ones, and columns of the last
    int band;                  ///< parts whose pixels are in shared memory together
    int pitch, tile_elements;  ///< of pixels in shared memory
    int above, left;
    unsigned blocks_across;
};

// Kernel

/// Adds to the results of a lane what W columns of N rows of weights make of its pixels. `from`: the first of them.
template <int N, int W, typename Sum>
__device__ void add_chunk(Sum (&sums)[outputs][unit<Sum>], const Sum* from, int pitch, const Sum* weights) {
    constexpr int C = unit<Sum>, width = padded(C + W - 1, C);
    using vector = vector_of<Sum, C>;
    Sum w[padded(N * W, C)];
#pragma unroll
    for (int k = 0; k < N * W; k += C) {
        const vector v = *reinterpret_cast<const vector*>(&weights[k]);
#pragma unroll
        for (int j = 0; j < C; ++j) w[k + j] = v.x[j];
    }
#pragma unroll
    for (int y = 0; y < outputs + N - 1; ++y) {
        Sum x[width];
#pragma unroll
        for (int k = 0; k < width; k += C) {
            const vector v = *reinterpret_cast<const vector*>(&from[y * pitch + k]);
#pragma unroll
            for (int j = 0; j < C; ++j) x[k + j] = v.x[j];
        }
#pragma unroll
        for (int n = 0; n < N; ++n) {
            const int i = y - n;
            if (i < 0 || i >= outputs) continue;
#pragma unroll
            for (int m = 0; m < W; ++m)
#pragma unroll
                for (int c = 0; c < C; ++c) sums[i][c] = fma(x[c + m], w[n * W + m], sums[i][c]);
        }
    }
}

template <int N, typename Sum>
__device__ void add_part(Sum (&sums)[outputs][unit<Sum>], const Sum* from, const Sum* weights,
                         const tiled_call<Sum>& call) {
    constexpr int C = unit<Sum>;
#pragma unroll 1
    for (int k = 0; k < call.chunks; ++k) {
        add_chunk<N, C>(sums, from, call.pitch, weights);
        from += C;
        weights += N * C;
    }
    if (call.tail == 1) return add_chunk<N, 1>(sums, from, call.pitch, weights);
    if constexpr (C == 4) {
        if (call.tail == 2) return add_chunk<N, 2>(sums, from, call.pitch, weights);
        if (call.tail == 3) return add_chunk<N, 3>(sums, from, call.pitch, weights);
    }
}

/// `rows` x `cols` pixels from (r, c) on, of which all are in the image.
template <typename Pixel, typename Sum>
__device__ void load_inside(Sum* tile, int pitch, int rows, int cols, const layer<const Pixel>& image, std::int64_t r,
                            std::int64_t c) {
    const auto load_rows = [&](auto step) {
        const int extra = cols - columns<Sum> - lane_id();  // columns from the lane's on, beyond those of the results
        Sum* to = tile + warp_id() * pitch + lane_id();
        line<const Pixel> from{&image.at(r + warp_id(), c + lane_id()), image.row_stride};
#pragma unroll 4
        for (int y = warp_id(); y < rows; y += warps) {
            const auto load = [&](int x) {
                const Pixel* const pixel = &from.first[x * step];
                if constexpr (std::is_same_v<Pixel, Sum>)
                    copy_async<sizeof(Sum)>(&to[x], pixel);
                else
                    to[x] = widen<Sum>(*pixel);
            };
#pragma unroll
            for (int x = 0; x < columns<Sum>; x += warp_size) load(x);
            if (extra > 0) load(columns<Sum>);
            if (extra > warp_size) load(columns<Sum> + warp_size);
            to += warps * pitch;
            from.first = &from[warps];
        }
    };
    if (image.col_stride == sizeof(Pixel))
        load_rows(std::integral_constant<std::int64_t, 1>{});
    else
        load_rows(image.col_stride / static_cast<std::int64_t>(sizeof(Pixel)));
}

/// The same of any place: sources first, so that their reads overlap. (A block that waited for each read after the
/// other would take several times as long as one inside.)
template <typename Pixel, typename Sum>
__device__ void load_tile(Sum* tile, int pitch, int rows, int cols, const bordered<Pixel, Sum>& in, std::int64_t r,
                          std::int64_t c) {
    if (r >= 0 && r + rows <= in.image.rows && c >= 0 && c + cols <= in.image.cols)
        return load_inside(tile, pitch, rows, cols, in.image, r, c);
    constexpr int batch = 4;
#pragma unroll 1
    for (int x = lane_id(); x < cols; x += warp_size) {
        const std::int64_t from_col = source(c + x, in.image.cols, in.border);
        const line<const Pixel> column = in.image.column(from_col < 0 ? 0 : from_col);
#pragma unroll 1
        for (int first = warp_id(); first < rows; first += batch * warps) {
            const Pixel* from[batch];  // null: the border's value
#pragma unroll
            for (int k = 0; k < batch; ++k) {
                const std::int64_t y = r + first + k * warps;
                const std::int64_t from_row = from_col < 0 ? -1 : source(y, in.image.rows, in.border);
                from[k] = from_row < 0 ? nullptr : &column[from_row];
            }
            Sum* const to = &tile[first * pitch + x];
            if constexpr (std::is_same_v<Pixel, Sum>) {
#pragma unroll
                for (int k = 0; k < batch; ++k) {
                    if (first + k * warps >= rows) break;
                    if (from[k] == nullptr)
                        to[k * warps * pitch] = in.value;
                    else
                        copy_async<sizeof(Sum)>(&to[k * warps * pitch], from[k]);
                }
            } else {
                Sum pixels[batch];
#pragma unroll
                for (int k = 0; k < batch; ++k) pixels[k] = from[k] == nullptr ? in.value : widen<Sum>(*from[k]);
#pragma unroll
                for (int k = 0; k < batch; ++k)
                    if (first + k * warps < rows) to[k * warps * pitch] = pixels[k];
            }
        }
    }
}

/// A block owns `tile_rows` rows and `columns` columns of layer blockIdx.y. `aligned`: results may be written as
/// vectors.
template <int N, typename Pixel, typename Sum>
__global__ void __launch_bounds__(warps* warp_size, blocks<N, Sum>)
    tiled_kernel(convolved<Pixel, Sum> all, tiled_call<Sum> call, bool aligned) {
    constexpr int C = unit<Sum>;
    auto* const tile = dynamic_shared<Sum>();
    Sum* const weights = tile + call.tile_elements;
    const std::int64_t row = std::int64_t{blockIdx.x / call.blocks_across} * tile_rows;
    const std::int64_t col = std::int64_t{blockIdx.x % call.blocks_across} * columns<Sum>;
    const Sum* const mine = tile + warp_id() * outputs * call.pitch + lane_id() * C;

    const int part_weights = padded(N * call.cols, C);
    Sum sums[outputs][C] = {};
    for (int first = 0; first < call.parts.count; first += call.band) {
        const int end = first + call.band < call.parts.count ? first + call.band : call.parts.count;
        const int top = call.parts.first(first), rows = call.parts.first(end - 1) + N - top;
        if (first > 0) __syncthreads();  // all have read the band before
        load_tile(tile, call.pitch, tile_rows + rows - 1, columns<Sum> + call.cols - 1, all.input(blockIdx.y),
                  row - call.above + top, col - call.left);
        for (int i = static_cast<int>(threadIdx.x); i < (end - first) * part_weights; i += warps * warp_size)
            weights[i] = call.weights[first * part_weights + i];
        group_copies();
        wait_for_copies<0>();
        __syncthreads();  // pixels and weights are there

        for (int k = first; k < end; ++k)
            add_part<N>(sums, mine + (call.parts.first(k) - top) * call.pitch, weights + (k - first) * part_weights,
                        call);
    }

    const layer<Sum> out = all.result[blockIdx.y];
    const std::int64_t top = row + warp_id() * outputs;
    if (aligned && col + columns<Sum> <= out.cols) {
        line<Sum> to{&out.at(top, col + lane_id() * C), out.row_stride};
#pragma unroll
        for (int i = 0; i < outputs; ++i) {
            if (top + i < out.rows) store_streaming(to.first, sums[i]);
            to.first = &to[1];
        }
        return;
    }
    // Through shared memory, so that lanes write neighbours
    __syncthreads();  // all have read their pixels
    Sum* const turned = tile + warp_id() * outputs * columns<Sum>;
#pragma unroll
    for (int i = 0; i < outputs; ++i) {
        vector_of<Sum, C> v;
#pragma unroll
        for (int c = 0; c < C; ++c) v.x[c] = sums[i][c];
        *reinterpret_cast<vector_of<Sum, C>*>(&turned[i * columns<Sum> + lane_id() * C]) = v;
    }
    __syncwarp();  // the warp has written its results
#pragma unroll 1
    for (int i = 0; i < outputs && top + i < out.rows; ++i)
#pragma unroll
        for (int x = lane_id(); x < columns<Sum>; x += warp_size)
            if (col + x < out.cols) store_streaming(&out.at(top + i, col + x), turned[i * columns<Sum> + x]);
}

// Host

const char* refuses(const convolution::job&) {
    return nullptr;
}

std::vector<double> weights_of(const convolution::job& j) {
    const int chunk = j.result.type == dtype::f64 ? unit<f64> : unit<f32>;
    const row_parts parts(j.rows);
    std::vector<double> all;
    for (int k = 0; k < parts.count; ++k) {
        for (int col = 0, width; col < j.cols; col += width) {
            width = std::min(chunk, j.cols - col);
            for (int n = 0; n < parts.size; ++n)
                for (int m = 0; m < width; ++m) {
                    const auto at = static_cast<std::size_t>((parts.first(k) + n) * j.cols + col + m);
                    all.push_back(n < parts.shared(k) ? 0 : j.weights[at]);
                }
        }
        all.resize(static_cast<std::size_t>(padded(static_cast<int>(all.size()), chunk)));
    }
    return all;
}

bool is_aligned(const void* data, const view_shape& s) {
    return s.channels == 1 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && s.row_stride % 16 == 0 &&
           (s.planes == 1 || s.plane_stride % 16 == 0);
}

void enqueue(const convolution::job& j, const void* image, void* result, const void* weights, stream_ref stream) {
    visit_convolved(j, image, result, [&]<typename Pixel, typename Sum>(const convolved<Pixel, Sum>& all) {
        constexpr int C = unit<Sum>;
        const row_parts parts(j.rows);
        const int tail = j.cols % C, pitch = columns<Sum> + padded(j.cols - 1, C);
        // Bands of one size, as few as shared memory allows
        const auto elements = [&](int band) { return (tile_rows + std::min(band * parts.size, j.rows) - 1) * pitch; };
        const auto bytes = [&](int band) {
            return (elements(band) + band * padded(parts.size * j.cols, C)) * static_cast<int>(sizeof(Sum));
        };
        int bands = 1;
        const auto of_bands = [&] { return (parts.count + bands - 1) / bands; };
        while (of_bands() > 1 && bytes(of_bands()) > most_shared) ++bands;

        const std::int64_t across = ceil_div(j.image.cols, columns<Sum>), down = ceil_div(j.image.rows, tile_rows);
        const tiled_call<Sum> call{.weights = static_cast<const Sum*>(weights),
                                   .parts = parts,
                                   .cols = j.cols,
                                   .chunks = (j.cols - tail) / C,
                                   .tail = tail,
                                   .band = of_bands(),
                                   .pitch = pitch,
                                   .tile_elements = elements(of_bands()),
                                   .above = j.above,
                                   .left = j.left,
                                   .blocks_across = static_cast<unsigned>(across)};
        visit_rows<1, most_rows>(parts.size, [&]<int N>() {
            launch(tiled_kernel<N, Pixel, Sum>,
                   {.grid = dim3(static_cast<unsigned>(across * down), static_cast<unsigned>(all.image.count())),
                    .block = warps * warp_size,
                    .shared_bytes = static_cast<std::size_t>(bytes(of_bands()))},
                   stream, all, call, is_aligned(result, j.result));
        });
    });
}

}  // namespace

const convolve_algorithm convolve_tiled{"tiled", refuses, weights_of, enqueue};

}  // namespace boxsum::cuda
