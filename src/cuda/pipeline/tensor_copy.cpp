#include "cuda/pipeline/tensor_copy.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/view.hpp>

namespace boxsum::cuda {
namespace {

/// Bins that follow each other without a gap are just more rows.
bool bins_follow(const tensor_shape& s) {
    return s.bins == 1 || s.bin_stride == s.rows * s.row_stride;
}

view_shape as_rows(const tensor_shape& s, std::int64_t rows) {
    return {s.type, 1, rows, s.cols, 1, s.row_stride, 0};
}

}  // namespace

void copy_tensor_async(const const_any_tensor_view& from, const any_tensor_view& to, stream_ref stream) {
    const tensor_shape &f = from.shape, &t = to.shape;
    const bool together = bins_follow(f) && bins_follow(t);
    for (std::int64_t plane = 0; plane < f.planes; ++plane)
        for (std::int64_t bin = 0; bin < (together ? 1 : f.bins); ++bin) {
            const std::int64_t rows = together ? f.bins * f.rows : f.rows;
            copy_async(
                {static_cast<const std::byte*>(from.data) + plane * f.plane_stride + bin * f.bin_stride,
                 as_rows(f, rows)},
                {static_cast<std::byte*>(to.data) + plane * t.plane_stride + bin * t.bin_stride, as_rows(t, rows)},
                stream);
        }
}

}  // namespace boxsum::cuda
