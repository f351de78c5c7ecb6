#include "cuda/filters/non_local_sums.cuh"
#include "cuda/runtime/launch.cuh"

#include <cstdint>

// Non-local means of bytes, one channel, patches of few rows: non_local_means.cu's results, bit for bit, from a tenth
// of the instructions.
//
// D is |x|^2 + |y|^2 - 2 x.y of two patches, exact in 32 bits. A lane has a column of byte_rows pixels. A word holds
// four bytes of a row from a column on, so that a row of a patch is one or two words, and its part of x.y one or two
// dp4a. A column's products are summed from the top; a patch's are the difference of two of these sums. x stays in
// registers for the whole window. y moves down by a row from distance to distance, so that one row of it is read for
// all pixels of the lane; the registers' names turn with it, which is why as many distances are written out as rows are
// held.
//
// A weight of a pixel costs, for 7 x 7: 3.5 dp4a, 4 integer and 4 floating instructions, 1 power of two.

namespace boxsum::cuda {
namespace {

constexpr int byte_rows = 8;  // pixels of a lane
constexpr int warps_across = 2, warps_down = 4;
constexpr int tile_cols = 32 * warps_across, tile_rows = byte_rows * warps_down;
constexpr int byte_threads = 32 * warps_across * warps_down;
constexpr std::uint32_t two_to_23 = 0x4b000000;  // as a float, whose last bits are integers

/// |y|^2 of the patch around a pixel, and the pixel.
struct patch_pixel {
    std::uint32_t squares;
    float value;
};

/// A block's shared memory.
struct byte_layout {
    int word_rows, word_cols, pixel_rows, pixel_cols;

    __host__ __device__ byte_layout(const window_reach& search, int patch_rows, int words)
        : word_rows(tile_rows + search.above + search.below + patch_rows - 1),
          word_cols(tile_cols + search.left + search.right + 4 * (words - 1)),
          pixel_rows(tile_rows + search.above + search.below),
          pixel_cols(tile_cols + search.left + search.right) {}

    static constexpr std::size_t totals_bytes = sizeof(double) * 2 * byte_rows * byte_threads;
    __host__ __device__ std::size_t pixel_bytes() const {
        return sizeof(patch_pixel) * static_cast<std::size_t>(pixel_rows) * static_cast<std::size_t>(pixel_cols);
    }
    __host__ __device__ std::size_t bytes() const {
        return totals_bytes + pixel_bytes() +
               sizeof(std::uint32_t) * static_cast<std::size_t>(word_rows) * static_cast<std::size_t>(word_cols);
    }
};

constexpr int words_of(int patch_rows) {
    return patch_rows == 3 ? 1 : 2;
}

/// A block owns a tile of pixels of task.area. PatchRows rows of Words words are a patch. Noisy: weights of sums up to
/// some size are 1.
template <int PatchRows, bool Noisy>
__global__ __launch_bounds__(byte_threads, 2) void byte_patches_kernel(const __grid_constant__ non_local_task t,
                                                                       const byte_weights weights, unsigned across) {
    constexpr int W = byte_rows, held = W + PatchRows - 1, words = words_of(PatchRows);
    const byte_layout layout(t.search, PatchRows, words);
    double* const all_totals = dynamic_shared<double>();
    auto* const pixels =
        reinterpret_cast<patch_pixel*>(reinterpret_cast<char*>(all_totals) + byte_layout::totals_bytes);
    auto* const quads = reinterpret_cast<std::uint32_t*>(reinterpret_cast<char*>(pixels) + layout.pixel_bytes());
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    const std::int64_t tile_row = t.area.first_row + std::int64_t{blockIdx.x / across} * tile_rows,
                       tile_col = t.area.first_col + std::int64_t{blockIdx.x % across} * tile_cols;
    const std::int64_t top = tile_row + t.above - t.search.above - t.patch.above,
                       left = tile_col + t.left - t.search.left - t.patch.left;
    const int last = t.patch.cols() - 4 * (words - 1);  // bytes of a row's last word that count
    const std::uint32_t counted = last == 4 ? ~0u : (1u << (8 * last)) - 1;

    // ---- words of four bytes from every column on ----
    for (int r = warp; r < layout.word_rows; r += byte_threads / 32) {
        const std::int64_t row = top + r < t.held_rows ? top + r : t.held_rows - 1;
        const auto* const from =
            reinterpret_cast<const std::uint32_t*>(static_cast<const u8*>(t.pixels) + row * t.pitch);
        for (int c = lane; c < layout.word_cols; c += 32) {
            const std::int64_t col = left + c, word = col / 4, end = t.pitch / 4 - 1;
            const std::uint32_t low = from[word < end ? word : end], high = from[word + 1 < end ? word + 1 : end];
            quads[r * layout.word_cols + c] = __funnelshift_r(low, high, 8 * static_cast<unsigned>(col % 4));
        }
    }
    __syncthreads();

    // ---- squares of patches ----
    for (int r = warp; r < layout.pixel_rows; r += byte_threads / 32)
        for (int c = lane; c < layout.pixel_cols; c += 32) {
            std::uint32_t squares = 0;
            for (int i = 0; i < PatchRows; ++i)
#pragma unroll
                for (int n = 0; n < words; ++n) {
                    const std::uint32_t q = quads[(r + i) * layout.word_cols + c + 4 * n];
                    squares = __dp4a(q, n == words - 1 ? q & counted : q, squares);
                }
            const std::uint32_t row = quads[(r + t.patch.above) * layout.word_cols + c + t.patch.left / 4 * 4];
            pixels[r * layout.pixel_cols + c] = {squares, static_cast<float>(row >> (8 * (t.patch.left % 4)) & 0xffu)};
        }
    __syncthreads();

    // ---- what stays the same for the whole window ----
    const int row = warp / warps_across * W, col = warp % warps_across * 32 + lane;
    std::uint32_t x[held][words], squares[W];
#pragma unroll
    for (int j = 0; j < held; ++j)
#pragma unroll
        for (int n = 0; n < words; ++n) {
            const std::uint32_t q = quads[(t.search.above + row + j) * layout.word_cols + t.search.left + col + 4 * n];
            x[j][n] = n == words - 1 ? q & counted : q;
        }
#pragma unroll
    for (int i = 0; i < W; ++i)
        squares[i] = pixels[(t.search.above + row + i) * layout.pixel_cols + t.search.left + col].squares + two_to_23;
    double* const totals = all_totals + thread;
#pragma unroll
    for (int k = 0; k < 2 * W; ++k) totals[k * byte_threads] = 0;

    const float share = weights.share(PatchRows * t.patch.cols()), zero = share * 0x1p23f;
    const int down = t.search.rows(), columns = t.search.cols();
    float sums[W] = {}, values[W] = {};
    for (int right = 0; right < columns; ++right) {
        const std::uint32_t* from = quads + row * layout.word_cols + col + right;
        const patch_pixel* pixel = pixels + row * layout.pixel_cols + col + right;
        // Slots of rows that turn: row d + j of distance d is in slot (d + j) % held.
        std::uint32_t y[held][words];
        patch_pixel q[held];
#pragma unroll
        for (int j = 0; j < held - 1; ++j) {
#pragma unroll
            for (int n = 0; n < words; ++n) y[j][n] = from[4 * n];
            from += layout.word_cols;
        }
#pragma unroll
        for (int i = 0; i < W - 1; ++i) {
            q[i] = *pixel;
            pixel += layout.pixel_cols;
        }
        for (int done = 0; done < down;) {
#pragma unroll
            for (int d = 0; d < held; ++d) {
                if (done == down) break;
                ++done;
#pragma unroll
                for (int n = 0; n < words; ++n) y[(d + held - 1) % held][n] = from[4 * n];
                from += layout.word_cols;
                q[(d + W - 1) % held] = *pixel;
                pixel += layout.pixel_cols;
                std::uint32_t products[held + 1];
                products[0] = 0;
#pragma unroll
                for (int j = 0; j < held; ++j) {
                    products[j + 1] = products[j];
#pragma unroll
                    for (int n = 0; n < words; ++n)
                        products[j + 1] = __dp4a(x[j][n], y[(d + j) % held][n], products[j + 1]);
                }
#pragma unroll
                for (int i = 0; i < W; ++i) {
                    const patch_pixel& other = q[(d + i) % held];
                    const float sum =
                        __uint_as_float(squares[i] + other.squares - 2 * (products[i + PatchRows] - products[i]));
                    // Exact products of 2^23 and a float: both are what rounding -share * D once gives.
                    const float exponent =
                        Noisy ? __fmaf_rn(sum - 0x1p23f, -share, weights.noise) : __fmaf_rn(sum, -share, zero);
                    const float weight = Noisy ? weight_of(exponent) : power_of_two_approximately(exponent);
                    sums[i] += weight;
                    values[i] = __fmaf_rn(weight, other.value, values[i]);
                }
            }
            if (!is_whole(done, down, held)) continue;
#pragma unroll
            for (int i = 0; i < W; ++i) {
                totals[i * byte_threads] += static_cast<double>(sums[i]);
                totals[(W + i) * byte_threads] += static_cast<double>(values[i]);
                sums[i] = values[i] = 0;
            }
        }
    }
    if (tile_col + col >= t.area.end_col) return;
#pragma unroll
    for (int i = 0; i < W; ++i)
        if (tile_row + row + i < t.area.end_row)
            store_mean(t, tile_row + row + i, tile_col + col, 0,
                       totals[(W + i) * byte_threads] / totals[i * byte_threads]);
}

template <int PatchRows>
void enqueue_patches(const non_local_task& task, stream_ref stream) {
    const std::int64_t across = (task.area.end_col - task.area.first_col + tile_cols - 1) / tile_cols,
                       down = (task.area.end_row - task.area.first_row + tile_rows - 1) / tile_rows;
    const launch_shape shape{.grid = static_cast<unsigned>(across * down),
                             .block = byte_threads,
                             .shared_bytes = byte_layout(task.search, PatchRows, words_of(PatchRows)).bytes()};
    launch(task.noise > 0 ? byte_patches_kernel<PatchRows, true> : byte_patches_kernel<PatchRows, false>, shape, stream,
           task, byte_weights(task), static_cast<unsigned>(across));
}

}  // namespace

bool byte_patches_support(const non_local_task& task, std::size_t shared_bytes) {
    const int rows = task.patch.rows();
    if (task.held != dtype::u8 || task.channels != 1 || (rows != 3 && rows != 5 && rows != 7)) return false;
    const int words = words_of(rows), cols = task.patch.cols();
    return cols <= 4 * words && cols > 4 * (words - 1) && task.together == byte_rows + rows - 1 &&
           byte_layout(task.search, rows, words).bytes() <= shared_bytes;
}

void enqueue_byte_patches(const non_local_task& task, stream_ref stream) {
    if (task.area.empty()) return;
    switch (task.patch.rows()) {
        case 3:
            return enqueue_patches<3>(task, stream);
        case 5:
            return enqueue_patches<5>(task, stream);
        default:
            return enqueue_patches<7>(task, stream);
    }
}

}  // namespace boxsum::cuda
