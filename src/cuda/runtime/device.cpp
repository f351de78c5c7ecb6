#include "cuda/runtime/device.hpp"

#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/cuda/stream.hpp>
#include <boxsum/error.hpp>

#include <string>

namespace boxsum::cuda {
namespace {

void require_device(int device) {
    const int count = device_count();
    if (count == 0) throw unsupported("device: there is no CUDA device");
    if (device < 0 || device >= count)
        throw unsupported("device: there is no cuda:" + std::to_string(device) + ", this machine has " +
                          std::to_string(count));
}

}  // namespace

bool built() noexcept {
    return true;
}

int device_count() noexcept {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    (void)cudaGetLastError();  // no driver or no device: an answer, not a failure
    return 0;
}

int current_device() {
    int device = 0;
    require_device(0);
    BOXSUM_CUDA_TRY(cudaGetDevice(&device));
    return device;
}

void set_device(int device) {
    require_device(device);
    BOXSUM_CUDA_TRY(cudaSetDevice(device));
}

device_scope::device_scope(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = current_device();  // says what is wrong
    if (device == before_) return;
    set_device(device);
    changed_ = true;
}

device_scope::~device_scope() {
    if (changed_) (void)cudaSetDevice(before_);
}

quiet_device_scope::quiet_device_scope(int device) noexcept {
    changed_ = cudaGetDevice(&before_) == cudaSuccess && device != before_ && cudaSetDevice(device) == cudaSuccess;
}

quiet_device_scope::~quiet_device_scope() {
    if (changed_) (void)cudaSetDevice(before_);
}

std::size_t most_shared_bytes() noexcept {
    int device = 0, bytes = 0;
    if (cudaGetDevice(&device) == cudaSuccess &&
        cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess)
        return static_cast<std::size_t>(bytes);
    (void)cudaGetLastError();
    return std::size_t{48} << 10;
}

device_info describe_device(int device) {
    require_device(device);
    cudaDeviceProp properties{};
    BOXSUM_CUDA_TRY(cudaGetDeviceProperties(&properties, device));
    device_info info;
    info.device = device;
    info.name = properties.name;
    info.major = properties.major;
    info.minor = properties.minor;
    info.multiprocessors = properties.multiProcessorCount;
    info.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
    {
        const device_scope scope(device);
        BOXSUM_CUDA_TRY(cudaMemGetInfo(&info.free_bytes, &info.memory_bytes));
    }
    BOXSUM_CUDA_TRY(cudaDriverGetVersion(&info.driver_version));
    BOXSUM_CUDA_TRY(cudaRuntimeGetVersion(&info.runtime_version));
    return info;
}

stream::stream() {
    (void)current_device();  // says that there is none in our words
    BOXSUM_CUDA_TRY(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking));
}

stream::~stream() {
    if (handle_ != nullptr) (void)cudaStreamDestroy(handle_);
}

void stream_ref::synchronize() const {
    BOXSUM_CUDA_TRY(cudaStreamSynchronize(stream_));
}

}  // namespace boxsum::cuda
