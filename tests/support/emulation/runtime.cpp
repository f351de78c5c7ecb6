// The CUDA runtime on host memory. Device memory is poisoned, and guarded on both sides.

#include "cuda/device/dependent_launch.cuh"
#include "support/emulation/settings.hpp"

#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace boxsum::emulation {
namespace {

constexpr unsigned char poison = 0xff;
constexpr unsigned char guard = 0xa6;
constexpr std::size_t guard_bytes = 512;
constexpr std::size_t memory_bytes = std::size_t{1} << 30;

struct allocation {
    std::size_t bytes;
    cudaMemoryType type;
    int device;
    cudaMemPool_t pool;  ///< null for host memory
};

constexpr int devices = 2;
thread_local int current = 0;

/// Of whatever thread, so that a test sees what a destructor of the library could not say.
std::atomic<cudaError_t> last_error{cudaSuccess};

/// A handle of another device where CUDA does not take one.
cudaError_t wrong_device() {
    last_error = cudaErrorInvalidResourceHandle;
    return cudaErrorInvalidResourceHandle;
}

int device_of(cudaStream_t stream) {
    return stream == nullptr ? current : stream->device;
}

/// By address.
std::mutex memory_mutex;
std::map<std::byte*, allocation>& memory() {
    static std::map<std::byte*, allocation> all;
    return all;
}

/// Host memory that was page-locked where it is.
std::map<const std::byte*, std::size_t>& registered() {
    static std::map<const std::byte*, std::size_t> all;
    return all;
}

/// Host threads may launch at the same time; the device runs one kernel after the other.
std::mutex launch_mutex;

std::map<const void*, std::size_t>& allowed_shared_bytes() {
    static std::map<const void*, std::size_t> all;
    return all;
}

std::size_t padded(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

cudaError_t allocate(void** data, std::size_t bytes, cudaMemoryType type, int device, cudaMemPool_t pool = nullptr) {
    if (bytes > memory_bytes) return cudaErrorMemoryAllocation;
    auto* const all = static_cast<std::byte*>(std::aligned_alloc(256, padded(bytes) + 2 * guard_bytes));
    if (all == nullptr) return cudaErrorMemoryAllocation;
    std::memset(all, guard, padded(bytes) + 2 * guard_bytes);
    std::memset(all + guard_bytes, poison, bytes);
    const std::lock_guard lock(memory_mutex);
    memory()[all + guard_bytes] = {bytes, type, device, pool};
    *data = all + guard_bytes;
    return cudaSuccess;
}

void release(void* data) {
    if (data == nullptr) return;
    const std::lock_guard lock(memory_mutex);
    memory().erase(static_cast<std::byte*>(data));
    std::free(static_cast<std::byte*>(data) - guard_bytes);
}

int device_of_memory(void* data) {
    const std::lock_guard lock(memory_mutex);
    const auto found = memory().find(static_cast<std::byte*>(data));
    return found == memory().end() ? -1 : found->second.device;
}

std::atomic<std::uint64_t> from_host{0}, overlapping{0}, early{0};

/// What device memory an address is in; nothing for the host's.
std::optional<allocation> device_memory(const void* data) {
    const auto* const address = static_cast<const std::byte*>(data);
    const std::lock_guard lock(memory_mutex);
    auto found = memory().upper_bound(const_cast<std::byte*>(address));
    if (found == memory().begin()) return {};
    const allocation& what = (--found)->second;
    if (what.type != cudaMemoryTypeDevice || address >= found->first + what.bytes) return {};
    return what;
}

enum class way : std::uint8_t { open, closed, leads_nowhere };

/// Between memory and the device of a stream.
way way_of(const std::optional<allocation>& memory, cudaStream_t stream) {
    if (!memory || memory->device == device_of(stream)) return way::open;
    if (!memory->pool->for_peers || configure().peers == peer_copies::refused) return way::closed;
    return configure().peers == peer_copies::lost ? way::leads_nowhere : way::open;
}

/// Copies rows where CUDA would.
cudaError_t copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                      std::size_t height, cudaStream_t stream) {
    const std::optional<allocation> target = device_memory(to), source = device_memory(from);
    for (const auto& memory : {target, source}) switch (way_of(memory, stream)) {
            case way::open:
                break;
            case way::closed:
                last_error = cudaErrorInvalidValue;
                return cudaErrorInvalidValue;
            case way::leads_nowhere:
                return cudaSuccess;
        }
    if (target && !source) from_host += width * height;
    for (std::size_t row = 0; row < height; ++row)
        std::memmove(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
    return cudaSuccess;
}

void check_guards() {
    const std::lock_guard lock(memory_mutex);
    for (const auto& [data, what] : memory()) {
        std::byte* const begin = data - guard_bytes;
        const std::size_t total = padded(what.bytes) + 2 * guard_bytes;
        for (std::size_t i = 0; i < total; ++i) {
            if (i == guard_bytes) i += what.bytes;
            if (begin[i] == std::byte{guard}) continue;
            begin[i] = std::byte{guard};
            throw failure("a kernel wrote " +
                          (i < guard_bytes
                               ? std::to_string(guard_bytes - i) + " bytes before"
                               : std::to_string(i - guard_bytes - what.bytes) + " bytes behind the end of") +
                          " an allocation of " + std::to_string(what.bytes) + " bytes");
        }
    }
}

}  // namespace

std::uint64_t bytes_from_host() {
    return from_host;
}

std::uint64_t overlapping_launches() {
    return overlapping;
}

void let_successor_start() {
    ++early;
}

std::uint64_t early_starts() {
    return early;
}

cudaError_t allow_shared_bytes(const void* kernel, int bytes) {
    const std::lock_guard lock(launch_mutex);
    if (bytes < 0 || bytes > configure().shared_bytes) return cudaErrorInvalidValue;
    allowed_shared_bytes()[kernel] = static_cast<std::size_t>(bytes);
    return cudaSuccess;
}

cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, const kernel_call& call) {
    if (device_of(config.stream) != current) return wrong_device();
    const std::lock_guard lock(launch_mutex);
    launch_description what{{config.gridDim.x, config.gridDim.y, config.gridDim.z},
                            {config.blockDim.x, config.blockDim.y, config.blockDim.z},
                            config.dynamicSmemBytes,
                            call};
    if (what.grid.count() == 0 || what.block.count() == 0 || what.block.count() > 1024 || what.block.z > 64 ||
        what.grid.x > 0x7fffffffu || what.grid.y > 65535 || what.grid.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (configure().refused_launch > 0 && --configure().refused_launch == 0) return cudaErrorInvalidConfiguration;
    const auto allowed = allowed_shared_bytes().find(kernel);
    if (config.dynamicSmemBytes > (allowed == allowed_shared_bytes().end() ? 48 * 1024 : allowed->second) ||
        config.dynamicSmemBytes > static_cast<std::size_t>(configure().shared_bytes))
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) return cudaErrorNotSupported;
        what.overlaps = config.attrs[i].val.programmaticStreamSerializationAllowed != 0;
    }
    if (what.overlaps && !runs_code_of_9())
        throw failure("a launch overlaps its predecessor, for whose end code for compute capability 8 does not wait");
    if (what.overlaps) ++overlapping;
    run(what);
    check_guards();
    return cudaSuccess;
}

}  // namespace boxsum::emulation

using boxsum::emulation::configure;

const char* cudaGetErrorName(cudaError_t code) {
    switch (code) {
        case cudaSuccess:
            return "cudaSuccess";
        case cudaErrorInvalidValue:
            return "cudaErrorInvalidValue";
        case cudaErrorMemoryAllocation:
            return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidConfiguration:
            return "cudaErrorInvalidConfiguration";
        case cudaErrorInvalidDevice:
            return "cudaErrorInvalidDevice";
        case cudaErrorInvalidResourceHandle:
            return "cudaErrorInvalidResourceHandle";
        case cudaErrorNotReady:
            return "cudaErrorNotReady";
        case cudaErrorNotSupported:
            break;
    }
    return "cudaErrorNotSupported";
}
const char* cudaGetErrorString(cudaError_t code) {
    return code == cudaErrorNotSupported ? "not emulated" : "refused by the emulation";
}
cudaError_t cudaGetLastError() {
    return boxsum::emulation::last_error.exchange(cudaSuccess);
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = boxsum::emulation::devices;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = boxsum::emulation::current;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= boxsum::emulation::devices) return cudaErrorInvalidDevice;
    boxsum::emulation::current = device;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    using boxsum::emulation::devices;
    if (device < 0 || device >= devices || peer < 0 || peer >= devices) return cudaErrorInvalidDevice;
    *can = device != peer && configure().peers != boxsum::emulation::peer_copies::refused;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int device) {
    if (device < 0 || device >= boxsum::emulation::devices) return cudaErrorInvalidDevice;
    switch (what) {
        case cudaDevAttrMultiProcessorCount:
            *value = configure().multiprocessors;
            return cudaSuccess;
        case cudaDevAttrMaxThreadsPerMultiProcessor:
            *value = 2048;
            return cudaSuccess;
        case cudaDevAttrComputeCapabilityMajor:
            *value = configure().compute_capability;
            return cudaSuccess;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            *value = configure().shared_bytes;
            return cudaSuccess;
    }
    return cudaErrorInvalidValue;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (device < 0 || device >= boxsum::emulation::devices) return cudaErrorInvalidDevice;
    *properties = {"emulated on the CPU", configure().compute_capability, 0, configure().multiprocessors, 1 << 20};
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    *version = 12000;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = 12000;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    *stream = new CUstream_st{boxsum::emulation::current};
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
    return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
    *device = boxsum::emulation::device_of(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    *event = new CUevent_st{0, boxsum::emulation::current};
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, 0);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (event->device != boxsum::emulation::device_of(stream)) return boxsum::emulation::wrong_device();
    // All work is done when it is enqueued.
    event->nanoseconds = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    if (start->device != end->device) return boxsum::emulation::wrong_device();
    if (start->nanoseconds == 0 || end->nanoseconds == 0) return cudaErrorInvalidValue;
    *milliseconds = static_cast<float>(end->nanoseconds - start->nanoseconds) * 1e-6f;
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total) {
    *available = *total = boxsum::emulation::memory_bytes;
    return cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    if (properties->location.id < 0 || properties->location.id >= boxsum::emulation::devices)
        return cudaErrorInvalidDevice;
    static std::deque<CUmemPool_st> pools;  // nothing destroys one
    const std::lock_guard lock(boxsum::emulation::memory_mutex);
    *pool = &pools.emplace_back(CUmemPool_st{properties->location.id});
    return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
    return cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        int can = 0;
        const cudaError_t code = cudaDeviceCanAccessPeer(&can, access[i].location.id, pool->device);
        if (code != cudaSuccess || can == 0) return cudaErrorInvalidDevice;
        pool->for_peers = access[i].flags == cudaMemAccessFlagsProtReadWrite;
    }
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
    return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** data, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    if (pool->device != boxsum::emulation::device_of(stream)) return boxsum::emulation::wrong_device();
    return boxsum::emulation::allocate(data, bytes, cudaMemoryTypeDevice, pool->device, pool);
}
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
    // On a device's own stream, or nothing orders it behind the kernels that still use the memory.
    if (boxsum::emulation::device_of_memory(data) != boxsum::emulation::device_of(stream))
        return boxsum::emulation::wrong_device();
    boxsum::emulation::release(data);
    return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
    return boxsum::emulation::allocate(data, bytes, cudaMemoryTypeHost, boxsum::emulation::current);
}
cudaError_t cudaFreeHost(void* data) {
    boxsum::emulation::release(data);
    return cudaSuccess;
}
cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned) {
    using namespace boxsum::emulation;
    const std::lock_guard lock(memory_mutex);
    const bool is_new = registered().emplace(static_cast<const std::byte*>(data), bytes).second;
    return is_new ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaHostUnregister(void* data) {
    using namespace boxsum::emulation;
    const std::lock_guard lock(memory_mutex);
    return registered().erase(static_cast<const std::byte*>(data)) == 1 ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
    using namespace boxsum::emulation;
    const auto* const address = static_cast<const std::byte*>(data);
    *attributes = {cudaMemoryTypeUnregistered, 0};
    const std::lock_guard lock(memory_mutex);
    for (const auto& [begin, what] : memory())
        if (begin <= address && address < begin + what.bytes) *attributes = {what.type, what.device};
    for (const auto& [begin, bytes] : registered())
        if (begin <= address && address < begin + bytes) attributes->type = cudaMemoryTypeHost;
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    return boxsum::emulation::copy_rows(to, bytes, from, bytes, bytes, 1, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
    if (width > to_pitch || width > from_pitch) return cudaErrorInvalidValue;
    return boxsum::emulation::copy_rows(to, to_pitch, from, from_pitch, width, height, stream);
}
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t) {
    std::memset(data, value, bytes);
    return cudaSuccess;
}

namespace {

/// What the driver checks, as far as this project could get it wrong.
CUresult encode(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* data, const cuuint64_t* extents,
                const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps, CUtensorMapInterleave,
                CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    const int element = type == CU_TENSOR_MAP_DATA_TYPE_UINT8    ? 1
                        : type == CU_TENSOR_MAP_DATA_TYPE_UINT16 ? 2
                        : type == CU_TENSOR_MAP_DATA_TYPE_UINT64 ? 8
                                                                 : 4;
    if (rank != 3 || reinterpret_cast<std::uintptr_t>(data) % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 3; ++i)
        if (extents[i] == 0 || box[i] == 0 || box[i] > 256 || steps[i] != 1) return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 2; ++i)
        if (strides[i] % 16 != 0 || strides[i] >= std::uint64_t{1} << 40) return CUDA_ERROR_INVALID_VALUE;
    if (box[0] * static_cast<unsigned>(element) % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
    *map = {static_cast<const std::byte*>(data), {}, {}, {}, element};
    for (int i = 0; i < 3; ++i) {
        map->extents[i] = static_cast<std::int64_t>(extents[i]);
        map->box[i] = static_cast<std::int32_t>(box[i]);
    }
    for (int i = 0; i < 2; ++i) map->strides[i] = static_cast<std::int64_t>(strides[i]);
    return CUDA_SUCCESS;
}

}  // namespace

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
    const bool known = std::string(symbol) == "cuTensorMapEncodeTiled";
    *function = known ? reinterpret_cast<void*>(&encode) : nullptr;
    *result = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
