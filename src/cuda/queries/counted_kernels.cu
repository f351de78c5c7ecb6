// Means and variances over boxes of the pixels that count: sums over counts. A thread has one box.

#include "core/count_error.hpp"
#include "cuda/queries/box_kernels.hpp"
#include "cuda/queries/word_sums.cuh"
#include "cuda/runtime/launch.cuh"

#include <boxsum/cuda/box.cuh>

#include <cstdint>

namespace boxsum::cuda {
namespace {

constexpr int block_threads = 256;

struct counted_task {
    const box* boxes;
    std::int64_t count, rows, cols;  ///< the last two are of pixels that boxes may have
    std::int64_t origin_row, origin_col;
    double min_count, fill;
    any_device_span out;

    /// out = f(box) of this thread's box; NaN where the table does not answer.
    template <typename F>
    __device__ void answer(F&& f) const {
        const std::int64_t i = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
        if (i >= count) return;
        const box b = boxes[i];
        const bool inside =
            b.rows >= 1 && b.cols >= 1 && b.row >= 0 && b.col >= 0 && b.row <= rows - b.rows && b.col <= cols - b.cols;
        const double value = inside ? f(b) : nan("");
        if (out.type == dtype::f64)
            static_cast<double*>(out.data)[i] = value;
        else
            static_cast<float*>(out.data)[i] = static_cast<float>(value);
    }
};

template <typename Word>
__device__ Word sum_over(const word_sums<Word>& table, const box& b) {
    const std::int64_t bottom = b.row + b.rows, right = b.col + b.cols;
    return table.minus(table.minus(table.at(bottom, right), table.at(b.row, right)),
                       table.minus(table.at(bottom, b.col), table.at(b.row, b.col)));
}

template <typename Word>
__device__ double value_over(const word_sums<Word>& table, const box& b) {
    return table.value(sum_over(table, b), b.rows, b.cols);
}

/// What of a box counts: n, and the same number as `exact` unless it is a sum of weights. 0: not enough for a result.
struct box_count {
    double n = 0;
    std::uint64_t exact = 0;
};

/// How far the sum of weights of a box may be off.
template <typename Word>
__device__ double error_of_weights(const word_sums<Word>& counts, const box& b, const counted_task& t) {
    double error = 0;
    for (int i = 0; i < 4; ++i) {
        const std::int64_t r = b.row + (i < 2 ? b.rows : 0), c = b.col + (i % 2 == 0 ? b.cols : 0);
        const std::int64_t rows = r < t.origin_row ? t.origin_row - r : r - t.origin_row,
                           cols = c < t.origin_col ? t.origin_col - c : c - t.origin_col;
        const double entry = rows == 0 || cols == 0 ? 0 : fabs(counts.value(counts.at(r, c), rows, cols));
        error += error_of_entry(static_cast<double>(rows), static_cast<double>(cols), entry, 0x1p-53);
    }
    return error;
}

template <typename Word>
__device__ box_count count_over(const word_sums<Word>& counts, const box& b, const counted_task& t) {
    box_count found;
    const Word sum = sum_over(counts, b);
    found.n = counts.value(sum, b.rows, b.cols);
    if (!counts.is_real())
        found.exact = sum;
    else if (!(found.n > error_of_weights(counts, b, t)))
        return {};
    return found.n > 0 && found.n >= t.min_count ? found : box_count{};
}

template <typename Sums, typename Counts>
__global__ void __launch_bounds__(block_threads)
    average_counted_kernel(word_sums<Sums> sums, word_sums<Counts> counts, counted_task task) {
    task.answer([&](const box& b) {
        const box_count count = count_over(counts, b, task);
        return count.n > 0 ? value_over(sums, b) / count.n : task.fill;
    });
}

template <typename Sums, typename Squares, typename Counts>
__global__ void __launch_bounds__(block_threads)
    vary_counted_kernel(word_sums<Sums> sums, word_sums<Squares> squares, word_sums<Counts> counts, counted_task task) {
    task.answer([&](const box& b) {
        const box_count count = count_over(counts, b, task);
        return count.n > 0 ? box_detail::variance(sums.any(sum_over(sums, b)), squares.any(sum_over(squares, b)),
                                                  count.n, count.exact)
                           : task.fill;
    });
}

template <typename Word>
word_sums<Word> words_of(const queried_table& t) {
    return word_sums<Word>(t.table, t.channel, t.plane);
}

}  // namespace

void enqueue_counted(const counted_query& query, const device_boxes& boxes, const any_device_span& out,
                     stream_ref stream) {
    const table_form& form = query.sums.table.form;
    const view_shape& s = query.sums.table.entries.shape;
    const counted_task task{.boxes = boxes.data,
                            .count = boxes.count,
                            .rows = form.answered_extent(s.rows),
                            .cols = form.answered_extent(s.cols),
                            .origin_row = form.origin.row,
                            .origin_col = form.origin.col,
                            .min_count = query.min_count,
                            .fill = query.fill,
                            .out = out};
    const launch_shape shape{.grid = static_cast<unsigned>((boxes.count + block_threads - 1) / block_threads),
                             .block = block_threads};
    visit_width(query.sums.table, [&]<typename Sums>() {
        visit_width(query.counts.table, [&]<typename Counts>() {
            if (query.squares == nullptr)
                return launch(average_counted_kernel<Sums, Counts>, shape, stream, words_of<Sums>(query.sums),
                              words_of<Counts>(query.counts), task);
            visit_width(query.squares->table, [&]<typename Squares>() {
                launch(vary_counted_kernel<Sums, Squares, Counts>, shape, stream, words_of<Sums>(query.sums),
                       words_of<Squares>(*query.squares), words_of<Counts>(query.counts), task);
            });
        });
    });
}

}  // namespace boxsum::cuda
