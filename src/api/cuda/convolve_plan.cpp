#include "api/registry.hpp"
#include "convolve/problem.hpp"
#include "core/view_checks.hpp"
#include "cuda/convolve/records.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/packed_copies.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/cuda/convolve.hpp>
#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <cstring>
#include <string>

namespace boxsum::cuda {
namespace {

const algorithm_record& chosen(const convolution::job& j, std::string_view name) {
    return *choose(convolution::as_problem(j), backend::cuda, name, {}).record;
}

/// Weights in the result's type.
std::vector<std::byte> bytes_of(const std::vector<double>& weights, dtype type) {
    const std::vector<float> narrow(weights.begin(), weights.end());
    const void* const from = type == dtype::f32 ? static_cast<const void*>(narrow.data()) : weights.data();
    std::vector<std::byte> bytes(weights.size() * size_of(type));
    std::memcpy(bytes.data(), from, bytes.size());
    return bytes;
}

device_buffer uploaded(const std::vector<double>& weights, dtype type, stream_ref stream) {
    const std::vector<std::byte> bytes = bytes_of(weights, type);
    device_buffer buffer(bytes.size(), stream);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(buffer.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream.get()));
    stream.synchronize();
    return buffer;
}

/// A graph would read the weights again when they are gone.
void refuse_capture(stream_ref stream) {
    if (stream.get() == nullptr) return;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    BOXSUM_CUDA_TRY(cudaStreamIsCapturing(stream.get(), &status));
    if (status != cudaStreamCaptureStatusNone)
        throw invalid_argument("stream: is being captured, which only a convolve_plan allows");
}

/// Views as kernels take them: those that are not plain as copies in the workspace.
struct plain_views {
    packed_copy image, result;
    std::size_t bytes = 0;  ///< of the copies
    convolution::job job;

    plain_views(const convolve_inputs& inputs, const convolve_outputs& outputs, const convolve_options& options)
        : job(convolution::make_job(added(image, inputs.image.shape), inputs.kernel,
                                    added(result, outputs.result.shape), options)) {}

    /// The copies lie at `space`.
    void enqueue(const algorithm_record& algorithm, const void* from, void* to, const void* weights, void* space,
                 stream_ref stream) const {
        buffers memory;
        memory.image = image.fill(from, space, stream);
        memory.table = result.place(to, space);
        memory.weights = weights;
        execution how;
        how.stream = stream;
        algorithm.enqueue(convolution::as_problem(job), memory, how);
        result.empty(to, space, stream);
    }

  private:
    view_shape added(packed_copy& copy, view_shape shape) {
        copy.add(shape, bytes);
        return shape;
    }
};

}  // namespace

struct convolve_plan::state {
    planned_view image, result;
    plain_views views;
    int device;
    const algorithm_record& algorithm;
    stream own;  // of the weights' memory, which it outlives
    device_buffer weights;

    state(const convolve_inputs& inputs, const convolve_outputs& outputs, const convolve_options& options)
        : image("image", inputs.image.shape, access::read),
          result("result", outputs.result.shape, access::write),
          views(inputs, outputs, options),
          device(current_device()),
          algorithm(chosen(views.job, options.algorithm)),
          weights(uploaded(weights_for(algorithm, views.job), views.job.result.type, own)) {}
};

convolve_plan::convolve_plan(const convolve_inputs& inputs, const convolve_outputs& outputs,
                             const convolve_options& options)
    : state_(std::make_shared<const state>(inputs, outputs, options)) {}

int convolve_plan::device() const noexcept {
    return state_->device;
}

std::size_t convolve_plan::workspace_bytes() const noexcept {
    return state_->views.bytes;
}

std::size_t convolve_plan::packed_bytes() const noexcept {
    return state_->views.bytes;
}

void convolve_plan::run_async(const convolve_inputs& inputs, const convolve_outputs& outputs, workspace& workspace,
                              stream_ref stream) const {
    const state& s = *state_;
    call_memory arguments(s.device);
    arguments.add(s.image, inputs.image);
    arguments.add(s.result, outputs.result);
    if (arguments.meet()) filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    const workspace_end space(workspace, s.views.bytes, s.views.bytes, s.device, stream);
    const device_scope scope(s.device);
    s.views.enqueue(s.algorithm, inputs.image.data, outputs.result.data, s.weights.data(), space.data(), stream);
    if (s.views.bytes > 0) space.leave();
}

// ---- without a plan -------------------------------------------------------------------------------------------------

void convolve_async(const convolve_inputs& inputs, const convolve_outputs& outputs, workspace& workspace,
                    stream_ref stream, const convolve_options& options) {
    if (workspace.device() < 0) workspace.reserve(0, stream);
    const int device = workspace.device();
    const device_scope scope(device);
    check_read("image", inputs.image);
    filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    check_device_pointer("image", inputs.image.data, device);
    check_device_pointer("result", outputs.result.data, device);
    refuse_capture(stream);

    const plain_views views(inputs, outputs, options);
    const algorithm_record& algorithm = chosen(views.job, options.algorithm);
    const std::vector<std::byte> weights = bytes_of(weights_for(algorithm, views.job), views.job.result.type);
    const std::size_t bytes = views.bytes + (weights.size() + 255) / 256 * 256;
    workspace.reserve(bytes, stream);
    const workspace_end space(workspace, bytes, bytes, device, stream);
    std::byte* const d_weights = space.data() + views.bytes;
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(d_weights, weights.data(), weights.size(), cudaMemcpyHostToDevice, stream.get()));
    views.enqueue(algorithm, inputs.image.data, outputs.result.data, d_weights, space.data(), stream);
    space.leave();
}

void convolve(const convolve_inputs& inputs, const convolve_outputs& outputs, stream_ref stream,
              const convolve_options& options) {
    workspace memory;
    convolve_async(inputs, outputs, memory, stream, options);
    stream.synchronize();
}

}  // namespace boxsum::cuda
