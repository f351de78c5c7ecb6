#include "cuda/queries/shadow_kernels.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/pointer_checks.hpp"

#include <boxsum/cuda/shadow.hpp>

namespace boxsum::cuda {

void variance_shadows_async(const shadow_inputs& inputs, const shadow_outputs& outputs, stream_ref stream,
                            const shadow_options& options) {
    const device_scope scope(device_of(stream));
    const shadow_job job = checked_shadows(inputs, outputs, options);
    const int device = current_device();
    check_device_pointer("moments.sums", inputs.moments.sums.entries.data, device);
    check_device_pointer("moments.squares", inputs.moments.squares.entries.data, device);
    check_device_pointer("receiver", inputs.receiver.data, device);
    check_device_pointer("rectangle", inputs.rectangle.data, device);
    check_device_pointer("visibility", outputs.visibility.data, device);
    enqueue_shadows(job, inputs, outputs, options, stream);
}

void variance_shadows(const shadow_inputs& inputs, const shadow_outputs& outputs, stream_ref stream,
                      const shadow_options& options) {
    variance_shadows_async(inputs, outputs, stream, options);
    stream.synchronize();
}

}  // namespace boxsum::cuda
