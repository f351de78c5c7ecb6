#include "core/exhausted_memory.hpp"
#include "core/view_checks.hpp"
#include "cuda/filters/real_windows.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/event.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "cuda/runtime/strided_copy.hpp"
#include "filters/kept_rows.hpp"

#include <boxsum/cuda/row_stream.hpp>
#include <boxsum/error.hpp>

#include <string>
#include <utility>

namespace boxsum::cuda {
namespace {

/// Rows on device_shape()'s boundaries.
filters::row_memory memory_of(const row_format& format, const window& w) {
    const bool exact = !is_floating(format.type) && format.weight_channels == 0;
    const bool known = w.above >= 0 && w.below >= 0;  // else it is refused
    return {.row_alignment = 256, .apart = true, .period = exact || !known ? 1 : real_period(w.above, w.below)};
}

void check_type(dtype type) {
    if (filters::computed_as(type) != type)
        throw unsupported("format: type is " + std::string(name_of(type)) + ", which devices do not do yet");
}

void check_place(const char* argument, const const_any_view& view, int device) {
    if (view.shape.rows != 0 && !is_host_memory(view.data)) check_device_pointer(argument, view.data, device);
}

}  // namespace

struct row_stream::state_of {
    filters::kept_rows rows;
    device_buffer memory;
    int device;

    /// Of views that were checked, into the stream's memory.
    void copy_in(const const_any_view& from, const any_view& to) const {
        if (is_plain(from.shape)) return copy_async(from, to, memory.stream());
        if (is_host_memory(from.data)) return copy(from, to, memory.stream());
        enqueue_copy_strided(to.shape, from.data, strides_of(from.shape), to.data, strides_of(to.shape),
                             memory.stream());
    }
};

row_stream::row_stream(const row_format& format, const filter_options& options, std::int64_t capacity,
                       stream_ref stream, const allocator& from) try {
    const int device = device_of(stream);
    const filters::kept_rows rows(format, options, capacity, memory_of(format, options.window));
    check_type(format.type);
    state_ = std::make_unique<state_of>(state_of{rows, device_buffer(rows.bytes(), stream, from), device});
} catch (...) {
    rethrow_as_ours();
}

row_stream::row_stream(const row_format& format, const filter_options& options, std::int64_t capacity,
                       std::span<const std::byte> state, stream_ref stream, const allocator& from)
    : row_stream(format, options, capacity, stream, from) {
    const device_scope scope(state_->device);
    state_->rows.resume(state, state_->memory.data(),
                        [&](const const_any_view& saved, const any_view& kept) { copy(saved, kept, stream); });
}

row_stream::row_stream(row_stream&&) noexcept = default;
row_stream& row_stream::operator=(row_stream&&) noexcept = default;
row_stream::~row_stream() = default;

int row_stream::device() const noexcept {
    return state_->device;
}

stream_ref row_stream::stream() const noexcept {
    return state_->memory.stream();
}

void row_stream::follow(stream_ref stream) {
    if (stream == state_->memory.stream()) return;
    if (const int device = device_of(stream); device != state_->device)
        throw invalid_argument("stream: belongs to cuda:" + std::to_string(device) +
                               ", but the rows are memory of cuda:" + std::to_string(state_->device));
    const device_scope scope(state_->device);
    event passed_on(timing::off);
    passed_on.record(state_->memory.stream());
    passed_on.precede(stream);
    state_->memory.set_stream(stream);
}

void row_stream::push(const const_any_view& rows, const const_any_view& mask, const const_any_view& weights) {
    state_of& s = *state_;
    s.rows.check(rows, mask, weights);
    check_place("rows", rows, s.device);
    check_place("mask", mask, s.device);
    check_place("weights", weights, s.device);
    const device_scope scope(s.device);
    const auto move = [&](void* to, const void* from, std::int64_t bytes) {
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                                        s.memory.stream().get()));
    };
    s.rows.push(rows, mask, weights, s.memory.data(), move,
                [&](const const_any_view& from, const any_view& to) { s.copy_in(from, to); });
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

filter_inputs row_stream::inner(std::int64_t n) const {
    return state_->rows.inner(n);
}

bool row_stream::is_inner(std::int64_t n) const {
    return state_->rows.is_inner(n);
}

std::int64_t row_stream::period() const noexcept {
    return state_->rows.period();
}

std::vector<std::byte> row_stream::state() const try {
    const device_scope scope(state_->device);
    return state_->rows.state(state_->memory.data(), [&](const const_any_view& kept, const any_view& saved) {
        copy(kept, saved, state_->memory.stream());
    });
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum::cuda
