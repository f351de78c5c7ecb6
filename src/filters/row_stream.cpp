#include "core/checked_size.hpp"
#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "core/view_checks.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/error.hpp>
#include <boxsum/row_stream.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

namespace boxsum {
namespace {

/// The numbers at the start of a state, after which rows follow.
using state_header = std::array<std::int64_t, 14>;

state_header header_of(const row_format& format, const window& w, border_mode border, std::int64_t first,
                       std::int64_t received, std::int64_t dropped, bool finished) {
    constexpr std::int64_t kind = 0x31574f524d555358;  // names this form of a state
    return {kind,
            static_cast<std::int64_t>(format.type),
            format.cols,
            format.channels,
            w.above,
            w.below,
            w.left,
            w.right,
            static_cast<std::int64_t>(border),
            first,
            received,
            dropped,
            finished ? 1 : 0,
            0};
}

void check_count(std::string_view what, std::int64_t n, std::int64_t least, std::int64_t ready) {
    if (n < least || n > ready)
        throw invalid_argument(std::string(what) + ": n is " + std::to_string(n) + ", but " + std::to_string(ready) +
                               " rows are ready");
}

}  // namespace

row_stream::row_stream(const row_format& format, const filter_options& options, std::int64_t capacity) try
    : format_(format), window_(options.window), border_(options.border) {
    view_shape one{format.type, 1, 1, format.cols, format.channels};
    (void)checked_span_bytes(
        "format", {format.type, 1, 1, format.cols, format.channels, std::numeric_limits<std::int64_t>::max() / 8 * 8});
    one.row_stride = row_bytes();
    filter_options plain;
    plain.window = options.window;
    plain.border = options.border;
    plain.border_value = options.border_value;
    (void)filters::windows_of({one}, plain);
    if (border_ == border_mode::wrap)
        throw unsupported("border: is wrap, whose first windows take the last rows of the image");
    if (capacity < 1) throw invalid_argument("capacity: is " + std::to_string(capacity) + ", must be at least 1");
    const auto reach = checked_add(window_.above, window_.below);
    const auto kept = reach ? checked_add(*reach, 2) : std::nullopt;
    const auto both = kept ? checked_add(*kept, capacity) : std::nullopt;
    const auto twice = kept ? checked_multiply(*kept, 2) : std::nullopt;
    const auto all = both && twice ? checked_add(*both, *twice) : std::nullopt;
    const auto bytes = all ? checked_multiply(*all, row_bytes()) : std::nullopt;
    if (!bytes)
        throw invalid_argument("capacity: is " + std::to_string(capacity) + ", rows do not fit a 64-bit address space");
    kept_rows_ = *kept;
    room_rows_ = *both;
    buffer_rows_ = *all;
    memory_ = memory_pool::shared().acquire(static_cast<std::size_t>(*bytes));
} catch (...) {
    rethrow_as_ours();
}

row_stream::row_stream(const row_format& format, const filter_options& options, std::int64_t capacity,
                       std::span<const std::byte> state)
    : row_stream(format, options, capacity) {
    state_header header;
    if (state.size() < sizeof header)
        throw invalid_argument("state: has " + std::to_string(state.size()) + " bytes, too few for one");
    std::memcpy(header.data(), state.data(), sizeof header);
    const std::int64_t first = header[9], received = header[10], dropped = header[11];
    if (header != header_of(format_, window_, border_, first, received, dropped, header[12] != 0))
        throw invalid_argument("state: is of another format, window or border, or none");
    dropped_ = dropped;
    received_ = received;
    finished_ = header[12] != 0;
    if (dropped < 0 || dropped > received || first != first_kept() || received - first > room_rows_ ||
        static_cast<std::int64_t>(state.size() - sizeof header) != (received - first) * row_bytes())
        throw invalid_argument("state: has rows " + std::to_string(first) + " to " + std::to_string(received) +
                               ", which do not go with its size, or do not fit the capacity");
    base_ = first;
    std::memcpy(row(first), state.data() + sizeof header, state.size() - sizeof header);
}

std::int64_t row_stream::row_bytes() const noexcept {
    return format_.cols * format_.channels * static_cast<std::int64_t>(size_of(format_.type));
}

std::byte* row_stream::row(std::int64_t r) const noexcept {
    return static_cast<std::byte*>(memory_.data()) + (r - base_) * row_bytes();
}

/// What the next windows reach up to, and in the end what is mirrored below the last row (`mirror`: one row more).
std::int64_t row_stream::first_kept() const noexcept {
    const std::int64_t above = dropped_ - window_.above - 1;
    return std::max<std::int64_t>(0, finished_ ? std::min(above, received_ - window_.below - 1) : above);
}

std::int64_t row_stream::room() const noexcept {
    return finished_ ? 0 : room_rows_ - (received_ - first_kept());
}

void row_stream::push(const const_any_view& rows) {
    check_read("rows", rows);
    const view_shape& s = rows.shape;
    if (s.type != format_.type || s.cols != format_.cols || s.channels != format_.channels || s.planes != 1)
        throw invalid_argument("rows: are " + std::to_string(s.planes) + " x " + std::to_string(s.cols) + " x " +
                               std::to_string(s.channels) + " of " + std::string(name_of(s.type)) + ", must be 1 x " +
                               std::to_string(format_.cols) + " x " + std::to_string(format_.channels) + " of " +
                               std::string(name_of(format_.type)));
    if (finished_) throw invalid_argument("rows: come after finish()");
    if (s.rows > room())
        throw invalid_argument("rows: are " + std::to_string(s.rows) + ", but there is room for " +
                               std::to_string(room()));
    if (received_ + s.rows - base_ > buffer_rows_) {
        const std::int64_t first = first_kept();
        std::memmove(memory_.data(), row(first), static_cast<std::size_t>((received_ - first) * row_bytes()));
        base_ = first;
    }
    copy_elements(rows, {row(received_), packed_shape(s.type, 1, s.rows, s.cols, s.channels)});
    received_ += s.rows;
}

void row_stream::finish() {
    finished_ = true;
}

std::int64_t row_stream::ready() const noexcept {
    if (finished_) return received_ - dropped_;
    const bool mirrors = border_ == border_mode::reflect || border_ == border_mode::mirror;
    const std::int64_t mirrored = window_.above - dropped_ + (border_ == border_mode::mirror ? 1 : 0);
    if (mirrors && dropped_ < window_.above && mirrored > received_) return 0;
    return std::max<std::int64_t>(0, received_ - window_.below - dropped_);
}

filter_inputs row_stream::next(std::int64_t n) const {
    check_count("next", n, 1, ready());
    const std::int64_t first = first_kept();
    const view_shape shape{format_.type, 1, received_ - first, format_.cols, format_.channels, row_bytes(), 0};
    // Until its end is known, the image is taller than any window sees.
    const std::int64_t whole = finished_ ? received_ : received_ + window_.above + window_.below + 1;
    return {.image = {row(first), shape},
            .at = {first, 0},
            .whole = {whole, format_.cols},
            .results = {dropped_, dropped_ + n}};
}

void row_stream::drop(std::int64_t n) {
    check_count("drop", n, 0, ready());
    dropped_ += n;
}

std::vector<std::byte> row_stream::state() const {
    const std::int64_t first = first_kept();
    const state_header header = header_of(format_, window_, border_, first, received_, dropped_, finished_);
    const auto rows = static_cast<std::size_t>((received_ - first) * row_bytes());
    std::vector<std::byte> bytes(sizeof header + rows);
    std::memcpy(bytes.data(), header.data(), sizeof header);
    if (rows > 0) std::memcpy(bytes.data() + sizeof header, row(first), rows);
    return bytes;
}

}  // namespace boxsum
