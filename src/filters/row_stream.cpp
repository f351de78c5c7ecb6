#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "filters/kept_rows.hpp"

#include <boxsum/row_stream.hpp>

#include <cstring>

namespace boxsum {

struct row_stream::state_of {
    filters::kept_rows rows;
    host_buffer memory;
};

row_stream::row_stream(const row_format& format, const filter_options& options, std::int64_t capacity,
                       const host_allocator& from) try {
    const filters::kept_rows rows(format, options, capacity, {});
    state_ = std::make_unique<state_of>(state_of{rows, host_buffer(rows.bytes(), from)});
} catch (...) {
    rethrow_as_ours();
}

row_stream::row_stream(const row_format& format, const filter_options& options, std::int64_t capacity,
                       std::span<const std::byte> state, const host_allocator& from)
    : row_stream(format, options, capacity, from) {
    state_->rows.resume(state, state_->memory.data(), copy_elements);
}

row_stream::row_stream(row_stream&&) noexcept = default;
row_stream& row_stream::operator=(row_stream&&) noexcept = default;
row_stream::~row_stream() = default;

void row_stream::push(const const_any_view& rows, const const_any_view& mask, const const_any_view& weights) {
    state_->rows.check(rows, mask, weights);
    const auto move = [](void* to, const void* from, std::int64_t bytes) {
        std::memmove(to, from, static_cast<std::size_t>(bytes));
    };
    state_->rows.push(rows, mask, weights, state_->memory.data(), move, copy_elements);
}

std::int64_t row_stream::room() const noexcept {
    return state_->rows.room();
}

void row_stream::finish() noexcept {
    state_->rows.finish();
}

std::int64_t row_stream::received() const noexcept {
    return state_->rows.received();
}

std::int64_t row_stream::dropped() const noexcept {
    return state_->rows.dropped();
}

std::int64_t row_stream::ready() const noexcept {
    return state_->rows.ready();
}

filter_inputs row_stream::next(std::int64_t n) const {
    return state_->rows.next(n, state_->memory.data());
}

void row_stream::drop(std::int64_t n) {
    state_->rows.drop(n);
}

std::vector<std::byte> row_stream::state() const try {
    return state_->rows.state(state_->memory.data(), copy_elements);
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
