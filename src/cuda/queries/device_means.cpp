#include "core/view_checks.hpp"
#include "cuda/queries/mean_kernels.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "cuda/runtime/workspace_use.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/sat.hpp>

#include <cstdint>

namespace boxsum::cuda {

std::size_t image_means_bytes(const view_shape& image) {
    const std::int64_t bytes =
        checked_span_bytes("image", packed_shape(dtype::f64, image.planes, image.rows, image.channels, 1));
    return static_cast<std::size_t>((bytes + 255) / 256 * 256);
}

void image_means_async(const const_any_view& image, double* means, workspace& workspace, stream_ref stream) {
    check_read("image", image);
    if (workspace.device() < 0) workspace.reserve(0, stream);
    const int device = workspace.device();
    const device_scope scope(device);
    check_device_pointer("image", image.data, device);
    const auto count = static_cast<std::size_t>(image.shape.planes * image.shape.channels);
    check_range({.argument = "means", .data = means, .bytes = count * sizeof(double), .written = true}, sizeof(double),
                device);
    const std::size_t bytes = image_means_bytes(image.shape);
    workspace.reserve(bytes, stream);
    const workspace_end held(workspace, bytes, bytes, device, stream);
    enqueue_image_means(image, reinterpret_cast<double*>(held.data()), means, stream);
    held.leave();
}

std::vector<double> image_means(const const_any_view& image, stream_ref stream) {
    check_read("image", image);
    const device_scope scope(device_of(stream));
    std::vector<double> means(static_cast<std::size_t>(image.shape.planes * image.shape.channels));
    const device_buffer result(means.size() * sizeof(double), stream);
    workspace memory(0, stream);
    image_means_async(image, static_cast<double*>(result.data()), memory, stream);
    const view_shape one_row = packed_shape(dtype::f64, 1, 1, static_cast<std::int64_t>(means.size()), 1);
    copy({result.data(), one_row}, {means.data(), one_row}, stream);
    return means;
}

}  // namespace boxsum::cuda
