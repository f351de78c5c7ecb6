#include "cuda/device/ptx.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/filters/pixel_runs.cuh"
#include "cuda/filters/radius_tiles.hpp"
#include "cuda/filters/variable_windows.cuh"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/device_limits.hpp"

#include <algorithm>
#include <limits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).
//
// A block owns some rows and columns of results. It makes a table of their pixels and of as many on every side as
// windows may reach, continued beyond the image's borders while it loads them: first each warp the sums down the
// columns of its rows, then threads what lies above them, then each warp the sums along its rows. Sums wrap, windows'
// own do not. Each thread reads the four entries of its pixels' windows then; in memory such reads of a warp touch as
// many lines as there are radii, one after another, here some three or four have the same bank.

namespace boxsum::cuda {
namespace {

constexpr int largest_tile_radius = 31;  ///< of 8u, sum and count of a window fit a word: 255 * 63 * 63 is below 2^20
constexpr int count_bit = 20;            ///< of that word, the count's first

constexpr int tile_threads = 512;
constexpr int tile_warps = tile_threads / warp_size;
constexpr int lane_cols = 8;                       ///< neighbours that a lane owns of a row of the table
constexpr int table_cols = warp_size * lane_cols;  ///< of a table
constexpr int segment_rows = 7;                    ///< of the table's, which a warp owns
constexpr int most_tile_rows = 110;                ///< of pixels: two blocks of a multiprocessor, of 111 KiB each
constexpr int rows_together = 4;                   ///< of a thread's results, whose entries are read together
static_assert(most_tile_rows <= tile_warps * segment_rows);

struct tile_task {
    filters::window_axis rows, cols;
    const char *image, *mask;  ///< named from row 0; without a mask null
    std::int64_t image_stride, mask_stride;
    int channels, mask_channels;
    bool aligned;  ///< lanes' pixels are a word or more each, wherever a table begins at a multiple of theirs
    std::int64_t first_row, end_row;
    radius_plane radii;
    int radius_bytes;
    int most;
    int left;                    ///< columns of a table before those of results: more than `most`, whole runs of lanes
    int block_rows, block_cols;  ///< of results
    int table_rows;              ///< of pixels, at most
    u32 border, border_counts;   ///< of pixels that the image does not have, as its pixels lie in memory
    u32 raised;  ///< 32768 with 16s: the table has pixels higher by so much, and their highest bit is another
    int nodata;  ///< -1: none
    any_view result, count;
    u32 min_count;
    bool half_up;
    double fill;
};

/// A lane's pixels of a row of the table, and whether they count.
template <typename Pixel, bool Counted>
struct lane_pixels {
    static constexpr int in_word = 4 / static_cast<int>(sizeof(Pixel)), words = lane_cols / in_word;
    vector_of<u32, words> pixels;
    vector_of<u32, Counted ? words : 1> counts;  ///< 0 or 1 in place of each pixel

    /// Adds pixels to sums down the columns: a number is taken out of its word and added at once.
    __device__ void add_pixels(u32 (&down)[lane_cols]) const {
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) {
            const u32 word = pixels.x[i / in_word], byte = 1U << (i % in_word * 8);
            down[i] = in_word == 4 ? __dp4a(word, byte, down[i]) : __dp2a_lo(word, byte, down[i]);
        }
    }
    __device__ void set(int i, u32 pixel, u32 count) {
        const int shift = i % in_word * 8 * static_cast<int>(sizeof(Pixel));
        pixels.x[i / in_word] |= pixel << shift;
        if constexpr (Counted) counts.x[i / in_word] |= count << shift;
    }
};

/// Adds numbers that a lane has as bytes to the counts of its sums.
__device__ __forceinline__ void add_counts(u32 (&down)[lane_cols], const vector_of<u32, 2>& counts) {
#pragma unroll
    for (int i = 0; i < lane_cols; ++i) down[i] += (counts.x[i / 4] >> (i % 4 * 8) & 0xff) << count_bit;
}

/// A lane's pixels of consecutive rows of the table.
template <typename Pixel, bool Counted>
struct tile_loads {
    lane_pixels<Pixel, Counted> of_row[segment_rows];

    /// Rows first_row .. of the extended image, the first `valid` of them, from its column first_col on. `sources`: the
    /// image's columns that those of the table are, or -1.
    __device__ __forceinline__ void read(const tile_task& t, std::int64_t first_row, int valid, std::int64_t first_col,
                                         const int* sources, int channel) {
        // Of all lanes' rows a lane looks at one.
        const int own_row = lane_id() < valid ? static_cast<int>(t.rows.source(first_row + lane_id())) : -1;
        const std::int64_t col = first_col + lane_id() * lane_cols;
        const bool whole = t.aligned && first_col >= 0 && first_col + table_cols <= t.cols.extent &&
                           __all_sync(whole_warp, own_row >= 0 || lane_id() >= valid || lane_id() >= segment_rows);
#pragma unroll
        for (int k = 0; k < segment_rows; ++k) of_row[k] = {};
        if (whole) {
#pragma unroll
            for (int k = 0; k < segment_rows; ++k) {
                const std::int64_t row = shuffle(own_row, k);
                if (k >= valid) continue;
                using run = vector_of<u32, lane_pixels<Pixel, Counted>::words>;
                of_row[k].pixels =
                    *reinterpret_cast<const run*>(reinterpret_cast<const Pixel*>(t.image + row * t.image_stride) + col);
                if constexpr (Counted)
                    of_row[k].counts = t.mask == nullptr
                                           ? run{0x01010101, 0x01010101}
                                           : *reinterpret_cast<const run*>(t.mask + row * t.mask_stride + col);
            }
        } else {
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) {
                const std::int64_t from = sources[lane_id() * lane_cols + i];
#pragma unroll
                for (int k = 0; k < segment_rows; ++k) {
                    const std::int64_t row = shuffle(own_row, k);
                    if (k >= valid) continue;
                    if (row < 0 || from < 0) {
                        of_row[k].set(i, t.border, t.border_counts);
                        continue;
                    }
                    const u32 pixel =
                        reinterpret_cast<const Pixel*>(t.image + row * t.image_stride)[from * t.channels + channel];
                    u32 counts = 1;
                    if constexpr (Counted)
                        if (t.mask != nullptr)
                            counts = t.mask[row * t.mask_stride + from * t.mask_channels +
                                            (t.mask_channels == 1 ? 0 : channel)] != 0;
                    of_row[k].set(i, pixel, counts);
                }
            }
        }
#pragma unroll
        for (int k = 0; k < segment_rows; ++k) {
            if (k >= valid) continue;
            lane_pixels<Pixel, Counted>& to = of_row[k];
#pragma unroll
            for (int w = 0; w < lane_pixels<Pixel, Counted>::words; ++w) {
                if constexpr (Counted) {
                    u32 counts = nonzero_bytes(to.counts.x[w]);
                    if (t.nodata >= 0)
                        counts &= nonzero_bytes(to.pixels.x[w] ^ static_cast<u32>(t.nodata) * 0x01010101);
                    to.counts.x[w] = counts;
                    to.pixels.x[w] &= counts * 0xff;
                } else {
                    to.pixels.x[w] ^= t.raised * 0x10001;
                }
            }
        }
    }
};

using four_entries = vector_of<u32, 4>;

/// Of eight neighbouring lanes four begin with their later half, so that they meet all banks.
__device__ __forceinline__ void store_entries(u32* to, const u32 (&x)[lane_cols]) {
    const int later = lane_id() >> 2 & 1;
    const four_entries a{x[0], x[1], x[2], x[3]}, b{x[4], x[5], x[6], x[7]};
    reinterpret_cast<four_entries*>(to)[later] = later != 0 ? b : a;
    reinterpret_cast<four_entries*>(to)[later ^ 1] = later != 0 ? a : b;
}

/// Makes the table of `height` rows of pixels from row `first_row` and column `first_col` of the extended image on.
/// Entry (r, c) is the sum of the rows before r up to column c.
template <typename Pixel, bool Counted>
__device__ __forceinline__ void make_table(u32* table, const tile_task& t, std::int64_t first_row, int height,
                                           std::int64_t first_col, const int* sources, int channel) {
    const int segment = warp_id() * segment_rows;  // the rows of a warp
    tile_loads<Pixel, Counted> pixels;
    pixels.read(t, first_row + segment, height - segment, first_col, sources, channel);
    u32* const own = table + (segment + 1) * table_cols + lane_id() * lane_cols;
    u32 down[lane_cols] = {};
#pragma unroll
    for (int k = 0; k < segment_rows; ++k) pixels.of_row[k].add_pixels(down);
    if constexpr (Counted) {
        vector_of<u32, 2> counts{};  // below 256 each
#pragma unroll
        for (int k = 0; k < segment_rows; ++k)
#pragma unroll
            for (int w = 0; w < 2; ++w) counts.x[w] += pixels.of_row[k].counts.x[w];
        add_counts(down, counts);
    }
    if (segment < height) store_entries(own, down);
    __syncthreads();  // the sums of all warps' rows, stored above, are there for the columns' threads
    if (threadIdx.x < table_cols) {
        u32* const column = table + threadIdx.x;
        u32 above = 0;
        column[0] = 0;
#pragma unroll
        for (int w = 0; w < tile_warps; ++w) {
            if (w * segment_rows >= height) continue;
            u32& begin = column[(w * segment_rows + 1) * table_cols];
            const u32 sum = begin;
            begin = above;
            above += sum;
        }
    }
    __syncthreads();  // what lies above each warp's rows, stored by those threads, is there for it
    if (segment < height) {
        const four_entries a = reinterpret_cast<const four_entries*>(own)[0],
                           b = reinterpret_cast<const four_entries*>(own)[1];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            down[i] = a.x[i];
            down[i + 4] = b.x[i];
        }
    }
#pragma unroll
    for (int k = 0; k < segment_rows; ++k) {
        pixels.of_row[k].add_pixels(down);
        if constexpr (Counted) add_counts(down, pixels.of_row[k].counts);
        u32 along[lane_cols];
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) along[i] = i == 0 ? down[0] : along[i - 1] + down[i];
        const u32 before = warp_scan(along[lane_cols - 1]) - along[lane_cols - 1];
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) along[i] += before;
        if (segment + k < height) store_entries(own + k * table_cols, along);  // the others are summed for nothing
    }
    __syncthreads();  // all rows of the table are there for all threads' windows
}

/// The radii of some rows below each other, as numbers of 32 bits have them; 0 from row `valid` on.
__device__ __forceinline__ void ask_for(u32 (&bits)[rows_together], const char* from, const radius_plane& radii,
                                        int valid) {
    radii.visit([&](auto number) {
        const auto at = [&](int j) {
            return static_cast<u32>(*reinterpret_cast<const decltype(number)*>(from + j * radii.row_stride));
        };
        if (valid >= rows_together) {
#pragma unroll
            for (int j = 0; j < rows_together; ++j) bits[j] = at(j);
            return;
        }
#pragma unroll
        for (int j = 0; j < rows_together; ++j) bits[j] = j < valid ? at(j) : 0;
    });
}

/// Samples of the axis in the window around i, where it is cut.
__device__ __forceinline__ u32 cut_samples(const filters::window_axis& axis, std::int64_t i, u32 radius) {
    const std::int64_t reach = radius, last = axis.extent - 1 - i, before = i < reach ? i : reach,
                       after = last < reach ? last : reach;
    return static_cast<u32>(before + after + 1);
}

/// What a mean of bytes wants of a window inside the image, by its radius.
struct window_size {
    u32 inverse;  ///< 2^32 / n, rounded down
    u32 half;     ///< n / 2, rounded up
};

template <typename Pixel, bool Counted>
__global__ __launch_bounds__(tile_threads, 2) void radius_tile_kernel(const __grid_constant__ tile_task t) {
    u32* const table = dynamic_shared<u32>();
    int* const sources = reinterpret_cast<int*>(table + (t.table_rows + 1) * table_cols);
    auto* const sizes = reinterpret_cast<window_size*>(sources + table_cols);
    const int first_col = static_cast<int>(blockIdx.x) * t.block_cols, width = static_cast<int>(t.cols.extent);
    if (threadIdx.x < table_cols)
        sources[threadIdx.x] = static_cast<int>(t.cols.source(first_col - t.left + static_cast<int>(threadIdx.x)));
    if (threadIdx.x <= static_cast<u32>(largest_tile_radius)) {
        const u32 n = (2 * threadIdx.x + 1) * (2 * threadIdx.x + 1);
        sizes[threadIdx.x] = {~0U / n, n / 2 + 1};
    }
    __syncthreads();  // the columns' sources and the sizes of windows are there for all
    // Below it are numbers that mean 0; of a type without negative ones no number is.
    const int least = t.radii.type == dtype::s32 ? 0 : std::numeric_limits<int>::min();
    for (std::int64_t first = t.first_row + std::int64_t{blockIdx.y} * t.block_rows; first < t.end_row;
         first += std::int64_t{gridDim.y} * t.block_rows) {
        const int rows = t.end_row - first < t.block_rows ? static_cast<int>(t.end_row - first) : t.block_rows;
        const bool cut =
            t.rows.border == border_mode::shrink && (first < t.most || first + rows + t.most > t.rows.extent ||
                                                     first_col < t.most || first_col + t.block_cols + t.most > width);
        for (int channel = 0; channel < t.channels; ++channel) {
            // A warp's turns are columns next to each other, some rows a turn, then the next columns.
            const int turns_down = (rows + rows_together - 1) / rows_together,
                      turns = turns_down * (t.block_cols / warp_size), of_warp = (turns + tile_warps - 1) / tile_warps,
                      begin = warp_id() * of_warp;
            int left = begin + of_warp < turns ? of_warp : turns - begin;
            int next_row = begin % turns_down * rows_together, next_col = begin / turns_down * warp_size + lane_id();
            const char* map = nullptr;  // the radii there
            const auto go_to = [&] {
                const int there = first_col + next_col < width ? first_col + next_col : width - 1;
                map = t.radii.data + (first + next_row) * t.radii.row_stride + std::int64_t{there} * t.radius_bytes;
            };
            u32 bits[rows_together];
            if (left > 0) {
                go_to();
                ask_for(bits, map, t.radii, rows - next_row);
            }
            make_table<Pixel, Counted>(table, t, first - t.most, rows + 2 * t.most, first_col - t.left, sources,
                                       channel);
            for (; left > 0; --left) {
                const int row = next_row, col = next_col;
                u32 radius[rows_together];
#pragma unroll
                for (int j = 0; j < rows_together; ++j) {
                    const int r = static_cast<int>(bits[j]);
                    const auto given = static_cast<u32>(r > least ? r : least);
                    radius[j] = given < static_cast<u32>(t.most) ? given : static_cast<u32>(t.most);
                }
                next_row += rows_together;
                map += rows_together * t.radii.row_stride;
                if (next_row >= rows) {
                    next_row = 0;
                    next_col += warp_size;
                    go_to();
                }
                if (left > 1) ask_for(bits, map, t.radii, rows - next_row);
                const auto* const center =
                    reinterpret_cast<const char*>(table + (t.most + row) * table_cols + t.left + col);
                u32 sum[rows_together], n[rows_together];
                bool wanted[rows_together];
#pragma unroll
                for (int j = 0; j < rows_together; ++j) {
                    constexpr int entry = sizeof(u32), line = table_cols * entry;
                    const int across = static_cast<int>(radius[j]) * (line + entry),
                              along = static_cast<int>(radius[j]) * (line - entry);
                    const auto at = [&](int bytes) { return *reinterpret_cast<const u32*>(center + j * line + bytes); };
                    sum[j] = (at(across + line) - at(along + line - entry)) - (at(-along) - at(-across - entry));
                    const u32 side = 2 * radius[j] + 1;
                    n[j] = side * side;
                    wanted[j] = first_col + col < width && row + j < rows;
                }
                if constexpr (Counted) {
#pragma unroll
                    for (int j = 0; j < rows_together; ++j) {
                        n[j] = sum[j] >> count_bit;
                        sum[j] &= (1U << count_bit) - 1;
                    }
                } else if (cut) {
#pragma unroll
                    for (int j = 0; j < rows_together; ++j)
                        n[j] = cut_samples(t.rows, first + row + j, radius[j]) *
                               cut_samples(t.cols, first_col + col, radius[j]);
                }
                const std::int64_t element = std::int64_t{first_col + col} * t.channels + channel;
                const auto store_means = [&](auto type) {
                    using T = decltype(type);
                    const auto store = [&](auto mean) {
                        store_column<T>(t.result, first + row, element, wanted, mean);
                    };
                    if constexpr (Counted) {
                        const T fill = static_cast<T>(t.fill);
                        store([&](int j) -> T {
                            if (n[j] < t.min_count) return fill;
                            if constexpr (std::is_integral_v<T>)
                                return static_cast<T>(inner_quotient(sum[j] + (t.half_up ? n[j] / 2 : 0), n[j]));
                            else
                                return static_cast<T>(mean_of(sum[j], n[j], 0));
                        });
                    } else if constexpr (std::is_floating_point_v<T>) {
                        const int offset = static_cast<int>(t.raised);
                        store([&](int j) { return static_cast<T>(mean_of(sum[j], n[j], offset)); });
                    } else if (sizeof(T) == 1 && !cut) {
                        // The quotient of x = kn + m is that of (x + 1) times an inverse that lacks less than 1: x + 1
                        // is below 2^20, so the product lacks less than 1 / n, and only where m is n - 1 is there less
                        // room.
                        store([&](int j) {
                            const window_size size = sizes[radius[j]];
                            return static_cast<T>(__umulhi(sum[j] + size.half, size.inverse));
                        });
                    } else {
                        store(
                            [&](int j) { return static_cast<T>(inner_quotient(sum[j] + n[j] / 2, n[j]) ^ t.raised); });
                    }
                };
                if constexpr (Counted)
                    store_counts(t.count, first + row, element, wanted,
                                 [&](auto type, int j) { return static_cast<decltype(type)>(n[j]); });
                switch (t.result.shape.type) {
                    case dtype::f32:
                        store_means(f32{});
                        break;
                    case dtype::f64:
                        store_means(f64{});
                        break;
                    default:  // 16s, too: the bits of its mean
                        store_means(Pixel{});
                }
            }
            __syncthreads();  // all threads have read this table, before the next is made in its place
        }
    }
}

/// Rows of a block's results: fewer than there may be where blocks of small images would leave multiprocessors idle.
int block_rows_of(std::int64_t rows, std::int64_t strips, int most_rows) {
    constexpr int least = 16, blocks = 2 * planned_multiprocessors;
    const std::int64_t bands = (blocks + strips - 1) / strips,
                       wanted = std::max<std::int64_t>((rows + bands - 1) / bands, least);
    return static_cast<int>(std::min<std::int64_t>(wanted + rows_together - 1, most_rows)) / rows_together *
           rows_together;
}

}  // namespace

bool radius_tiles_support(const filters::window_job& job, std::int64_t most, bool counted) {
    constexpr std::int64_t most_extent = std::int64_t{1} << 30;  // rows and columns are numbers of 32 bits
    if (most > largest_tile_radius || job.weighted || std::max(job.rows.extent, job.cols.extent) > most_extent)
        return false;
    if (job.shape.type == dtype::u8) return true;
    const bool plain = !job.sampled() && !counted && job.rounding == rounding_mode::half_up;
    return plain && (job.shape.type == dtype::u16 || job.shape.type == dtype::s16);
}

void enqueue_radius_tiles(const window_task& task, const filters::window_job& job, const const_any_view& mask,
                          const const_any_view& radius, std::int64_t most, const any_view& result,
                          const any_view& count, stream_ref stream) {
    const view_shape& image = task.image.shape;
    const bool counted = job.sampled() || count.data != nullptr || job.rounding != rounding_mode::half_up,
               constant = job.rows.border == border_mode::constant;
    tile_task t{};
    t.rows = job.rows;
    t.cols = job.cols;
    t.image = static_cast<const char*>(task.image.data);
    t.image_stride = image.row_stride;
    t.channels = static_cast<int>(image.channels);
    if (mask.data != nullptr) {
        t.mask = static_cast<const char*>(mask.data);
        t.mask_stride = mask.shape.row_stride;
        t.mask_channels = static_cast<int>(mask.shape.channels);
    }
    t.aligned = lies_in_units(task.image, lane_cols * static_cast<std::int64_t>(size_of(image.type))) &&
                (mask.data == nullptr || lies_in_units(mask, lane_cols));
    t.first_row = task.first_row;
    t.end_row = task.end_row;
    t.radii = plane_of(radius, 0);
    t.radius_bytes = static_cast<int>(size_of(radius.shape.type));
    t.most = static_cast<int>(most);
    t.left = (t.most / lane_cols + 1) * lane_cols;
    t.block_cols = (table_cols - t.left - t.most) / warp_size * warp_size;
    const auto shared_rows =
        static_cast<int>(std::min<std::size_t>(most_shared_bytes() / sizeof(u32[table_cols]), 1024));
    t.table_rows = std::min(most_tile_rows, shared_rows - 3);  // a row of zeros, sources, sizes
    const std::int64_t result_rows = t.end_row - t.first_row, strips = (image.cols + t.block_cols - 1) / t.block_cols;
    t.block_rows = block_rows_of(result_rows, strips, t.table_rows - 2 * t.most);
    if (image.type == dtype::s16) t.raised = 32768;
    if (constant) {
        t.border = static_cast<u32>(static_cast<s32>(job.border_value)) & (image.type == dtype::u8 ? 0xff : 0xffff);
        t.border_counts = 1;
    } else {
        t.border = t.raised;  // 0 in the table
    }
    t.nodata = job.nodata ? static_cast<int>(*job.nodata) : -1;
    t.result = result;
    t.count = count;
    t.min_count = static_cast<u32>(std::min<std::int64_t>(job.min_count, std::numeric_limits<s32>::max()));
    t.half_up = job.rounding == rounding_mode::half_up;
    t.fill = job.fill.value_or(is_floating(result.shape.type) ? std::numeric_limits<double>::quiet_NaN() : 0);
    const std::int64_t bands = (result_rows + t.block_rows - 1) / t.block_rows;
    const launch_shape shape{
        .grid = {static_cast<unsigned>(strips), static_cast<unsigned>(std::min<std::int64_t>(bands, 65535)), 1},
        .block = tile_threads,
        .shared_bytes =
            (t.table_rows + 2) * table_cols * sizeof(u32) + (largest_tile_radius + 1) * sizeof(window_size)};
    if (counted) return launch(radius_tile_kernel<u8, true>, shape, stream, t);
    if (image.type == dtype::u8) return launch(radius_tile_kernel<u8, false>, shape, stream, t);
    launch(radius_tile_kernel<u16, false>, shape, stream, t);
}

}  // namespace boxsum::cuda
