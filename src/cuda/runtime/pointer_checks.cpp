#include "cuda/runtime/pointer_checks.hpp"

#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/error.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace boxsum::cuda {

namespace {

/// Counts forget_pointers().
std::atomic<std::uint32_t> frees{1};

constexpr int any_device = -1;  // managed memory

struct known_pointer {
    const void* data;
    int device;
    std::uint32_t frees;
};

/// Asking the driver takes longer than all other checks of a call together, and calls come again with the same memory.
known_pointer& known(const void* data) noexcept {
    constexpr std::size_t slots = 256;
    thread_local known_pointer table[slots]{};
    const auto address = reinterpret_cast<std::uintptr_t>(data) >> 8;  // what allocations are aligned to
    return table[(address ^ (address >> 8) ^ (address >> 16)) % slots];
}

/// Its device, or any_device. Throws for host memory.
int device_of_memory(std::string_view argument, const void* data, int device) {
    cudaPointerAttributes attributes{};
    BOXSUM_CUDA_TRY(cudaPointerGetAttributes(&attributes, data));
    switch (attributes.type) {
        case cudaMemoryTypeManaged:
            return any_device;
        case cudaMemoryTypeDevice:
            return attributes.device;
        case cudaMemoryTypeHost:
        case cudaMemoryTypeUnregistered:
            break;
    }
    throw invalid_argument(std::string(argument) + ": is host memory" +
                           (attributes.type == cudaMemoryTypeHost ? " (page-locked)" : "") +
                           ", but memory of cuda:" + std::to_string(device) + " is needed");
}

}  // namespace

void check_device_pointer(std::string_view argument, const void* data, int device) {
    known_pointer& k = known(data);
    const std::uint32_t now = frees.load(std::memory_order_relaxed);
    if (k.data != data || k.frees != now) k = {data, device_of_memory(argument, data, device), now};
    if (k.device != device && k.device != any_device)
        throw invalid_argument(std::string(argument) + ": is memory of cuda:" + std::to_string(k.device) +
                               ", but that of cuda:" + std::to_string(device) + " is needed");
}

void forget_pointers() noexcept {
    frees.fetch_add(1, std::memory_order_relaxed);
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
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (stream.get() != nullptr) BOXSUM_CUDA_TRY(cudaStreamIsCapturing(stream.get(), &status));
    return stream.get() == nullptr || status != cudaStreamCaptureStatusNone ? current_device() : stream_device(stream);
}

}  // namespace boxsum::cuda
