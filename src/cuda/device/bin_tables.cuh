#pragma once

#include "core/problem.hpp"
#include "cuda/device/layers.cuh"

/// Integral histograms as a kernel sees them: one table per bin of every plane.
namespace boxsum::cuda {

/// Tables are numbered plane by plane, bin by bin.
template <typename T>
struct bin_tables {
    T* data;
    std::int64_t rows, cols;
    std::int64_t row_stride, bin_stride, plane_stride;  ///< bytes
    std::int64_t bins, planes;

    __host__ __device__ std::int64_t count() const { return planes * bins; }

    __device__ layer<T> table(std::int64_t plane, std::int64_t bin) const {
        T* const first = &line<T>{&line<T>{data, plane_stride}[plane], bin_stride}[bin];
        return {first, rows, cols, row_stride, static_cast<std::int64_t>(sizeof(T))};
    }
    __device__ layer<T> operator[](std::int64_t k) const { return table(k / bins, k % bins); }
};

/// IH of the papers: the tensor of a problem. Padded tables begin with a row and a column before the first pixel.
template <typename T>
bin_tables<T> tables_of(const problem& p, void* tensor) {
    const histogram_problem& h = *p.histogram;
    return {static_cast<T*>(tensor), p.table.rows, p.table.cols,  p.table.row_stride, h.bin_stride,
            p.table.plane_stride,    h.bins,       p.table.planes};
}

/// Packed scratch memory for tables of rows x cols, as many as `like` has.
template <typename T>
bin_tables<T> packed_tables(T* data, const bin_tables<T>& like, std::int64_t rows, std::int64_t cols) {
    const std::int64_t row_stride = cols * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t bin_stride = rows * row_stride;
    return {data, rows, cols, row_stride, bin_stride, like.bins * bin_stride, like.bins, like.planes};
}

/// A plane of pixels, or of their weights.
template <typename T>
layers<const T> planes_of(const void* data, const view_shape& s) {
    return {static_cast<const T*>(data), s.rows, s.cols, s.row_stride, s.plane_stride, s.planes, 1};
}

}  // namespace boxsum::cuda
