#include "core/checked_size.hpp"
#include "core/view_checks.hpp"

#include <boxsum/error.hpp>
#include <boxsum/table.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <string>

namespace boxsum {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/// What blocks of this size are aligned to, and multiples of. The smallest share size classes of a cache line. Those
/// that may hold images start on pages: loads that lie 128 to 320 bytes (modulo 4096) behind recent stores wait for
/// them, and a table that lies so behind its image took up to 2.2 times as long (Zen 4, 32f32f at 1024^2). Large ones
/// come in whole huge pages, which the operating system can then map with one fault each.
std::size_t unit_for(std::size_t bytes) {
    return bytes < 16 * page ? cache_line : bytes < huge_page ? page : huge_page;
}
std::size_t capacity_for(std::size_t bytes) {
    return round_up(bytes == 0 ? 1 : bytes, unit_for(bytes));
}

void* allocate_block(std::size_t capacity) {
    const std::size_t alignment = unit_for(capacity);
    void* data = std::aligned_alloc(alignment, capacity);
    if (data != nullptr && capacity >= huge_page) ::madvise(data, capacity, MADV_HUGEPAGE);  // advice: failure is fine
    return data;
}

std::size_t machine_bytes() {
    return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

struct memory_pool::state {
    std::mutex mutex;
    std::multimap<std::size_t, void*> blocks;  // by capacity
    std::size_t cached = 0;
    std::size_t limit = 0;
};

memory_pool::memory_pool(std::size_t cache_limit) : state_(new state) {
    state_->limit = cache_limit;
}

memory_pool::~memory_pool() {
    trim();
    delete state_;
}

memory_pool& memory_pool::shared() {
    // Never destroyed: tables with static storage may outlive any order of destruction.
    static memory_pool& pool = *new memory_pool(machine_bytes() / 4);
    return pool;
}

host_buffer memory_pool::acquire(std::size_t bytes) {
    const auto fail = [&] {
        throw out_of_memory("cannot allocate " + std::to_string(bytes) + " bytes of host memory");
    };
    if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - huge_page) fail();
    const std::size_t capacity = capacity_for(bytes);
    host_buffer buffer;
    {
        const std::lock_guard lock(state_->mutex);
        // A cached block up to a quarter too large is worth more than fresh pages.
        const auto found = state_->blocks.lower_bound(capacity);
        if (found != state_->blocks.end() && found->first <= capacity + capacity / 4) {
            buffer.data_ = found->second;
            buffer.capacity_ = found->first;
            state_->cached -= found->first;
            state_->blocks.erase(found);
        }
    }
    if (buffer.data_ == nullptr) {
        buffer.data_ = allocate_block(capacity);
        if (buffer.data_ == nullptr) {
            trim();
            buffer.data_ = allocate_block(capacity);
        }
        if (buffer.data_ == nullptr) fail();
        buffer.capacity_ = capacity;
    }
    buffer.size_ = bytes;
    buffer.pool_ = this;
    return buffer;
}

void memory_pool::release(void* data, std::size_t capacity) noexcept {
    {
        const std::lock_guard lock(state_->mutex);
        if (state_->cached + capacity <= state_->limit) try {
                state_->blocks.emplace(capacity, data);
                state_->cached += capacity;
                return;
            } catch (const std::bad_alloc&) {  // no memory for the note: give the block back instead
            }
    }
    std::free(data);
}

void memory_pool::trim() noexcept {
    const std::lock_guard lock(state_->mutex);
    for (const auto& [capacity, data] : state_->blocks) std::free(data);
    state_->blocks.clear();
    state_->cached = 0;
}

std::size_t memory_pool::cached_bytes() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return state_->cached;
}

host_buffer::~host_buffer() {
    if (pool_ != nullptr) pool_->release(data_, capacity_);
}

namespace detail {

owned_table allocate_table(memory_pool& pool, dtype type, std::int64_t rows, std::int64_t cols, std::int64_t channels,
                           std::int64_t planes) {
    view_shape shape{type, planes, rows, cols, channels, 0, 0};
    const auto element = static_cast<std::int64_t>(size_of(type));
    const auto row_elements = checked_multiply(cols, channels);
    const auto row = row_elements ? checked_multiply(*row_elements, element) : row_elements;
    const auto padded = row ? checked_add(*row, static_cast<std::int64_t>(cache_line) - 1) : row;
    // Rows that do not fit when padded are left as they are: the check below refuses the extents, or for one row
    // acquire() the size.
    shape.row_stride = padded ? *padded / static_cast<std::int64_t>(cache_line) * static_cast<std::int64_t>(cache_line)
                              : row.value_or(0);
    const auto plane = checked_multiply(rows, shape.row_stride);
    shape.plane_stride = plane ? *plane : 0;
    const std::int64_t bytes = checked_span_bytes("table", shape);
    return {pool.acquire(static_cast<std::size_t>(bytes)), shape};
}

}  // namespace detail
}  // namespace boxsum
