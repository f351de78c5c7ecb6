#include "core/checked_size.hpp"
#include "core/control_group.hpp"
#include "core/memory_limit.hpp"
#include "core/view_checks.hpp"

#include <boxsum/error.hpp>
#include <boxsum/memory.hpp>
#include <boxsum/table.hpp>

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
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

/// Eight sizes between a power of two and the next, so that a block serves requests up to an eighth smaller, and the
/// size of a block follows from the request.
std::size_t capacity_for(std::size_t bytes) {
    return round_up(bytes, std::max(unit_for(bytes), std::bit_floor(bytes) / 8));
}

/// The place of that size among all.
constexpr std::size_t size_classes = 64 * 8;
std::size_t class_of(std::size_t capacity) {
    const auto power = static_cast<std::size_t>(std::bit_width(capacity)) - 1;
    return 8 * power + ((capacity >> (power - 3)) & 7);
}

/// Whole huge pages are mapped here and not by malloc(), which would keep what is freed in a heap of its own.
void* allocate_block(std::size_t capacity) {
    if (capacity < huge_page) return std::aligned_alloc(unit_for(capacity), capacity);
    const std::size_t mapped = capacity + huge_page - page;
    void* const start = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    const std::size_t before = round_up(address, huge_page) - address;
    const std::size_t behind = mapped - before - capacity;
    auto* const data = static_cast<std::byte*>(start) + before;
    if (before != 0) ::munmap(start, before);
    if (behind != 0) ::munmap(data + capacity, behind);
    ::madvise(data, capacity, MADV_HUGEPAGE);  // advice: failure is fine
    return data;
}

void free_block(void* data, std::size_t capacity) {
    if (capacity < huge_page)
        std::free(data);
    else
        ::munmap(data, capacity);
}

/// A cached block holds its own place in two lists: of its size, and of all by age. So the pool needs no memory of its
/// own.
struct cached_block {
    std::size_t capacity = 0;
    cached_block* same_size_older = nullptr;
    cached_block* same_size_newer = nullptr;
    cached_block* older = nullptr;
    cached_block* newer = nullptr;
};
static_assert(sizeof(cached_block) <= cache_line);

/// One for all pools, held for some ten instructions: fork() takes it, so that the child of a process whose other
/// threads were in a pool finds none half changed, and no lock that nobody will release.
std::mutex& pools_mutex() {
    static constinit std::mutex mutex;
    return mutex;
}
[[maybe_unused]] const int watches_fork =
    ::pthread_atfork([] { pools_mutex().lock(); }, [] { pools_mutex().unlock(); }, [] { pools_mutex().unlock(); });

memory_pool* make_shared_pool() {
    const char* const told = std::getenv("BOXSUM_POOL_LIMIT");
    return new memory_pool(told != nullptr && *told != '\0' ? parse_bytes("BOXSUM_POOL_LIMIT", told)
                                                            : default_pool_limit(memory_of_process()));
}

}  // namespace

struct memory_pool::state {
    std::array<cached_block*, size_classes> newest_of_size{};
    cached_block* newest = nullptr;
    cached_block* oldest = nullptr;
    pool_usage usage;

    /// All of the following with the mutex held.

    void insert(cached_block* block) {
        cached_block*& head = newest_of_size[class_of(block->capacity)];
        block->same_size_newer = nullptr;
        block->same_size_older = head;
        if (head != nullptr) head->same_size_newer = block;
        head = block;
        block->newer = nullptr;
        block->older = newest;
        (newest != nullptr ? newest->newer : oldest) = block;
        newest = block;
        usage.cached_bytes += block->capacity;
        ++usage.cached_blocks;
    }

    void remove(cached_block* block) {
        cached_block*& head = newest_of_size[class_of(block->capacity)];
        (block->same_size_newer != nullptr ? block->same_size_newer->same_size_older : head) = block->same_size_older;
        if (block->same_size_older != nullptr) block->same_size_older->same_size_newer = block->same_size_newer;
        (block->newer != nullptr ? block->newer->older : newest) = block->older;
        (block->older != nullptr ? block->older->newer : oldest) = block->newer;
        usage.cached_bytes -= block->capacity;
        --usage.cached_blocks;
    }

    /// Takes the oldest blocks out until no more than `most` bytes are cached; a chain through `older`.
    cached_block* evict(std::size_t most) {
        cached_block* chain = nullptr;
        while (usage.cached_bytes > most) {
            cached_block* const block = oldest;
            remove(block);
            ++usage.evicted;
            block->older = chain;
            chain = block;
        }
        return chain;
    }

    /// Without the mutex: the operating system takes its time.
    static void free_chain(cached_block* block) noexcept {
        while (block != nullptr) {
            cached_block* const next = block->older;
            free_block(block, block->capacity);
            block = next;
        }
    }

    static void* take(void* context, std::size_t bytes) {
        state& pool = *static_cast<state*>(context);
        if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - huge_page) return nullptr;
        const std::size_t capacity = capacity_for(bytes);
        {
            const std::lock_guard lock(pools_mutex());
            pool.usage.used_bytes += capacity;
            if (cached_block* const block = pool.newest_of_size[class_of(capacity)]; block != nullptr) {
                pool.remove(block);
                ++pool.usage.reused;
                return block;
            }
            ++pool.usage.fresh;
        }
        void* data = allocate_block(capacity);
        if (data == nullptr) {
            pool.trim();
            data = allocate_block(capacity);
        }
        if (data == nullptr) {
            const std::lock_guard lock(pools_mutex());
            pool.usage.used_bytes -= capacity;
            --pool.usage.fresh;
        }
        return data;
    }

    static void give_back(void* context, void* data, std::size_t bytes) noexcept {
        state& pool = *static_cast<state*>(context);
        const std::size_t capacity = capacity_for(bytes);
        cached_block* out = nullptr;
        bool kept = false;
        {
            const std::lock_guard lock(pools_mutex());
            pool.usage.used_bytes -= capacity;
            if (capacity <= pool.usage.limit_bytes) {
                out = pool.evict(pool.usage.limit_bytes - capacity);
                pool.insert(new (data) cached_block{capacity});
                kept = true;
            }
        }
        free_chain(out);
        if (!kept) free_block(data, capacity);
    }

    void trim() noexcept {
        cached_block* out = nullptr;
        {
            const std::lock_guard lock(pools_mutex());
            out = evict(0);
        }
        free_chain(out);
    }
};

memory_pool::memory_pool(std::size_t limit_bytes) : state_(new state) {
    state_->usage.limit_bytes = limit_bytes;
}

memory_pool::~memory_pool() {
    trim();
    delete state_;
}

memory_pool& memory_pool::shared() {
    // Never destroyed: tables with static storage may outlive any order of destruction. No guarded static: a thread
    // that is making it while another forks would leave the guard taken in the child.
    static constinit std::atomic<memory_pool*> pool{nullptr};
    memory_pool* known = pool.load(std::memory_order_acquire);
    if (known == nullptr) {
        memory_pool* const made = make_shared_pool();
        if (pool.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return *made;
        delete made;  // another thread was first
    }
    return *known;
}

host_allocator memory_pool::allocator() noexcept {
    return {.context = state_, .allocate = &state::take, .deallocate = &state::give_back};
}

void memory_pool::set_limit(std::size_t bytes) noexcept {
    cached_block* out = nullptr;
    {
        const std::lock_guard lock(pools_mutex());
        state_->usage.limit_bytes = bytes;
        out = state_->evict(bytes);
    }
    state::free_chain(out);
}

void memory_pool::trim() noexcept {
    state_->trim();
}

pool_usage memory_pool::usage() const noexcept {
    const std::lock_guard lock(pools_mutex());
    return state_->usage;
}

host_buffer::host_buffer(std::size_t bytes, const host_allocator& from) : from_(from) {
    if ((from.allocate == nullptr) != (from.deallocate == nullptr))
        throw invalid_argument(std::string("allocator: '") + from.name + "' has one function, must have both or none");
    if (from.allocate == nullptr) from_ = memory_pool::shared().allocator();
    const std::size_t asked = bytes == 0 ? 1 : bytes;
    void* const data = from_.allocate(from_.context, asked);
    if (data == nullptr)
        throw out_of_memory("cannot allocate " + std::to_string(bytes) + " bytes of host memory from " + from_.name);
    if (reinterpret_cast<std::uintptr_t>(data) % cache_line != 0) {
        from_.deallocate(from_.context, data, asked);
        throw invalid_argument(std::string("allocator: '") + from_.name +
                               "' gave memory that is not aligned to 64 bytes");
    }
    data_ = data;
    size_ = bytes;
}

host_buffer::~host_buffer() {
    if (data_ != nullptr) from_.deallocate(from_.context, data_, size_ == 0 ? 1 : size_);
}

namespace detail {

owned_table allocate_table(const host_allocator& from, dtype type, std::int64_t rows, std::int64_t cols,
                           std::int64_t channels, std::int64_t planes) {
    view_shape shape{type, planes, rows, cols, channels, 0, 0};
    const auto element = static_cast<std::int64_t>(size_of(type));
    const auto row_elements = checked_multiply(cols, channels);
    const auto row = row_elements ? checked_multiply(*row_elements, element) : row_elements;
    const auto padded = row ? checked_add(*row, static_cast<std::int64_t>(cache_line) - 1) : row;
    // Rows that do not fit when padded are left as they are: the check below refuses the extents, or for one row
    // host_buffer the size.
    shape.row_stride = padded ? *padded / static_cast<std::int64_t>(cache_line) * static_cast<std::int64_t>(cache_line)
                              : row.value_or(0);
    const auto plane = checked_multiply(rows, shape.row_stride);
    shape.plane_stride = plane ? *plane : 0;
    const std::int64_t bytes = checked_span_bytes("table", shape);
    return {host_buffer(static_cast<std::size_t>(bytes), from), shape};
}

}  // namespace detail
}  // namespace boxsum
