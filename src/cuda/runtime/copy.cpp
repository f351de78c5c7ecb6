#include "core/view_checks.hpp"
#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <string>

namespace boxsum::cuda {
namespace {

void require_same(const char* what, std::int64_t from, std::int64_t to) {
    if (from != to)
        throw invalid_argument(std::string("to: ") + what + " is " + std::to_string(to) + ", but that of from is " +
                               std::to_string(from));
}

/// `count` runs of `bytes` bytes, each a stride behind the one before.
void copy_runs(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
               std::int64_t bytes, std::int64_t count, cudaStream_t stream) {
    if (count == 1 || (from_stride == bytes && to_stride == bytes)) {
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes * count), cudaMemcpyDefault, stream));
        return;
    }
    BOXSUM_CUDA_TRY(cudaMemcpy2DAsync(to, static_cast<std::size_t>(to_stride), from,
                                      static_cast<std::size_t>(from_stride), static_cast<std::size_t>(bytes),
                                      static_cast<std::size_t>(count), cudaMemcpyDefault, stream));
}

}  // namespace

void copy_async(const const_any_view& from, const any_view& to, stream_ref stream) {
    check_view("from", from);
    check_view("to", to);
    const view_shape &f = from.shape, &t = to.shape;
    if (f.type != t.type)
        throw invalid_argument("to: element type is " + std::string(name_of(t.type)) + ", but that of from is " +
                               std::string(name_of(f.type)));
    require_same("planes", f.planes, t.planes);
    require_same("rows", f.rows, t.rows);
    require_same("cols", f.cols, t.cols);
    require_same("channels", f.channels, t.channels);

    const std::int64_t row = f.cols * f.channels * static_cast<std::int64_t>(size_of(f.type));
    const auto* source = static_cast<const std::byte*>(from.data);
    auto* destination = static_cast<std::byte*>(to.data);
    // Planes that follow each other without a gap are just more rows.
    if (f.planes == 1 || (f.plane_stride == f.rows * f.row_stride && t.plane_stride == t.rows * t.row_stride)) {
        copy_runs(source, f.row_stride, destination, t.row_stride, row, f.planes * f.rows, stream.get());
        return;
    }
    for (std::int64_t plane = 0; plane < f.planes; ++plane)
        copy_runs(source + plane * f.plane_stride, f.row_stride, destination + plane * t.plane_stride, t.row_stride,
                  row, f.rows, stream.get());
}

void copy(const const_any_view& from, const any_view& to, stream_ref stream) {
    copy_async(from, to, stream);
    stream.synchronize();
}

}  // namespace boxsum::cuda
