#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/view.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace boxsum::cuda {

class device_buffer;
device_buffer buffer_for_peers(std::size_t bytes, stream_ref stream);

/// Device memory, allocated and freed in the order of a stream (`cudaMallocAsync`): usable by work enqueued on that
/// stream at once, by other streams once they have waited for it. Aligned to 256 bytes. Contents are undefined.
/// The stream must outlive the buffer. May be destroyed by any thread, whichever device is current there.
class device_buffer {
  public:
    device_buffer() = default;

    /// Throws out_of_memory, naming the size and what is free, and leaves the device usable; unsupported without CUDA.
    device_buffer(std::size_t bytes, stream_ref stream);

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
    friend device_buffer buffer_for_peers(std::size_t bytes, stream_ref stream);
    device_buffer(std::size_t bytes, stream_ref stream, bool for_peers);

    void swap(device_buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(stream_, other.stream_);
        std::swap(device_, other.device_);
    }

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

/// Bytes of a view's rows on the device as `image` and `table` lay them out: rounded up to 256, so that every row is
/// aligned for the widest access. Throws invalid_argument, naming the extents, for sizes that do not fit 63 bits.
view_shape device_shape(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t channels = 1,
                        std::int64_t planes = 1);

/// Bytes from the first element of a shape to one past its last.
std::size_t span_bytes(const view_shape& shape);

/// Enqueues the copy of a batch of images between host and device, or within either; the pointers say which. Only
/// elements are copied, strides may differ. Pageable host memory makes it wait, `pinned_buffer` does not.
/// Throws invalid_argument when types or extents differ.
void copy_async(const const_any_view& from, const any_view& to, stream_ref stream);

/// The same, and waits.
void copy(const const_any_view& from, const any_view& to, stream_ref stream);

}  // namespace boxsum::cuda
