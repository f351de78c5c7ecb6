#include "convolve/job.hpp"
#include "core/view_checks.hpp"
#include "cuda/convolve/kernels.hpp"
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

const convolve_algorithm& chosen(const convolution::job& j, std::string_view name) {
    std::string known;
    for (const convolve_algorithm* a : {&convolve_systolic, &convolve_ssam, &convolve_direct}) {
        known.append(known.empty() ? "" : ", ").append(a->name);
        if (name != "auto" && name != a->name) continue;
        if (const char* const why = a->refuses(j))
            throw unsupported("algorithm: '" + std::string(a->name) + "' is for " + why);
        return *a;
    }
    throw unsupported("algorithm: no convolution algorithm is named '" + std::string(name) + "'; there are " + known);
}

void check_types(const convolution::job& j) {
    const bool known = j.result.type == dtype::f64
                           ? j.image.type == dtype::f64
                           : j.image.type == dtype::u8 || j.image.type == dtype::u16 || j.image.type == dtype::f32;
    if (!known)
        throw unsupported("image: of " + std::string(name_of(j.image.type)) + " for a result of " +
                          std::string(name_of(j.result.type)) +
                          "; on a device must be 8u, 16u or 32f for 32f, 64f for 64f");
    if (j.image.planes * j.image.channels > 65535)
        throw unsupported("image: has " + std::to_string(j.image.planes) + " planes of " +
                          std::to_string(j.image.channels) + " channels; must be at most 65535 together");
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
                                    added(result, outputs.result.shape), options)) {
        check_types(job);
    }

    /// The copies lie at `space`.
    void enqueue(const convolve_algorithm& algorithm, const void* from, void* to, const void* weights, void* space,
                 stream_ref stream) const {
        algorithm.enqueue(job, image.fill(from, space, stream), result.place(to, space), weights, stream);
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
    const convolve_algorithm& algorithm;
    stream own;  // of the weights' memory, which it outlives
    device_buffer weights;

    state(const convolve_inputs& inputs, const convolve_outputs& outputs, const convolve_options& options)
        : image("image", inputs.image.shape, access::read),
          result("result", outputs.result.shape, access::write),
          views(inputs, outputs, options),
          device(current_device()),
          algorithm(chosen(views.job, options.algorithm)),
          weights(uploaded(algorithm.weights(views.job), views.job.result.type, own)) {}
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
    if (s.views.bytes > 0) space.clear(stream);
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
    const convolve_algorithm& algorithm = chosen(views.job, options.algorithm);
    const std::vector<std::byte> weights = bytes_of(algorithm.weights(views.job), views.job.result.type);
    const std::size_t bytes = views.bytes + (weights.size() + 255) / 256 * 256;
    workspace.reserve(bytes, stream);
    const workspace_end space(workspace, bytes, bytes, device, stream);
    std::byte* const d_weights = space.data() + views.bytes;
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(d_weights, weights.data(), weights.size(), cudaMemcpyHostToDevice, stream.get()));
    views.enqueue(algorithm, inputs.image.data, outputs.result.data, d_weights, space.data(), stream);
    space.clear(stream);
}

void convolve(const convolve_inputs& inputs, const convolve_outputs& outputs, stream_ref stream,
              const convolve_options& options) {
    workspace memory;
    convolve_async(inputs, outputs, memory, stream, options);
    stream.synchronize();
}

}  // namespace boxsum::cuda
