// Variance shadows on a device: a thread a pixel, whose rectangle and receiver neighbours read side by side. A
// rectangle costs up to sixteen reads of each table, four where its edges are those of pixels; neighbours have almost
// the same rectangle, so that most reads find their line in the first-level cache.
//
// The kernel is compiled for the widths of the tables' entries. What they are it asks behind the reads, where all
// threads give the same answer.

#include "core/shadow_terms.hpp"
#include "cuda/queries/shadow_kernels.hpp"
#include "cuda/queries/word_sums.cuh"
#include "cuda/runtime/launch.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace boxsum::cuda {
namespace {

constexpr int block_cols = 32, block_rows = 8;
constexpr std::int64_t most_block_rows = 65535;  // of a grid; threads go on with further rows

/// 32f or 64f.
struct real_view {
    const std::byte* data;
    std::int64_t row_stride, pixel_stride;
    bool wide;

    explicit real_view(const const_any_view& v)
        : data(static_cast<const std::byte*>(v.data)),
          row_stride(v.shape.row_stride),
          pixel_stride(v.shape.pixel_stride()),
          wide(v.shape.type == dtype::f64) {}

    __device__ double at(std::int64_t r, std::int64_t c, int channel) const {
        const std::byte* const pixel = data + r * row_stride + c * pixel_stride;
        return wide ? reinterpret_cast<const double*>(pixel)[channel]
                    : static_cast<double>(reinterpret_cast<const float*>(pixel)[channel]);
    }
};

struct shadow_task {
    real_view receiver, rectangle;
    std::byte* out;
    std::int64_t out_row_stride, out_pixel_stride, rows, cols;
    bool wide;
    shadow_job job;
    double min_variance, bleeding;
};

template <typename Sums, typename Squares>
__global__ void __launch_bounds__(block_cols* block_rows)
    shade_pixels_kernel(word_sums<Sums> sums, word_sums<Squares> squares, shadow_task t) {
    const std::int64_t c = std::int64_t{blockIdx.x} * block_cols + threadIdx.x;
    if (c >= t.cols) return;
    for (std::int64_t r = std::int64_t{blockIdx.y} * block_rows + threadIdx.y; r < t.rows;
         r += std::int64_t{gridDim.y} * block_rows) {
        const weighted_side vertical = shadow_side(t.rectangle.at(r, c, 0), t.rectangle.at(r, c, 2), t.job.rows),
                            horizontal = shadow_side(t.rectangle.at(r, c, 1), t.rectangle.at(r, c, 3), t.job.cols);
        const double area = vertical.length * horizontal.length;
        double lit = 1;
        if (area > 0)
            lit = lit_part(weighted_sum<Sums>(sums, vertical, horizontal) / area,
                           weighted_sum<Squares>(squares, vertical, horizontal) / area,
                           t.receiver.at(r, c, 0) - t.job.offset, t.min_variance, t.bleeding);
        std::byte* const to = t.out + r * t.out_row_stride + c * t.out_pixel_stride;
        if (t.wide)
            *reinterpret_cast<double*>(to) = lit;
        else
            *reinterpret_cast<float*>(to) = static_cast<float>(lit);
    }
}

}  // namespace

void enqueue_shadows(const shadow_job& job, const shadow_inputs& in, const shadow_outputs& outputs,
                     const shadow_options& options, stream_ref stream) {
    const any_view& out = outputs.visibility;
    const view_shape& s = out.shape;
    const shadow_task task{real_view(in.receiver),
                           real_view(in.rectangle),
                           static_cast<std::byte*>(out.data),
                           s.row_stride,
                           s.pixel_stride(),
                           s.rows,
                           s.cols,
                           s.type == dtype::f64,
                           job,
                           options.min_variance,
                           options.bleeding};
    const auto blocks = [](std::int64_t extent, int block) { return (extent + block - 1) / block; };
    const launch_shape shape{.grid = dim3(static_cast<unsigned>(blocks(s.cols, block_cols)),
                                          static_cast<unsigned>(std::min(blocks(s.rows, block_rows), most_block_rows))),
                             .block = dim3(block_cols, block_rows)};
    visit_width(in.moments.sums, [&]<typename Sums>() {
        visit_width(in.moments.squares, [&]<typename Squares>() {
            launch(shade_pixels_kernel<Sums, Squares>, shape, stream, word_sums<Sums>(in.moments.sums),
                   word_sums<Squares>(in.moments.squares), task);
        });
    });
}

}  // namespace boxsum::cuda
