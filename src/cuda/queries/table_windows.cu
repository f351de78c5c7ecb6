// Sums, means and variances of the windows around all pixels, from tables on the device.
//
// A window costs four reads (Crow 1984). Those of neighbours in a row are neighbours, and a block is one row of them,
// so that what one side of a window reads is in the first-level cache for the other side. A thread has windows in some
// rows one below the other, whose reads are under way together.
//
// The kernels are compiled for the widths of the tables' entries. What they are it asks behind the reads, where all
// threads give the same answer.

#include "cuda/queries/table_offset.cuh"
#include "cuda/queries/table_windows.hpp"
#include "cuda/queries/word_sums.cuh"
#include "cuda/runtime/launch.cuh"

#include <boxsum/cuda/box.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace boxsum::cuda {
namespace {

constexpr int block_threads = 256;
constexpr int thread_rows = 4;
constexpr std::int64_t most_block_rows = 65535;  // of a grid; threads go on with further rows

/// A window's pixels along an axis, and the entries whose difference is their sum. `over` is below 0 where that is the
/// sum of nothing, which the table does not have.
struct window_side {
    std::int64_t over, last, pixels;
};

struct image_axis {
    std::int64_t pixels, before, after;  ///< the last two of a window, at most the image's
    std::int64_t border;                 ///< of the table
    double share;                        ///< the inverse of a whole window's pixels

    image_axis(std::int64_t n, std::int64_t before_pixel, std::int64_t after_pixel, std::int64_t table_border)
        : pixels(n),
          before(std::min(before_pixel, n)),
          after(std::min(after_pixel, n)),
          border(table_border),
          share(1 / static_cast<double>(before + 1 + after)) {}

    __device__ window_side around(std::int64_t i) const {
        const std::int64_t first = i > before ? i - before : 0, last = after < pixels - i ? i + after : pixels - 1;
        return {first - 1 + border, last + border, last - first + 1};
    }
    __device__ double share_of(const window_side& side) const {
        return side.pixels == before + 1 + after ? share : 1 / static_cast<double>(side.pixels);
    }
};

struct channel_offsets {
    table_offset of[4];
};

/// Results of planes that share their channels' offsets.
struct dense_task {
    image_axis rows, cols;
    std::int64_t channels, planes;
    std::byte* out;
    std::int64_t out_row_stride, out_pixel_stride, out_plane_stride;
    int out_element;

    /// f(plane, channel, where the first result belongs, results of this thread from there on, windows' rows, columns)
    template <typename F>
    __device__ void walk(F&& f) const {
        const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
        if (i >= cols.pixels * channels) return;
        const std::int64_t col = channels == 1 ? i : channels == 2 ? i / 2 : channels == 3 ? i / 3 : i / 4;
        const int channel = static_cast<int>(i - col * channels);
        const window_side across = cols.around(col);
        const std::int64_t groups = (rows.pixels + thread_rows - 1) / thread_rows;
        for (std::int64_t group = blockIdx.y; group < planes * groups; group += gridDim.y) {
            const std::int64_t plane = group / groups, first = (group - plane * groups) * thread_rows;
            const std::int64_t left = rows.pixels - first;
            const int valid = left < thread_rows ? static_cast<int>(left) : thread_rows;
            window_side down[thread_rows];
#pragma unroll
            for (int k = 0; k < thread_rows; ++k) down[k] = rows.around(first + (k < valid ? k : 0));
            f(plane, channel,
              out + plane * out_plane_stride + first * out_row_stride + col * out_pixel_stride + channel * out_element,
              valid, down, across);
        }
    }
    /// Result k of this thread's, which is rounded to 32f where those are.
    __device__ void store(std::byte* to, int k, double value) const {
        if (out_element == sizeof(double))
            *reinterpret_cast<double*>(to + k * out_row_stride) = value;
        else
            *reinterpret_cast<float*>(to + k * out_row_stride) = static_cast<float>(value);
    }
};

/// All channels and planes of a table.
template <typename Word>
struct dense_words : word_sums<Word> {
    std::int64_t plane_stride;

    dense_words(const const_any_table_view& t, std::int64_t first_plane)
        : word_sums<Word>(t, 0, first_plane), plane_stride(t.entries.shape.plane_stride) {}

    /// In the order of box_sum().
    __device__ void sum(Word (&sums)[thread_rows], std::int64_t plane, int channel,
                        const window_side (&down)[thread_rows], const window_side& across) const {
        const std::byte* const first =
            this->data + plane * plane_stride + channel * static_cast<std::int64_t>(sizeof(Word));
        const auto at = [](const std::byte* entry) { return *reinterpret_cast<const Word*>(entry); };
        // Where the table has no entry something is read in its place, so that no read waits for a branch.
        const bool before = across.over >= 0;
        const std::int64_t to_left = before ? across.over * this->pixel_stride : 0,
                           to_right = across.last * this->pixel_stride;
        Word corners[thread_rows][4];
#pragma unroll
        for (int k = 0; k < thread_rows; ++k) {
            const bool above = down[k].over >= 0;
            const std::byte* const upper = first + (above ? down[k].over * this->row_stride : 0);
            const std::byte* const lower = first + down[k].last * this->row_stride;
            corners[k][0] = at(lower + to_right);
            corners[k][1] = at(upper + to_right);
            corners[k][2] = at(lower + to_left);
            corners[k][3] = at(upper + to_left);
            if (!above) corners[k][1] = 0;
            if (!before) corners[k][2] = 0;
            if (!above || !before) corners[k][3] = 0;
        }
#pragma unroll
        for (int k = 0; k < thread_rows; ++k)
            sums[k] = this->minus(this->minus(corners[k][0], corners[k][1]), this->minus(corners[k][2], corners[k][3]));
    }
};

__device__ double pixels_of(const window_side& down, const window_side& across) {
    return static_cast<double>(down.pixels) * static_cast<double>(across.pixels);
}

template <typename Word>
__global__ void __launch_bounds__(block_threads)
    sum_windows_kernel(dense_words<Word> table, channel_offsets offsets, dense_task task) {
    using real = typename word_sums<Word>::real;
    task.walk([&](std::int64_t plane, int channel, std::byte* to, int valid, const auto& down, const auto& across) {
        Word sums[thread_rows];
        table.sum(sums, plane, channel, down, across);
        const table_offset& offset = offsets.of[channel];
#pragma unroll
        for (int k = 0; k < thread_rows; ++k) {
            if (k >= valid) return;
            Word sum = sums[k];
            if (offset.any) {
                const box pixels{0, 0, down[k].pixels, across.pixels};
                sum = table.is_real()
                          ? table.template bits_as<Word>(offset.added_to_sum(table.template bits_as<real>(sum), pixels))
                          : offset.added_to_sum(sum, pixels);
            }
            *reinterpret_cast<Word*>(to + k * task.out_row_stride) = sum;
        }
    });
}

template <typename Word>
__global__ void __launch_bounds__(block_threads)
    average_windows_kernel(dense_words<Word> table, channel_offsets offsets, dense_task task) {
    task.walk([&](std::int64_t plane, int channel, std::byte* to, int valid, const auto& down, const auto& across) {
        Word sums[thread_rows];
        table.sum(sums, plane, channel, down, across);
        const table_offset& offset = offsets.of[channel];
        const double share = task.cols.share_of(across);
#pragma unroll
        for (int k = 0; k < thread_rows; ++k) {
            if (k >= valid) return;
            const double sum = table.value(sums[k], 0, 0);
            // As the host does it: 32f from a product.
            if (task.out_element == sizeof(double) || offset.any)
                task.store(to, k, offset.added_to_mean(sum / pixels_of(down[k], across)));
            else
                task.store(to, k, sum * (task.rows.share_of(down[k]) * share));
        }
    });
}

template <typename Sums, typename Squares>
__global__ void __launch_bounds__(block_threads)
    vary_windows_kernel(dense_words<Sums> table, dense_words<Squares> squares, dense_task task) {
    task.walk([&](std::int64_t plane, int channel, std::byte* to, int valid, const auto& down, const auto& across) {
        Sums sums[thread_rows];
        Squares of_squares[thread_rows];
        table.sum(sums, plane, channel, down, across);
        squares.sum(of_squares, plane, channel, down, across);
#pragma unroll
        for (int k = 0; k < thread_rows; ++k) {
            if (k >= valid) return;
            task.store(to, k,
                       box_detail::variance(table.any(sums[k]), squares.any(of_squares[k]),
                                            box{0, 0, down[k].pixels, across.pixels}));
        }
    });
}

}  // namespace

void enqueue_windows(const window_query& query, stream_ref stream) {
    const view_shape& s = query.out.shape;
    const window& w = query.window;
    const table_form& form = query.sums.form;
    dense_task task{.rows = {s.rows, w.above, w.below, form.border()},
                    .cols = {s.cols, w.left, w.right, form.border()},
                    .channels = s.channels,
                    .planes = form.offsets != nullptr ? 1 : s.planes,
                    .out = static_cast<std::byte*>(query.out.data),
                    .out_row_stride = s.row_stride,
                    .out_pixel_stride = s.pixel_stride(),
                    .out_plane_stride = s.plane_stride,
                    .out_element = static_cast<int>(size_of(s.type))};
    const auto groups_of = [](std::int64_t n, std::int64_t size) { return (n + size - 1) / size; };
    const std::int64_t elements = s.cols * s.channels,
                       threads = std::min<std::int64_t>(groups_of(elements, 32) * 32, block_threads),
                       rows = std::min(task.planes * groups_of(s.rows, thread_rows), most_block_rows);
    const launch_shape shape{
        .grid = dim3(static_cast<unsigned>(groups_of(elements, threads)), static_cast<unsigned>(rows)),
        .block = static_cast<unsigned>(threads)};
    for (std::int64_t plane = 0; plane < s.planes; plane += task.planes, task.out += s.plane_stride)
        visit_width(query.sums, [&]<typename Sums>() {
            const dense_words<Sums> table(query.sums, plane);
            if (query.wanted == window_result::variances)
                return visit_width(query.squares, [&]<typename Squares>() {
                    launch(vary_windows_kernel<Sums, Squares>, shape, stream, table,
                           dense_words<Squares>(query.squares, plane), task);
                });
            const auto offset = [&](std::int64_t channel) {
                return table_offset({query.sums, std::min(channel, s.channels - 1), plane});
            };
            launch(query.wanted == window_result::sums ? sum_windows_kernel<Sums> : average_windows_kernel<Sums>, shape,
                   stream, table, channel_offsets{{offset(0), offset(1), offset(2), offset(3)}}, task);
        });
}

}  // namespace boxsum::cuda
