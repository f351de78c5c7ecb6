#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/peers.hpp"
#include "cuda/runtime/pointer_checks.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <map>
#include <mutex>
#include <string>

namespace boxsum::cuda {

namespace {

/// The library's own pools on a device, that for peers apart: what they may read is mapped on each of them, which
/// gigabytes of tensors need not be. They keep freed memory, up to a quarter of the device's, and for the images of
/// peers a 64th, because giving gigabytes back at every wait and mapping them anew costs milliseconds; the device's
/// default pool would, and its settings are the caller's.
cudaMemPool_t pool_of(int device, bool for_peers) {
    static std::mutex mutex;
    static std::map<std::pair<int, bool>, cudaMemPool_t> pools;  // live as long as the process, as the host's pool
    const std::lock_guard lock(mutex);
    cudaMemPool_t& pool = pools[{device, for_peers}];
    if (pool != nullptr) return pool;
    std::size_t available = 0, total = 0;
    BOXSUM_CUDA_TRY(cudaMemGetInfo(&available, &total));
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    BOXSUM_CUDA_TRY(cudaMemPoolCreate(&pool, &properties));
    std::uint64_t kept = total / (for_peers ? 64 : 4);
    BOXSUM_CUDA_TRY(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
    return pool;
}

cudaError_t allocate(void** data, std::size_t bytes, cudaMemPool_t pool, stream_ref stream) {
    const cudaError_t code = cudaMallocFromPoolAsync(data, bytes, pool, stream.get());
    if (code != cudaErrorMemoryAllocation) return code;
    // What was freed is reusable elsewhere only once the frees have run.
    (void)cudaGetLastError();
    (void)cudaStreamSynchronize(stream.get());
    (void)cudaMemPoolTrimTo(pool, 0);
    return cudaMallocFromPoolAsync(data, bytes, pool, stream.get());
}

}  // namespace

device_buffer::device_buffer(std::size_t bytes, stream_ref stream) : device_buffer(bytes, stream, false) {}

device_buffer::device_buffer(std::size_t bytes, stream_ref stream, bool for_peers)
    : stream_(stream), device_(stream.get() == nullptr ? current_device() : stream_device(stream)) {
    if (bytes == 0) return;
    const device_scope scope(device_);
    const cudaError_t code = allocate(&data_, bytes, pool_of(device_, for_peers), stream);
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        std::size_t available = 0, total = 0;
        BOXSUM_CUDA_TRY(cudaMemGetInfo(&available, &total));
        throw out_of_memory("cannot allocate " + std::to_string(bytes) + " bytes of device memory, " +
                            std::to_string(available) + " of " + std::to_string(total) + " are free");
    }
    BOXSUM_CUDA_TRY(code);
    size_ = bytes;
}

device_buffer::~device_buffer() {
    if (data_ == nullptr) return;
    // The default stream is that of the device that is current; the memory's may be another one by now.
    const quiet_device_scope scope(device_);
    (void)cudaFreeAsync(data_, stream_.get());
    forget_pointers();
}

pinned_buffer::pinned_buffer(std::size_t bytes) {
    (void)current_device();
    if (bytes == 0) return;
    const cudaError_t code = cudaHostAlloc(&data_, bytes, cudaHostAllocPortable);
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        throw out_of_memory("cannot allocate " + std::to_string(bytes) + " bytes of page-locked host memory");
    }
    BOXSUM_CUDA_TRY(code);
    size_ = bytes;
}

pinned_buffer::~pinned_buffer() {
    if (data_ != nullptr) (void)cudaFreeHost(data_);
}

device_buffer buffer_for_peers(std::size_t bytes, stream_ref stream) {
    return {bytes, stream, true};
}

void let_read(int reader, int owner) {
    const device_scope scope(owner);
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = reader;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    BOXSUM_CUDA_TRY(cudaMemPoolSetAccess(pool_of(owner, true), &access, 1));
}

}  // namespace boxsum::cuda
