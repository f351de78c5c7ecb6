#pragma once

#include <boxsum/export.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace boxsum BOXSUM_EXPORT {

/// Where host memory comes from: two functions and what they work on, so that it can come from a pool of the caller's.
/// Without functions it is the library's own, memory_pool::shared(). Plain data, copied into whatever keeps memory; the
/// functions and the context outlive that. For std::pmr:
///
///     boxsum::host_allocator from_pmr{
///         .name = "std::pmr",
///         .context = resource,  // a std::pmr::memory_resource*
///         .allocate = [](void* context, std::size_t bytes) {
///             return static_cast<std::pmr::memory_resource*>(context)->allocate(bytes, 64);
///         },
///         .deallocate = [](void* context, void* data, std::size_t bytes) noexcept {
///             static_cast<std::pmr::memory_resource*>(context)->deallocate(data, bytes, 64);
///         }};
///
/// Threads may call both functions at once.
struct host_allocator {
    const char* name = "the library's pool";  ///< for messages
    void* context = nullptr;                  ///< given to both functions

    /// `bytes` (never 0) of memory, aligned to 64 bytes. Null where there is none; what it throws reaches the caller of
    /// the library.
    void* (*allocate)(void* context, std::size_t bytes) = nullptr;

    /// Takes back what allocate() gave for as many bytes.
    void (*deallocate)(void* context, void* data, std::size_t bytes) noexcept = nullptr;
};

/// A block of host memory; goes back to where it came from when destroyed. Aligned to 64 bytes, those of the library's
/// pools from 2 MiB on to 2 MiB and advised to huge pages. Contents are undefined. Movable, not copyable.
class host_buffer {
  public:
    host_buffer() = default;

    /// Throws out_of_memory, naming the size and the allocator; invalid_argument for an allocator with one function
    /// only or one whose memory is not aligned.
    explicit host_buffer(std::size_t bytes, const host_allocator& from = {});

    host_buffer(host_buffer&& other) noexcept { swap(other); }
    host_buffer& operator=(host_buffer&& other) noexcept {
        host_buffer(std::move(other)).swap(*this);
        return *this;
    }
    host_buffer(const host_buffer&) = delete;  // copying gigabytes should be visible in the caller's code
    host_buffer& operator=(const host_buffer&) = delete;
    ~host_buffer();

    void* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

  private:
    void swap(host_buffer& other) noexcept {
        std::swap(from_, other.from_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    host_allocator from_;
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

/// What a pool has and has done. Blocks are up to an eighth larger than what was asked for, those of more than 2 MiB
/// whole huge pages.
struct pool_usage {
    std::size_t limit_bytes = 0;
    std::size_t cached_bytes = 0;  ///< of freed blocks that wait for their next use
    std::size_t cached_blocks = 0;
    std::size_t used_bytes = 0;  ///< of blocks that are in use
    // Since the pool was made:
    std::uint64_t reused = 0;   ///< requests that a cached block served
    std::uint64_t fresh = 0;    ///< requests that took memory of the operating system
    std::uint64_t evicted = 0;  ///< cached blocks that went back to the operating system
};

/// Keeps freed blocks for reuse: fresh 4 KiB pages cost 5 to 13 times the computation of a table. Of more than the
/// limit it gives the oldest back to the operating system, and it never keeps a block that is larger than the limit by
/// itself. Thread-safe, also around fork(). A pool must outlive its buffers; the shared one lives as long as the
/// process.
class memory_pool {
  public:
    /// Keeps at most `limit_bytes` of freed blocks.
    explicit memory_pool(std::size_t limit_bytes);
    memory_pool(const memory_pool&) = delete;
    memory_pool& operator=(const memory_pool&) = delete;
    ~memory_pool();

    /// The process-wide pool. Its limit is that of the environment variable BOXSUM_POOL_LIMIT (bytes, or with K, M or G
    /// behind the number), or else the smaller of 1 GiB and 1/16 of the memory that the process may have: the
    /// machine's, its control group's, or that of its resource limits. Throws invalid_argument for a variable of
    /// another form.
    static memory_pool& shared();

    /// host_buffer(bytes, allocator()). Before it throws out_of_memory, cached blocks are given back.
    host_buffer acquire(std::size_t bytes) { return host_buffer(bytes, allocator()); }

    /// Gives this pool's memory.
    host_allocator allocator() noexcept;

    /// Gives back what exceeds the new limit, at once. 0: nothing is kept.
    void set_limit(std::size_t bytes) noexcept;

    /// Gives all cached blocks back to the operating system.
    void trim() noexcept;

    pool_usage usage() const noexcept;

  private:
    struct state;
    state* state_;
};

}  // namespace boxsum
