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

#include <array>
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

}  // namespace

struct convolve_plan::state {
    convolution::job job;
    int device;
    const convolve_algorithm& algorithm;
    std::size_t image_bytes, result_bytes;
    stream own;  // of the weights' memory, which it outlives
    device_buffer weights;

    state(const convolve_inputs& inputs, const convolve_outputs& outputs, const convolve_options& options)
        : job(convolution::make_job(inputs.image.shape, inputs.kernel, outputs.result.shape, options)),
          device((check_types(job), current_device())),
          algorithm(chosen(job, options.algorithm)),
          image_bytes(static_cast<std::size_t>(checked_span_bytes("image", job.image))),
          result_bytes(static_cast<std::size_t>(checked_span_bytes("result", job.result))),
          weights(uploaded(algorithm.weights(job), job.result.type, own)) {}
};

convolve_plan::convolve_plan(const convolve_inputs& inputs, const convolve_outputs& outputs,
                             const convolve_options& options)
    : state_(std::make_shared<const state>(inputs, outputs, options)) {}

int convolve_plan::device() const noexcept {
    return state_->device;
}

void convolve_plan::run_async(const const_any_view& image, const convolve_outputs& outputs, stream_ref stream) const {
    const state& s = *state_;
    require_shape("image", image.shape, s.job.image);
    require_shape("result", outputs.result.shape, s.job.result);
    const std::array<memory_range, 2> ranges{memory_range{"image", image.data, s.image_bytes, false},
                                             memory_range{"result", outputs.result.data, s.result_bytes, true}};
    check_range(ranges[0], size_of(s.job.image.type), s.device);
    check_range(ranges[1], size_of(s.job.result.type), s.device);
    if (any_meet(ranges)) filters::check_results({{"image", image}}, {{"result", outputs.result}});
    s.algorithm.enqueue(s.job, image.data, outputs.result.data, s.weights.data(), stream);
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

    view_shape image = inputs.image.shape, result = outputs.result.shape;
    packed_copy of_image, of_result;
    std::size_t bytes = 0;
    of_image.add(image, bytes);
    of_result.add(result, bytes);
    const convolution::job job = convolution::make_job(image, inputs.kernel, result, options);
    check_types(job);
    const convolve_algorithm& algorithm = chosen(job, options.algorithm);
    const std::vector<std::byte> weights = bytes_of(algorithm.weights(job), result.type);
    bytes += (weights.size() + 255) / 256 * 256;

    workspace.reserve(bytes, stream);
    const workspace_use use(workspace, bytes, device, stream);
    // At the end, and zero afterwards, as plans of tables want it.
    const std::size_t before = (use.bytes() - bytes) / 256 * 256;
    auto* const space = static_cast<std::byte*>(use.data()) + before;
    std::byte* const d_weights = space + bytes - (weights.size() + 255) / 256 * 256;
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(d_weights, weights.data(), weights.size(), cudaMemcpyHostToDevice, stream.get()));
    algorithm.enqueue(job, of_image.fill(inputs.image.data, space, stream), of_result.place(outputs.result.data, space),
                      d_weights, stream);
    of_result.empty(outputs.result.data, space, stream);
    BOXSUM_CUDA_TRY(cudaMemsetAsync(space, 0, use.bytes() - before, stream.get()));
}

void convolve(const convolve_inputs& inputs, const convolve_outputs& outputs, stream_ref stream,
              const convolve_options& options) {
    workspace memory;
    convolve_async(inputs, outputs, memory, stream, options);
    stream.synchronize();
}

}  // namespace boxsum::cuda
