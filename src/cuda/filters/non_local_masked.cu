#include "cuda/device/warp_scan.cuh"
#include "cuda/filters/non_local_sums.cuh"
#include "cuda/runtime/launch.cuh"

#include <cstdint>

// Non-local means of bytes that may not count, one channel or three, patches of few rows: as non_local_bytes.cu, of
// differences instead of products, since both squares depend on what counts in the other patch.
//
// A word holds four bytes of a row from a column on, and another says with bytes of 255 which of them count. The
// differences of two words are one instruction, what counts of them a second, their squares a dp4a, and how many count
// another: 255^2 for each. Both sums go down the columns, and a patch's are the difference of two of them. Pixels whose
// weights are all so small that single precision does not have their mean are computed once more in double, each by a
// warp.

namespace boxsum::cuda {
namespace {

constexpr int warps_across = 2;
constexpr int tile_cols = 32 * warps_across;
constexpr std::uint32_t two_to_23 = 0x4b000000;  // as a float, whose last bits are integers
constexpr float of_pair = 255 * 255;             // what a pair that counts adds to the number of pairs
constexpr double least_weights = 0x1p-8;         // whose mean single precision has

/// Pixels of a lane, and lanes down a block: as many as registers hold.
constexpr int rows_of(int channels) {
    return channels == 1 ? 6 : 4;
}
constexpr int warps_down(int channels) {
    return channels == 1 ? 3 : 4;
}
constexpr int threads_of(int channels) {
    return 32 * warps_across * warps_down(channels);
}
constexpr int tile_rows_of(int channels) {
    return rows_of(channels) * warps_down(channels);
}
constexpr int words_of(int patch_rows) {
    return patch_rows == 3 ? 1 : 2;
}

/// A pixel's values. Of one that does not count less than 0 goes to the number of its pairs.
template <int Channels>
struct alignas(4 * (1 + Channels)) counted_pixel {
    std::uint32_t raised;  ///< two_to_23, or 0
    float value[Channels];
};

/// A block's shared memory: sums, pixels, words by channel, and words of what counts.
struct masked_layout {
    int word_rows, word_cols, pixel_rows, pixel_cols, channels;

    __host__ __device__ masked_layout(const window_reach& search, int patch_rows, int words, int channels_of)
        : word_rows(tile_rows_of(channels_of) + search.above + search.below + patch_rows - 1),
          word_cols(tile_cols + search.left + search.right + 4 * (words - 1)),
          pixel_rows(tile_rows_of(channels_of) + search.above + search.below),
          pixel_cols(tile_cols + search.left + search.right),
          channels(channels_of) {}

    __host__ __device__ int words_of_channel() const { return word_rows * word_cols; }
    __host__ __device__ int totals_bytes() const {
        return 8 * (1 + channels) * rows_of(channels) * threads_of(channels);
    }
    __host__ __device__ int pixel_bytes() const { return 4 * (1 + channels) * pixel_rows * pixel_cols; }
    __host__ __device__ int bytes() const {
        return totals_bytes() + pixel_bytes() + 4 * (1 + channels) * words_of_channel();
    }
};

/// A block owns a tile of pixels.
template <int PatchRows, int Channels>
__global__ __launch_bounds__(threads_of(Channels),
                             Channels == 1 ? 2 : 1) void masked_bytes_kernel(const __grid_constant__ sampled_patches t,
                                                                             const byte_weights weights,
                                                                             unsigned across) {
    constexpr int W = rows_of(Channels), held = W + PatchRows - 1, words = words_of(PatchRows),
                  threads = threads_of(Channels);
    using pixel_of_patch = counted_pixel<Channels>;
    const masked_layout layout(t.search, PatchRows, words, Channels);
    const int of_channel = layout.words_of_channel();
    double* const all_totals = dynamic_shared<double>();
    auto* const pixels = reinterpret_cast<pixel_of_patch*>(reinterpret_cast<char*>(all_totals) + layout.totals_bytes());
    auto* const quads = reinterpret_cast<std::uint32_t*>(reinterpret_cast<char*>(pixels) + layout.pixel_bytes());
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    const std::int64_t tile_row = std::int64_t{blockIdx.x / across} * tile_rows_of(Channels),
                       tile_col = std::int64_t{blockIdx.x % across} * tile_cols;
    const std::int64_t top = tile_row + t.above - t.search.above - t.patch.above,
                       left = tile_col + t.left - t.search.left - t.patch.left;
    const int last = t.patch.cols() - 4 * (words - 1);  // bytes of a row's last word that are a patch's
    const std::uint32_t of_patch = last == 4 ? ~0u : (1u << (8 * last)) - 1;

    // ---- words of four bytes from every column on; what counts lies behind the channels ----
    for (int i = warp; i < layout.word_rows * (1 + Channels); i += threads / 32) {
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

    // ---- pixels ----
    for (int r = warp; r < layout.pixel_rows; r += threads / 32)
        for (int c = lane; c < layout.pixel_cols; c += 32) {
            const std::uint32_t* const own = quads + (r + t.patch.above) * layout.word_cols + c + t.patch.left / 4 * 4;
            const auto byte_of = [&](int k) { return own[k * of_channel] >> (8 * (t.patch.left % 4)) & 0xffu; };
            pixel_of_patch pixel;
            pixel.raised = byte_of(Channels) != 0 ? two_to_23 : 0;
#pragma unroll
            for (int k = 0; k < Channels; ++k) pixel.value[k] = static_cast<float>(byte_of(k));
            pixels[r * layout.pixel_cols + c] = pixel;
        }
    __syncthreads();

    // ---- what stays the same for the whole window ----
    using row_words = std::uint32_t[1 + Channels][words];
    const int row = warp / warps_across * W, col = warp % warps_across * 32 + lane;
    const auto read_row = [&](row_words& to, const std::uint32_t* from) {
#pragma unroll
        for (int k = 0; k <= Channels; ++k)
#pragma unroll
            for (int n = 0; n < words; ++n) to[k][n] = from[k * of_channel + 4 * n];
    };
    const auto read_own = [&](row_words& to, const std::uint32_t* from) {
        read_row(to, from);
        to[Channels][words - 1] &= of_patch;
    };
    const auto add_pairs = [](std::uint32_t& differences, std::uint32_t& pairs, const row_words& x,
                              const row_words& y) {
#pragma unroll
        for (int n = 0; n < words; ++n) {
            pairs = __dp4a(x[Channels][n], y[Channels][n], pairs);
#pragma unroll
            for (int k = 0; k < Channels; ++k) {
                const std::uint32_t d = __vabsdiffu4(x[k][n], y[k][n]) & x[Channels][n] & y[Channels][n];
                differences = __dp4a(d, d, differences);
            }
        }
    };
    const std::uint32_t* const own_words = quads + (t.search.above + row) * layout.word_cols + t.search.left;
    row_words x[held];
#pragma unroll
    for (int j = 0; j < held; ++j) read_own(x[j], own_words + j * layout.word_cols + col);
    // Weights before the values of each channel.
    const auto total = [&](int i, int k, int of) -> double& {
        return all_totals[(i * (1 + Channels) + k) * threads + of];
    };
#pragma unroll
    for (int i = 0; i < W; ++i)
#pragma unroll
        for (int k = 0; k <= Channels; ++k) total(i, k, thread) = 0;

    const float share = weights.share(Channels) * of_pair,
                least = t.least < 64 ? static_cast<float>(t.least) * of_pair : 0x1p23f;
    const int down = t.search.rows(), columns = t.search.cols();
    float sums[W] = {}, values[W][Channels] = {};
    std::uint32_t counts[W] = {};
    for (int right = 0; right < columns; ++right) {
        const std::uint32_t* from = quads + row * layout.word_cols + col + right;
        const pixel_of_patch* pixel = pixels + row * layout.pixel_cols + col + right;
        // Slots of rows that turn: row d + j of distance d is in slot (d + j) % held.
        row_words y[held];
        pixel_of_patch q[held];
#pragma unroll
        for (int j = 0; j < held - 1; ++j) {
            read_row(y[j], from);
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
                read_row(y[(d + held - 1) % held], from);
                from += layout.word_cols;
                q[(d + W - 1) % held] = *pixel;
                pixel += layout.pixel_cols;
                std::uint32_t differences[held + 1], pairs[held + 1];
                differences[0] = pairs[0] = 0;
#pragma unroll
                for (int j = 0; j < held; ++j) {
                    differences[j + 1] = differences[j];
                    pairs[j + 1] = pairs[j];
                    add_pairs(differences[j + 1], pairs[j + 1], x[j], y[(d + j) % held]);
                }
#pragma unroll
                for (int i = 0; i < W; ++i) {
                    const pixel_of_patch& other = q[(d + i) % held];
                    // Below 2^23, so that floats have them; of three channels below 2^24.
                    const float number = __uint_as_float(pairs[i + PatchRows] - pairs[i] + other.raised) - 0x1p23f;
                    const std::uint32_t sum = differences[i + PatchRows] - differences[i];
                    const float difference =
                        Channels == 1 ? __uint_as_float(sum + two_to_23) - 0x1p23f : static_cast<float>(sum);
                    const float mean = difference * inverse_approximately(number);
                    const float weight = weight_of_power(__fmaf_rn(mean, -share, weights.noise));
                    if (number < least) continue;
                    ++counts[i];
                    sums[i] += weight;
#pragma unroll
                    for (int k = 0; k < Channels; ++k) values[i][k] = __fmaf_rn(weight, other.value[k], values[i][k]);
                }
            }
            if (!is_whole(done, down, held, done % held == 0)) continue;
#pragma unroll
            for (int i = 0; i < W; ++i) {
                total(i, 0, thread) += static_cast<double>(sums[i]);
                sums[i] = 0;
#pragma unroll
                for (int k = 0; k < Channels; ++k) {
                    total(i, 1 + k, thread) += static_cast<double>(values[i][k]);
                    values[i][k] = 0;
                }
            }
        }
    }

    // ---- pixels with small weights only: a lane has every 32nd distance ----
#pragma unroll 1
    for (int i = 0; i < W; ++i) {
        std::uint32_t count = 0;
#pragma unroll
        for (int j = 0; j < W; ++j) count = i == j ? counts[j] : count;
        const bool exists = tile_col + col < t.cols && tile_row + row + i < t.rows;
        unsigned in_doubt = __ballot_sync(whole_warp, exists && count > 0 && total(i, 0, thread) < least_weights);
        for (; in_doubt != 0; in_doubt &= in_doubt - 1) {
            const int other = __ffs(static_cast<int>(in_doubt)) - 1, at = warp % warps_across * 32 + other;
            double mine[1 + Channels] = {};
            for (int distance = lane; distance < down * columns; distance += 32) {
                const int away = distance / columns, right = distance % columns;
                const pixel_of_patch& q = pixels[(row + i + away) * layout.pixel_cols + at + right];
                std::uint32_t difference = 0, number = 0;
                for (int j = 0; j < PatchRows; ++j) {
                    row_words here, there;
                    read_own(here, own_words + (i + j) * layout.word_cols + at);
                    read_row(there, quads + (row + i + away + j) * layout.word_cols + at + right);
                    add_pairs(difference, number, here, there);
                }
                number /= 255 * 255;
                if (q.raised == 0 || number == 0 || number < t.least) continue;
                const double beyond = difference / (Channels * static_cast<double>(number)) - t.noise,
                             weight = beyond <= 0 ? 1 : exp(-beyond * t.scale);
                mine[0] += weight;
#pragma unroll
                for (int k = 0; k < Channels; ++k) mine[1 + k] += weight * static_cast<double>(q.value[k]);
            }
#pragma unroll
            for (int k = 0; k <= Channels; ++k) {
                for (int step = 16; step > 0; step /= 2) mine[k] += shuffle_xor(mine[k], step);
                if (lane == other) total(i, k, thread) = mine[k];
            }
        }
    }

    if (tile_col + col >= t.cols) return;
#pragma unroll
    for (int i = 0; i < W; ++i)
#pragma unroll
        for (int k = 0; k < Channels; ++k) {
            if (tile_row + row + i >= t.rows) continue;
            const double all = total(i, 0, thread);
            store_mean(t, tile_row + row + i, tile_col + col, k, all == 0 ? t.fill : total(i, 1 + k, thread) / all);
            if (t.count.data != nullptr) store_count(t.count, tile_row + row + i, tile_col + col, k, counts[i]);
        }
}

template <int PatchRows, int Channels>
void enqueue_patches(const sampled_patches& patches, stream_ref stream) {
    constexpr int tile_rows = tile_rows_of(Channels);
    const std::int64_t across = (patches.cols + tile_cols - 1) / tile_cols,
                       down = (patches.rows + tile_rows - 1) / tile_rows;
    const masked_layout layout(patches.search, PatchRows, words_of(PatchRows), Channels);
    launch(masked_bytes_kernel<PatchRows, Channels>,
           {.grid = static_cast<unsigned>(across * down),
            .block = threads_of(Channels),
            .shared_bytes = static_cast<std::size_t>(layout.bytes())},
           stream, patches, byte_weights(patches), static_cast<unsigned>(across));
}

template <int PatchRows>
void enqueue_patches(const sampled_patches& patches, stream_ref stream) {
    if (patches.channels == 1)
        enqueue_patches<PatchRows, 1>(patches, stream);
    else
        enqueue_patches<PatchRows, 3>(patches, stream);
}

}  // namespace

bool masked_bytes_support(const non_local_task& task, std::size_t shared_bytes) {
    const int rows = task.patch.rows(), cols = task.patch.cols(), words = words_of(rows);
    if (task.held != dtype::u8 || (task.channels != 1 && task.channels != 3)) return false;
    if ((rows != 3 && rows != 5 && rows != 7) || cols > 4 * words || cols <= 4 * (words - 1)) return false;
    // Before bytes are counted in 32 bits.
    return task.search.rows() <= 1024 && task.search.cols() <= 1024 &&
           static_cast<std::size_t>(masked_layout(task.search, rows, words, task.channels).bytes()) <= shared_bytes;
}

void enqueue_masked_bytes(const sampled_patches& patches, stream_ref stream) {
    switch (patches.patch.rows()) {
        case 3:
            return enqueue_patches<3>(patches, stream);
        case 5:
            return enqueue_patches<5>(patches, stream);
        default:
            return enqueue_patches<7>(patches, stream);
    }
}

}  // namespace boxsum::cuda
