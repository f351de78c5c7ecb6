#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/peers.hpp"
#include "cuda/runtime/pointer_checks.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <cstdint>
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

/// The library's pools as allocators; any context makes it that for peers.
void* allocate_from_pool(void* for_peers, std::size_t bytes, CUstream_st* stream) {
    const cudaMemPool_t pool = pool_of(current_device(), for_peers != nullptr);
    void* data = nullptr;
    cudaError_t code = cudaMallocFromPoolAsync(&data, bytes, pool, stream);
    if (code == cudaErrorMemoryAllocation) {
        // What was freed is reusable elsewhere only once the frees have run.
        (void)cudaGetLastError();
        (void)cudaStreamSynchronize(stream);
        (void)cudaMemPoolTrimTo(pool, 0);
        code = cudaMallocFromPoolAsync(&data, bytes, pool, stream);
    }
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return nullptr;
    }
    BOXSUM_CUDA_TRY(code);
    return data;
}

void free_to_pool(void*, void* data, std::size_t, CUstream_st* stream) noexcept {
    (void)cudaFreeAsync(data, stream);
}

allocator library_pool(void* for_peers) {
    return {.context = for_peers, .allocate = allocate_from_pool, .deallocate = free_to_pool};
}

}  // namespace

device_buffer::device_buffer(std::size_t bytes, stream_ref stream, const allocator& from)
    : from_(from.allocate == nullptr && from.deallocate == nullptr ? library_pool(nullptr) : from),
      stream_(stream),
      device_(device_of(stream)) {
    const std::string name = from_.name == nullptr ? "" : from_.name;
    if (from_.allocate == nullptr || from_.deallocate == nullptr)
        throw invalid_argument("allocator: '" + name + "' has no function to " +
                               (from_.allocate == nullptr ? "allocate" : "deallocate"));
    if (bytes == 0) return;
    const device_scope scope(device_);
    void* const data = from_.allocate(from_.context, bytes, stream.get());
    if (data == nullptr) {
        std::size_t available = 0, total = 0;
        BOXSUM_CUDA_TRY(cudaMemGetInfo(&available, &total));
        throw out_of_memory("cannot allocate " + std::to_string(bytes) + " bytes of device memory from " + name + ", " +
                            std::to_string(available) + " of " + std::to_string(total) + " are free");
    }
    if (const auto beside = reinterpret_cast<std::uintptr_t>(data) % 256; beside != 0) {
        from_.deallocate(from_.context, data, bytes, stream.get());
        throw invalid_argument("allocator: '" + name + "' gave memory that starts " + std::to_string(beside) +
                               " bytes behind a multiple of 256, which it must start on");
    }
    data_ = data;
    size_ = bytes;
}

device_buffer::~device_buffer() {
    if (data_ == nullptr) return;
    // The default stream is that of the device that is current; the memory's may be another one by now.
    const quiet_device_scope scope(device_);
    from_.deallocate(from_.context, data_, size_, stream_.get());
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
    static char for_peers;
    return {bytes, stream, library_pool(&for_peers)};
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
