#include "cuda/runtime/pointer_checks.hpp"

#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/error.hpp>

#include <string>

namespace boxsum::cuda {

void check_device_pointer(std::string_view argument, const void* data, int device) {
    cudaPointerAttributes attributes{};
    BOXSUM_CUDA_TRY(cudaPointerGetAttributes(&attributes, data));
    const std::string name(argument);
    switch (attributes.type) {
        case cudaMemoryTypeManaged:
            return;
        case cudaMemoryTypeDevice:
            if (attributes.device == device) return;
            throw invalid_argument(name + ": is memory of cuda:" + std::to_string(attributes.device) +
                                   ", but the plan is for cuda:" + std::to_string(device));
        case cudaMemoryTypeHost:
        case cudaMemoryTypeUnregistered:
            break;
    }
    throw invalid_argument(name + ": is host memory" +
                           (attributes.type == cudaMemoryTypeHost ? std::string(" (page-locked)") : std::string()) +
                           ", but the plan needs memory of cuda:" + std::to_string(device));
}

bool is_host_memory(const void* data) {
    cudaPointerAttributes attributes{};
    BOXSUM_CUDA_TRY(cudaPointerGetAttributes(&attributes, data));
    return attributes.type == cudaMemoryTypeHost || attributes.type == cudaMemoryTypeUnregistered;
}

int stream_device(stream_ref stream) {
    int device = 0;
    BOXSUM_CUDA_TRY(cudaStreamGetDevice(stream.get(), &device));
    return device;
}

int device_of(stream_ref stream) {
    return stream.get() == nullptr ? current_device() : stream_device(stream);
}

void check_stream(stream_ref stream, int device) {
    if (stream.get() == nullptr) return;
    // A stream that is being captured does not tell its device; the memory's has been checked.
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    BOXSUM_CUDA_TRY(cudaStreamIsCapturing(stream.get(), &status));
    if (status != cudaStreamCaptureStatusNone) return;
    const int owner = stream_device(stream);
    if (owner != device)
        throw invalid_argument("stream: belongs to cuda:" + std::to_string(owner) +
                               ", but the plan is for cuda:" + std::to_string(device));
}

}  // namespace boxsum::cuda
