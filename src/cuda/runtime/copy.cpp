#include "core/packed_views.hpp"
#include "core/view_checks.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/packed_copies.hpp"
#include "cuda/runtime/pointer_checks.hpp"

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

void require_same_elements(const view_shape& f, const view_shape& t) {
    if (f.type != t.type)
        throw invalid_argument("to: element type is " + std::string(name_of(t.type)) + ", but that of from is " +
                               std::string(name_of(f.type)));
    require_same("planes", f.planes, t.planes);
    require_same("rows", f.rows, t.rows);
    require_same("cols", f.cols, t.cols);
    require_same("channels", f.channels, t.channels);
}

}  // namespace

void copy_async(const const_any_view& from, const any_view& to, stream_ref stream) {
    check_view("from", from);
    check_view("to", to);
    require_same_elements(from.shape, to.shape);
    const view_shape &f = from.shape, &t = to.shape;
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
    check_read("from", from);
    check_written("to", to);
    require_same_elements(from.shape, to.shape);
    // What is not plain: on the host by copies of the host's, on the device by copies of its own.
    const bool from_host = is_host_memory(from.data), to_host = is_host_memory(to.data);
    const packed_input host_source(from_host ? from : const_any_view{}, is_plain);
    const packed_output host_target(to_host ? to : any_view{}, is_plain);
    const_any_view source = from_host ? host_source.view() : from;
    any_view target = to_host ? host_target.view() : to;
    packed_copy of_source, of_target;
    std::size_t bytes = 0;
    of_source.add(source.shape, bytes);
    of_target.add(target.shape, bytes);
    const device_buffer space(bytes, stream);
    source.data = of_source.fill(source.data, space.data(), stream);
    target.data = of_target.place(target.data, space.data());
    copy_async(source, target, stream);
    of_target.empty(to.data, space.data(), stream);
    stream.synchronize();
    host_target.unpack();
}

}  // namespace boxsum::cuda
