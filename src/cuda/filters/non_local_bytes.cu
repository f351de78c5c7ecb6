#include "cuda/filters/non_local_sums.cuh"
#include "cuda/runtime/launch.cuh"

#include <cstdint>

// Non-local means of bytes, one channel or three, patches of few rows: non_local_means.cu's results, bit for bit, from
// a tenth of the instructions.
//
// D is |x|^2 + |y|^2 - 2 x.y of two patches, exact in 32 bits. A lane has a column of pixels. A word holds
// four bytes of a row from a column on, so that a row of a patch is one or two words, and its part of x.y one or two
// dp4a. A column's products are summed from the top; a patch's are the difference of two of these sums. x stays in
// registers for the whole window. y moves down by a row from distance to distance, so that one row of it is read for
// all pixels of the lane; the registers' names turn with it, which is why as many distances are written out as rows are
// held.
//
// A weight of a pixel costs, for one channel and 7 x 7: 3.5 dp4a, 4 integer and 4 floating instructions, 1 power of
// two.

namespace boxsum::cuda {
namespace {

constexpr int warps_across = 2, warps_down = 4;
constexpr int tile_cols = 32 * warps_across;
constexpr int byte_threads = 32 * warps_across * warps_down;
constexpr std::uint32_t two_to_23 = 0x4b000000;  // as a float, whose last bits are integers

constexpr int tile_rows_of(int channels) {
    return byte_rows_of(channels) * warps_down;
}

/// |y|^2 of the patch around a pixel, and the pixel.
template <int Channels>
struct alignas(4 * (1 + Channels)) patch_pixel {
    std::uint32_t squares;
    float value[Channels];
};

/// A block's shared memory: sums, pixels, words by channel.
struct byte_layout {
    int word_rows, word_cols, pixel_rows, pixel_cols, channels;

    __host__ __device__ byte_layout(const window_reach& search, int patch_rows, int words, int channels_of)
        : word_rows(tile_rows_of(channels_of) + search.above + search.below + patch_rows - 1),
          word_cols(tile_cols + search.left + search.right + 4 * (words - 1)),
          pixel_rows(tile_rows_of(channels_of) + search.above + search.below),
          pixel_cols(tile_cols + search.left + search.right),
          channels(channels_of) {}

    __host__ __device__ int words_of_channel() const { return word_rows * word_cols; }
    __host__ __device__ int totals_bytes() const { return 8 * (1 + channels) * byte_rows_of(channels) * byte_threads; }
    __host__ __device__ int pixel_bytes() const { return 4 * (1 + channels) * pixel_rows * pixel_cols; }
    __host__ __device__ int bytes() const { return totals_bytes() + pixel_bytes() + 4 * channels * words_of_channel(); }
};

constexpr int words_of(int patch_rows) {
    return patch_rows == 3 ? 1 : 2;
}

/// A block owns a tile of pixels of task.area. PatchRows rows of words are a patch. Noisy: weights of sums up to some
/// size are 1.
template <int PatchRows, int Channels, bool Noisy>
__global__ __launch_bounds__(byte_threads,
                             Channels == 1 ? 2 : 1) void byte_patches_kernel(const __grid_constant__ non_local_task t,
                                                                             const byte_weights weights,
                                                                             unsigned across) {
    constexpr int W = byte_rows_of(Channels), held = W + PatchRows - 1, words = words_of(PatchRows);
    constexpr bool in_23_bits = Channels == 1;  // sums of patches
    using pixel_of_patch = patch_pixel<Channels>;
    const byte_layout layout(t.search, PatchRows, words, Channels);
    const int of_channel = layout.words_of_channel();
    double* const all_totals = dynamic_shared<double>();
    auto* const pixels = reinterpret_cast<pixel_of_patch*>(reinterpret_cast<char*>(all_totals) + layout.totals_bytes());
    auto* const quads = reinterpret_cast<std::uint32_t*>(reinterpret_cast<char*>(pixels) + layout.pixel_bytes());
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    const std::int64_t tile_row = t.area.first_row + std::int64_t{blockIdx.x / across} * tile_rows_of(Channels),
                       tile_col = t.area.first_col + std::int64_t{blockIdx.x % across} * tile_cols;
    const std::int64_t top = tile_row + t.above - t.search.above - t.patch.above,
                       left = tile_col + t.left - t.search.left - t.patch.left;
    const int last = t.patch.cols() - 4 * (words - 1);  // bytes of a row's last word that count
    const std::uint32_t counted = last == 4 ? ~0u : (1u << (8 * last)) - 1;

    // ---- words of four bytes from every column on ----
    for (int i = warp; i < layout.word_rows * Channels; i += byte_threads / 32) {
        const std::int64_t r = top + i % layout.word_rows,
                           row = (r < t.held_rows ? r : t.held_rows - 1) + i / layout.word_rows * t.held_rows;
        const auto* const from =
            reinterpret_cast<const std::uint32_t*>(static_cast<const u8*>(t.pixels) + row * t.pitch);
        for (int c = lane; c < layout.word_cols; c += 32) {
            const std::int64_t col = left + c, word = col / 4, end = t.pitch / 4 - 1;
            const std::uint32_t low = from[word < end ? word : end], high = from[word + 1 < end ? word + 1 : end];
            quads[i * layout.word_cols + c] = __funnelshift_r(low, high, 8 * static_cast<unsigned>(col % 4));
        }
    }
    __syncthreads();

    // ---- squares of patches ----
    for (int r = warp; r < layout.pixel_rows; r += byte_threads / 32)
        for (int c = lane; c < layout.pixel_cols; c += 32) {
            pixel_of_patch pixel{};
            const std::uint32_t* const first = quads + r * layout.word_cols + c;
#pragma unroll
            for (int k = 0; k < Channels; ++k) {
                for (int i = 0; i < PatchRows; ++i)
#pragma unroll
                    for (int n = 0; n < words; ++n) {
                        const std::uint32_t q = first[k * of_channel + i * layout.word_cols + 4 * n];
                        pixel.squares = __dp4a(q, n == words - 1 ? q & counted : q, pixel.squares);
                    }
                const std::uint32_t own =
                    first[k * of_channel + t.patch.above * layout.word_cols + t.patch.left / 4 * 4];
                pixel.value[k] = static_cast<float>(own >> (8 * (t.patch.left % 4)) & 0xffu);
            }
            pixels[r * layout.pixel_cols + c] = pixel;
        }
    __syncthreads();

    // ---- what stays the same for the whole window ----
    const int row = warp / warps_across * W, col = warp % warps_across * 32 + lane;
    std::uint32_t x[held][Channels][words], squares[W];
#pragma unroll
    for (int j = 0; j < held; ++j)
#pragma unroll
        for (int k = 0; k < Channels; ++k)
#pragma unroll
            for (int n = 0; n < words; ++n) {
                const std::uint32_t q =
                    quads[k * of_channel + (t.search.above + row + j) * layout.word_cols + t.search.left + col + 4 * n];
                x[j][k][n] = n == words - 1 ? q & counted : q;
            }
#pragma unroll
    for (int i = 0; i < W; ++i)
        squares[i] = pixels[(t.search.above + row + i) * layout.pixel_cols + t.search.left + col].squares +
                     (in_23_bits ? two_to_23 : 0);
    // Weights before the values of each channel.
    const auto total = [&](int i, int k) -> double& {
        return all_totals[(i * (1 + Channels) + k) * byte_threads + thread];
    };
#pragma unroll
    for (int i = 0; i < W; ++i)
#pragma unroll
        for (int k = 0; k <= Channels; ++k) total(i, k) = 0;

    const float share = weights.share(PatchRows * t.patch.cols() * Channels), zero = share * 0x1p23f;
    const int down = t.search.rows(), columns = t.search.cols();
    float sums[W] = {}, values[W][Channels] = {};
    for (int right = 0; right < columns; ++right) {
        const std::uint32_t* from = quads + row * layout.word_cols + col + right;
        const pixel_of_patch* pixel = pixels + row * layout.pixel_cols + col + right;
        // Slots of rows that turn: row d + j of distance d is in slot (d + j) % held.
        std::uint32_t y[held][Channels][words];
        pixel_of_patch q[held];
        const auto read = [&](std::uint32_t(&slot)[Channels][words]) {
#pragma unroll
            for (int k = 0; k < Channels; ++k)
#pragma unroll
                for (int n = 0; n < words; ++n) slot[k][n] = from[k * of_channel + 4 * n];
            from += layout.word_cols;
        };
#pragma unroll
        for (int j = 0; j < held - 1; ++j) read(y[j]);
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
                read(y[(d + held - 1) % held]);
                q[(d + W - 1) % held] = *pixel;
                pixel += layout.pixel_cols;
                std::uint32_t products[held + 1];
                products[0] = 0;
#pragma unroll
                for (int j = 0; j < held; ++j) {
                    products[j + 1] = products[j];
#pragma unroll
                    for (int k = 0; k < Channels; ++k)
#pragma unroll
                        for (int n = 0; n < words; ++n)
                            products[j + 1] = __dp4a(x[j][k][n], y[(d + j) % held][k][n], products[j + 1]);
                }
#pragma unroll
                for (int i = 0; i < W; ++i) {
                    const pixel_of_patch& other = q[(d + i) % held];
                    const std::uint32_t sum = squares[i] + other.squares - 2 * (products[i + PatchRows] - products[i]);
                    float exponent = 0;
                    if constexpr (in_23_bits) {
                        // Exact products of 2^23 and a float: both are what rounding -share * sum once gives.
                        const float raised = __uint_as_float(sum);
                        exponent = Noisy ? __fmaf_rn(raised - 0x1p23f, -share, weights.noise)
                                         : __fmaf_rn(raised, -share, zero);
                    } else {
                        exponent = __fmaf_rn(static_cast<float>(sum), -share, weights.noise);
                    }
                    const float weight = Noisy ? weight_of_power(exponent) : power_of_two_approximately(exponent);
                    sums[i] += weight;
#pragma unroll
                    for (int k = 0; k < Channels; ++k) values[i][k] = __fmaf_rn(weight, other.value[k], values[i][k]);
                }
            }
            if (!is_whole(done, down, held, done % held == 0)) continue;
#pragma unroll
            for (int i = 0; i < W; ++i) {
                total(i, 0) += static_cast<double>(sums[i]);
                sums[i] = 0;
#pragma unroll
                for (int k = 0; k < Channels; ++k) {
                    total(i, 1 + k) += static_cast<double>(values[i][k]);
                    values[i][k] = 0;
                }
            }
        }
    }
    if (tile_col + col >= t.area.end_col) return;
#pragma unroll
    for (int i = 0; i < W; ++i)
#pragma unroll
        for (int k = 0; k < Channels; ++k)
            if (tile_row + row + i < t.area.end_row)
                store_mean(t, tile_row + row + i, tile_col + col, k, total(i, 1 + k) / total(i, 0));
}

template <int PatchRows, int Channels>
void enqueue_patches(const non_local_task& task, stream_ref stream) {
    constexpr int tile_rows = tile_rows_of(Channels);
    const std::int64_t across = (task.area.end_col - task.area.first_col + tile_cols - 1) / tile_cols,
                       down = (task.area.end_row - task.area.first_row + tile_rows - 1) / tile_rows;
    const byte_layout layout(task.search, PatchRows, words_of(PatchRows), Channels);
    const launch_shape shape{.grid = static_cast<unsigned>(across * down),
                             .block = byte_threads,
                             .shared_bytes = static_cast<std::size_t>(layout.bytes())};
    launch(task.noise > 0 ? byte_patches_kernel<PatchRows, Channels, true>
                          : byte_patches_kernel<PatchRows, Channels, false>,
           shape, stream, task, byte_weights(task), static_cast<unsigned>(across));
}

template <int PatchRows>
void enqueue_patches(const non_local_task& task, stream_ref stream) {
    if (task.channels == 1)
        enqueue_patches<PatchRows, 1>(task, stream);
    else
        enqueue_patches<PatchRows, 3>(task, stream);
}

}  // namespace

bool byte_patches_support(const non_local_task& task, std::size_t shared_bytes) {
    const int rows = task.patch.rows(), cols = task.patch.cols(), words = words_of(rows);
    if (task.held != dtype::u8 || (task.channels != 1 && task.channels != 3)) return false;
    if ((rows != 3 && rows != 5 && rows != 7) || cols > 4 * words || cols <= 4 * (words - 1)) return false;
    // Before bytes are counted in 32 bits.
    return task.search.rows() <= 1024 && task.search.cols() <= 1024 &&
           static_cast<std::size_t>(byte_layout(task.search, rows, words, task.channels).bytes()) <= shared_bytes;
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
