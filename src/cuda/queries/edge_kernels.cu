// Sums, means and variances over boxes whose edges lie within pixels: the integrals of the image.
//
// A thread has one box. It costs up to sixteen reads of a table, four where its edges are those of pixels; the rows of
// a box's edges are neighbours, so that most of the sixteen find the line of another one in the first-level cache.

#include "core/weighted_sums.hpp"
#include "cuda/queries/box_kernels.hpp"
#include "cuda/queries/table_offset.cuh"
#include "cuda/queries/word_sums.cuh"
#include "cuda/runtime/launch.cuh"

#include <cstdint>

namespace boxsum::cuda {
namespace {

constexpr int block_threads = 256;

/// With the offset of every pixel added back.
template <typename Word>
struct restored_sums : word_sums<Word> {
    table_offset offset;

    explicit restored_sums(const queried_table& t) : word_sums<Word>(t.table, t.channel, t.plane), offset(t) {}

    __device__ double value(Word sum, std::int64_t rows, std::int64_t cols) const {
        const box pixels{0, 0, rows, cols};
        using integer = typename word_sums<Word>::integer;
        using real = typename word_sums<Word>::real;
        if (!offset.any) return word_sums<Word>::value(sum, rows, cols);
        if (this->is_real())
            return static_cast<double>(offset.added_to_sum(word_sums<Word>::template bits_as<real>(sum), pixels));
        const Word whole = offset.added_to_sum(sum, pixels);
        return this->type == dtype::s32 || this->type == dtype::s64 ? static_cast<double>(static_cast<integer>(whole))
                                                                    : static_cast<double>(whole);
    }
};

/// The boxes of a launch, and where the table answers.
struct edge_task {
    const fractional_box* boxes;
    std::int64_t count, rows, cols;
    any_device_span out;

    edge_task(const const_any_table_view& table, const device_boxes& all, const any_device_span& to)
        : boxes(all.edges),
          count(all.count),
          rows(table.form.answered_extent(table.entries.shape.rows)),
          cols(table.form.answered_extent(table.entries.shape.cols)),
          out(to) {}

    /// out = f(box) of this thread's box; NaN where the table does not answer.
    template <typename F>
    __device__ void answer(F&& f) const {
        const std::int64_t i = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
        if (i >= count) return;
        const fractional_box b = boxes[i];
        const double value = lies_within(b, rows, cols) ? f(b) : nan("");
        if (out.type == dtype::f64)
            static_cast<double*>(out.data)[i] = value;
        else
            static_cast<float*>(out.data)[i] = static_cast<float>(value);
    }
};

template <typename Word, typename Table>
__device__ double sum_over(const Table& table, const fractional_box& b) {
    return weighted_sum<Word>(table, weighted_side(b.top, b.bottom), weighted_side(b.left, b.right));
}

__device__ double area_of(const fractional_box& b) {
    return (b.bottom - b.top) * (b.right - b.left);
}

template <typename Word>
__global__ void __launch_bounds__(block_threads)
    integrate_boxes_kernel(restored_sums<Word> table, edge_task task, bool by_area) {
    task.answer([&](const fractional_box& b) {
        const double sum = sum_over<Word>(table, b);
        return by_area ? sum / area_of(b) : sum;
    });
}

template <typename Sums, typename Squares>
__global__ void __launch_bounds__(block_threads)
    vary_edges_kernel(word_sums<Sums> sums, word_sums<Squares> squares, edge_task task) {
    task.answer([&](const fractional_box& b) {
        const double area = area_of(b);
        return variance_of_means(sum_over<Sums>(sums, b) / area, sum_over<Squares>(squares, b) / area);
    });
}

launch_shape for_boxes(std::int64_t count) {
    return {.grid = static_cast<unsigned>((count + block_threads - 1) / block_threads), .block = block_threads};
}

void enqueue_integrals(const queried_table& table, const device_boxes& boxes, const any_device_span& out,
                       stream_ref stream, bool by_area) {
    visit_width(table.table, [&]<typename Word>() {
        launch(integrate_boxes_kernel<Word>, for_boxes(boxes.count), stream, restored_sums<Word>(table),
               edge_task(table.table, boxes, out), by_area);
    });
}

}  // namespace

void enqueue_edge_sums(const queried_table& table, const device_boxes& boxes, const any_device_span& sums,
                       stream_ref stream) {
    enqueue_integrals(table, boxes, sums, stream, false);
}

void enqueue_edge_means(const queried_table& table, const device_boxes& boxes, const any_device_span& means,
                        stream_ref stream) {
    enqueue_integrals(table, boxes, means, stream, true);
}

void enqueue_edge_variances(const queried_table& table, const queried_table& squares, const device_boxes& boxes,
                            const any_device_span& variances, stream_ref stream) {
    visit_width(table.table, [&]<typename Sums>() {
        visit_width(squares.table, [&]<typename Squares>() {
            launch(vary_edges_kernel<Sums, Squares>, for_boxes(boxes.count), stream,
                   word_sums<Sums>(table.table, table.channel, table.plane),
                   word_sums<Squares>(squares.table, squares.channel, squares.plane),
                   edge_task(table.table, boxes, variances));
        });
    });
}

}  // namespace boxsum::cuda
