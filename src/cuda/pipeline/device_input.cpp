#include "cuda/pipeline/device_input.hpp"

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/peers.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <utility>

namespace boxsum::detail {
namespace {

/// Rows of one plane.
const_any_view rows_of(const const_any_view& all, std::int64_t plane, std::int64_t first, std::int64_t rows) {
    const view_shape& s = all.shape;
    return {static_cast<const std::byte*>(all.data) + plane * s.plane_stride + first * s.row_stride,
            {s.type, 1, rows, s.cols, s.channels, s.row_stride, 0}};
}

any_view rows_of(const any_view& all, std::int64_t plane, std::int64_t first, std::int64_t rows) {
    const const_any_view part = rows_of(const_any_view(all), plane, first, rows);
    return {const_cast<void*>(part.data), part.shape};
}

void upload_rows(const const_any_view& from, const any_view& to, row_range rows, cuda::stream_ref stream) {
    const std::int64_t all = from.shape.rows;
    if (rows.first == 0 && rows.last == from.shape.planes * all) {
        cuda::copy_async(from, to, stream);
        return;
    }
    for (std::int64_t r = rows.first; r < rows.last;) {
        const std::int64_t plane = r / all, end = std::min((plane + 1) * all, rows.last);
        cuda::copy_async(rows_of(from, plane, r - plane * all, end - r), rows_of(to, plane, r - plane * all, end - r),
                         stream);
        r = end;
    }
}

/// Planes follow each other without a gap (cuda::device_shape), so rows are one run of bytes, of which the last row
/// has no padding behind it.
void copy_rows(const cuda::device_buffer& from, const cuda::device_buffer& to, const view_shape& shape, row_range rows,
               cuda::stream_ref stream) {
    const auto begin = static_cast<std::size_t>(rows.first * shape.row_stride);
    const std::size_t end = std::min(static_cast<std::size_t>(rows.last * shape.row_stride), to.size());
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(static_cast<std::byte*>(to.data()) + begin,
                                    static_cast<const std::byte*>(from.data()) + begin, end - begin, cudaMemcpyDefault,
                                    stream.get()));
}

}  // namespace

device_input::device_input(const bin_job& job, int device, std::shared_ptr<cuda::stream> stream)
    : device_(device), stream_(std::move(stream)) {
    const auto allocate = [&](const view_shape& shape) {
        const std::size_t bytes = cuda::span_bytes(shape);
        return job.upload == nullptr ? cuda::device_buffer(bytes, *stream_) : cuda::buffer_for_peers(bytes, *stream_);
    };
    const view_shape& s = job.inputs.image.shape;
    image_shape_ = cuda::device_shape(s.type, s.rows, s.cols, 1, s.planes);
    image_ = allocate(image_shape_);
    if (job.weighted()) {
        weights_shape_ = cuda::device_shape(dtype::f32, s.rows, s.cols, 1, s.planes);
        weights_ = allocate(weights_shape_);
    }
    allocated_.record(*stream_);
}

/// By whichever thread is the last, which has a device of its own.
device_input::~device_input() {
    const cuda::quiet_device_scope scope(device_);
    from_others_.reset();
    image_ = {};
    weights_ = {};
    stream_ = nullptr;
}

histogram_inputs device_input::inputs() const {
    histogram_inputs all{any_view{image_.data(), image_shape_}};
    if (weights_.data() != nullptr) all.weights = any_view{weights_.data(), weights_shape_};
    return all;
}

void device_input::upload(const bin_job& job, row_range rows) {
    upload_rows(job.inputs.image, {image_.data(), image_shape_}, rows, *stream_);
    if (job.weighted()) upload_rows(job.inputs.weights, {weights_.data(), weights_shape_}, rows, *stream_);
}

void device_input::publish(row_range rows) {
    published_.push_back({rows, {}});
    published_.back().there.record(*stream_);
}

void device_input::wait_published() const {
    for (const part& p : published_) p.there.synchronize();
}

void device_input::copy_from(const device_input& other) {
    if (!from_others_) {
        from_others_.emplace();
        allocated_.precede(*from_others_);
    }
    try {
        for (const part& p : other.published_) {
            p.there.precede(*from_others_);
            copy_rows(other.image_, image_, image_shape_, p.rows, *from_others_);
            if (weights_.data() != nullptr) copy_rows(other.weights_, weights_, weights_shape_, p.rows, *from_others_);
        }
        cuda::event copied;
        copied.record(*from_others_);
        copied.precede(*stream_);
    } catch (const cuda_error&) {
        // The caller takes the rows from elsewhere and lets go of the other one: no copy may be under way then.
        (void)cudaStreamSynchronize(from_others_->get());
        throw;
    }
}

}  // namespace boxsum::detail
