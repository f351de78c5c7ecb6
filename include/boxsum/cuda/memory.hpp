#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/export.hpp>
#include <boxsum/view.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// Where device memory comes from: two functions and what they work on, so that it can come from a framework's pool.
/// Without functions it is the library's own pool (`cudaMallocFromPoolAsync`). Plain data, copied into whatever keeps
/// memory; the functions and the context outlive that. For RMM:
///
///     boxsum::cuda::allocator from_rmm{
///         .name = "RMM",
///         .context = resource,  // an rmm::mr::device_memory_resource*
///         .allocate = [](void* context, std::size_t bytes, CUstream_st* stream) {
///             return static_cast<rmm::mr::device_memory_resource*>(context)->allocate(bytes, stream);
///         },
///         .deallocate = [](void* context, void* data, std::size_t bytes, CUstream_st* stream) noexcept {
///             static_cast<rmm::mr::device_memory_resource*>(context)->deallocate(data, bytes, stream);
///         }};
///
/// PyTorch's are `c10::cuda::CUDACachingAllocator::raw_alloc_with_stream` and `raw_delete`; CuPy's pool is called
/// through its Python objects, with the stream made current. Threads may call both functions at once.
struct allocator {
    const char* name = "the library's pool";  ///< for messages
    void* context = nullptr;                  ///< given to both functions

    /// `bytes` (never 0) of memory of the current device, aligned to 256 bytes, for work that is enqueued on `stream`
    /// from here on. Null where there is none; what it throws reaches the caller of the library.
    void* (*allocate)(void* context, std::size_t bytes, CUstream_st* stream) = nullptr;

    /// Takes back what allocate() gave for as many bytes. Work that was enqueued on `stream` before still uses it.
    /// `stream` may be another one than allocate() had, of the same device; that device is current.
    void (*deallocate)(void* context, void* data, std::size_t bytes, CUstream_st* stream) noexcept = nullptr;
};

/// Device memory, allocated and freed in the order of a stream: usable by work enqueued on that stream at once, by
/// other streams once they have waited for it. Aligned to 256 bytes. Contents are undefined. The stream must outlive
/// the buffer. May be destroyed by any thread, whichever device is current there.
class device_buffer {
  public:
    device_buffer() = default;

    /// Throws out_of_memory, naming the size, the allocator and what is free, and leaves the device usable;
    /// invalid_argument for an allocator with one function only or one whose memory is not aligned; unsupported without
    /// CUDA.
    device_buffer(std::size_t bytes, stream_ref stream, const allocator& from = {});

    device_buffer(device_buffer&& other) noexcept { swap(other); }
    device_buffer& operator=(device_buffer&& other) noexcept {
        device_buffer(std::move(other)).swap(*this);
        return *this;
    }
    device_buffer(const device_buffer&) = delete;  // a copy would need a stream and gigabytes
    device_buffer& operator=(const device_buffer&) = delete;
    ~device_buffer();  ///< frees on the stream, behind the work that is enqueued there

    void* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    stream_ref stream() const noexcept { return stream_; }

    /// Frees on another stream of the memory's device. The caller orders that behind the work on the one before.
    void set_stream(stream_ref stream) noexcept { stream_ = stream; }

  private:
    void swap(device_buffer& other) noexcept {
        std::swap(from_, other.from_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(stream_, other.stream_);
        std::swap(device_, other.device_);
    }

    allocator from_;
    void* data_ = nullptr;
    std::size_t size_ = 0;
    stream_ref stream_ = stream_ref::legacy_default();
    int device_ = 0;  ///< of the memory
};

/// Page-locked host memory: what copies to and from a device need to overlap with other work and to reach the link's
/// speed. Allocating it costs milliseconds; keep it. Throws out_of_memory; unsupported without CUDA.
class pinned_buffer {
  public:
    pinned_buffer() = default;
    explicit pinned_buffer(std::size_t bytes);
    pinned_buffer(pinned_buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    pinned_buffer& operator=(pinned_buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    pinned_buffer(const pinned_buffer&) = delete;  // copying gigabytes should be visible in the caller's code
    pinned_buffer& operator=(const pinned_buffer&) = delete;
    ~pinned_buffer();

    void* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

  private:
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Extents and strides as `image` and `table` lay them out in device memory: rows on 256-byte boundaries, so that every
/// row is aligned for the widest access. Throws invalid_argument, naming the extents, for sizes that do not fit 63
/// bits.
view_shape device_shape(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t channels = 1,
                        std::int64_t planes = 1);

/// Bytes from the first element of a shape to one past its last. Throws invalid_argument as device_shape().
std::size_t span_bytes(const view_shape& shape);

/// Enqueues the copy of a batch of images between host and device, or within either; the pointers say which. Only
/// elements are copied, strides may differ, but both views are plain: pixels side by side, rows and planes in the order
/// of addresses. Pageable host memory makes it wait, `pinned_buffer` does not.
/// Throws invalid_argument when types or extents differ, and for other strides.
void copy_async(const const_any_view& from, const any_view& to, stream_ref stream);

/// The same of any strides, and waits. What is not plain goes through memory of the size of its elements.
void copy(const const_any_view& from, const any_view& to, stream_ref stream);

}  // namespace cuda
}  // namespace boxsum
