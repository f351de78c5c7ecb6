#include "filters/kept_rows.hpp"

#include "core/checked_size.hpp"
#include "core/view_checks.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace boxsum::filters {
namespace {

constexpr const char* names[] = {"rows", "mask", "weights"};

void check_count(std::string_view what, std::int64_t n, std::int64_t least, std::int64_t ready) {
    if (n < least || n > ready)
        throw invalid_argument(std::string(what) + ": n is " + std::to_string(n) + ", but " + std::to_string(ready) +
                               " rows are ready");
}

std::string text_of(std::int64_t planes, std::int64_t cols, std::int64_t channels, dtype type) {
    return std::to_string(planes) + " x " + std::to_string(cols) + " x " + std::to_string(channels) + " of " +
           std::string(name_of(type));
}

std::int64_t down(std::int64_t n, std::int64_t unit) {
    return n / unit - (n % unit < 0 ? 1 : 0);
}

/// As checked_multiply() and others give it, rounded up.
std::optional<std::int64_t> aligned(std::optional<std::int64_t> bytes, std::int64_t alignment) {
    const auto more = bytes ? checked_add(*bytes, alignment - 1) : std::nullopt;
    return more ? std::optional(*more / alignment * alignment) : std::nullopt;
}

}  // namespace

kept_rows::kept_rows(const row_format& format, const filter_options& options, std::int64_t capacity,
                     const row_memory& memory)
    : format_(format), window_(options.window), border_(options.border), period_(memory.period) {
    const std::int64_t furthest = std::numeric_limits<std::int64_t>::max() / 8 * 8;
    (void)checked_span_bytes("format", {format.type, 1, 1, format.cols, format.channels, furthest});
    planes_[0] = {format.type, format.cols, format.channels};
    planes_[1] = {dtype::u8, format.cols, format.mask_channels};
    planes_[2] = {dtype::f32, format.cols, format.weight_channels};
    const auto line = [](const plane& p) { return view_shape{p.type, 1, 1, p.cols, p.channels, p.row_bytes(), 0}; };
    part one{line(planes_[0])};
    if (format.mask_channels != 0) one.mask = line(planes_[1]);
    if (format.weight_channels != 0) one.weights = line(planes_[2]);
    filter_options plain;
    plain.window = options.window;
    plain.border = options.border;
    plain.border_value = options.border_value;
    (void)windows_of(one, plain);
    if (border_ == border_mode::wrap)
        throw unsupported("border: is wrap, whose first windows take the last rows of the image");
    if (capacity < 1) throw invalid_argument("capacity: is " + std::to_string(capacity) + ", must be at least 1");

    const auto reach = checked_add(window_.above, window_.below);
    const auto kept = reach ? checked_add(*reach, 2) : std::nullopt;
    const auto both = kept ? checked_add(*kept, capacity) : std::nullopt;
    const auto twice = kept ? checked_multiply(*kept, 2) : std::nullopt;
    auto all = both && twice ? checked_add(*both, *twice) : std::nullopt;
    // Rows that are kept move when the memory ends. Where that copies, they lie behind where they go.
    if (all && memory.apart) all = checked_add(*all, capacity);
    std::optional<std::int64_t> bytes = all ? std::optional<std::int64_t>(0) : std::nullopt;
    for (plane& p : planes_) {
        if (!p.exists() || !bytes) continue;
        const auto stride = aligned(p.row_bytes(), memory.row_alignment);
        const auto of_plane = stride ? aligned(checked_multiply(*all, *stride), 256) : std::nullopt;
        p.row_stride = stride.value_or(0);
        p.offset = *bytes;
        bytes = of_plane ? checked_add(*bytes, *of_plane) : std::nullopt;
    }
    if (!bytes)
        throw invalid_argument("capacity: is " + std::to_string(capacity) + ", rows do not fit a 64-bit address space");
    kept_rows_ = *kept;
    room_rows_ = *both;
    buffer_rows_ = *all;
    bytes_ = static_cast<std::size_t>(*bytes);
}

/// What the next windows reach up to, and in the end what is mirrored below the last row (`mirror`: one row more).
std::int64_t kept_rows::first_kept() const noexcept {
    const std::int64_t above = dropped_ - window_.above - 1;
    return std::max<std::int64_t>(0, finished_ ? std::min(above, received_ - window_.below - 1) : above);
}

std::int64_t kept_rows::room() const noexcept {
    return finished_ ? 0 : room_rows_ - (received_ - first_kept());
}

void kept_rows::check(const const_any_view& rows, const const_any_view& mask, const const_any_view& weights) const {
    const const_any_view* const given[] = {&rows, &mask, &weights};
    for (std::size_t i = 0; i < planes_.size(); ++i) {
        const plane& p = planes_[i];
        const view_shape& s = given[i]->shape;
        if (i > 0 && (s.rows != 0) != p.exists())
            throw invalid_argument(std::string(names[i]) + (p.exists() ? ": are not given, but the stream has some"
                                                                       : ": given, but the stream was made without"));
        if (!p.exists()) continue;
        check_read(names[i], *given[i]);
        if (s.type != p.type || s.cols != p.cols || s.channels != p.channels || s.planes != 1)
            throw invalid_argument(std::string(names[i]) + ": are " + text_of(s.planes, s.cols, s.channels, s.type) +
                                   ", must be " + text_of(1, p.cols, p.channels, p.type));
        if (s.rows != rows.shape.rows)
            throw invalid_argument(std::string(names[i]) + ": are " + std::to_string(s.rows) + ", but rows are " +
                                   std::to_string(rows.shape.rows));
    }
    if (finished_) throw invalid_argument("rows: come after finish()");
    if (rows.shape.rows > room())
        throw invalid_argument("rows: are " + std::to_string(rows.shape.rows) + ", but there is room for " +
                               std::to_string(room()));
}

std::int64_t kept_rows::ready() const noexcept {
    if (finished_) return received_ - dropped_;
    const bool mirrors = border_ == border_mode::reflect || border_ == border_mode::mirror;
    const std::int64_t mirrored = window_.above - dropped_ + (border_ == border_mode::mirror ? 1 : 0);
    if (mirrors && dropped_ < window_.above && mirrored > received_) return 0;
    return std::max<std::int64_t>(0, received_ - window_.below - dropped_);
}

void kept_rows::drop(std::int64_t n) {
    check_count("drop", n, 0, ready());
    dropped_ += n;
}

// ---- the image that filters see -------------------------------------------------------------------------------------

/// Until its end is known, the image is taller than any window sees.
std::int64_t kept_rows::whole_rows() const noexcept {
    return finished_ ? received_ : received_ + window_.above + window_.below + 1;
}

row_range kept_rows::taken_by_next(std::int64_t n) const noexcept {
    const window_axis axis(whole_rows(), window_.above, window_.below, border_);
    const auto taken = axis.taken_by(dropped_, dropped_ + n);
    return {taken.first, taken.end};
}

/// Whether the windows of the next n rows, which take these, see nothing of the image's border.
bool kept_rows::lies_inside(row_range taken, std::int64_t n) const noexcept {
    return taken == row_range{dropped_ - window_.above, dropped_ + n + window_.below};
}

filter_inputs kept_rows::shapes(std::int64_t rows, std::int64_t at, std::int64_t whole, std::int64_t first,
                                std::int64_t n) const {
    filter_inputs inputs;
    inputs.at = {at, 0};
    inputs.whole = {whole, format_.cols};
    inputs.results = {first, first + n};
    const_any_view* const views[] = {&inputs.image, &inputs.mask, &inputs.weights};
    for (std::size_t i = 0; i < planes_.size(); ++i)
        if (planes_[i].exists()) views[i]->shape = planes_[i].rows(nullptr, 0, rows).shape;
    return inputs;
}

filter_inputs kept_rows::inner(std::int64_t n) const {
    if (n < 1 || n > room_rows_ - kept_rows_)
        throw invalid_argument("inner: n is " + std::to_string(n) + ", must be 1 to the capacity, " +
                               std::to_string(room_rows_ - kept_rows_));
    const std::int64_t least = window_.above + window_.below + 2, unit = std::max<std::int64_t>(period_, 1);
    const std::int64_t at = -window_.above - down(-window_.above - least, unit) * unit;
    const std::int64_t rows = window_.above + n + window_.below;
    return shapes(rows, at, at + rows + 1, at + window_.above, n);
}

bool kept_rows::is_inner(std::int64_t n) const {
    check_count("is_inner", n, 1, ready());
    return n <= room_rows_ - kept_rows_ && lies_inside(taken_by_next(n), n) &&
           dropped_ % std::max<std::int64_t>(period_, 1) == 0;
}

/// Where rows have a period, they get numbers that come again in streams without end: those of an image with a window's
/// rows more above. So plans fit, and devices, which number rows in 32 bits, always do.
filter_inputs kept_rows::next(std::int64_t n, void* memory) const {
    check_count("next", n, 1, ready());
    const row_range taken = taken_by_next(n);
    std::int64_t shift = 0, whole = whole_rows();
    if (period_ > 0) {
        const bool inside = lies_inside(taken, n);
        const std::int64_t least = window_.above + window_.below + 2;
        const std::int64_t periods = down(taken.first - least, period_) * period_;
        if (inside || periods > 0) shift = periods;
        if (inside) whole = taken.end + 1;
    }
    filter_inputs inputs = shapes(taken.end - taken.first, taken.first - shift, whole - shift, dropped_ - shift, n);
    const_any_view* const views[] = {&inputs.image, &inputs.mask, &inputs.weights};
    for (std::size_t i = 0; i < planes_.size(); ++i)
        if (planes_[i].exists()) views[i]->data = planes_[i].row(memory, taken.first - base_);
    return inputs;
}

// ---- states ---------------------------------------------------------------------------------------------------------

kept_rows::header kept_rows::header_of(std::int64_t first, std::int64_t received, std::int64_t dropped,
                                       bool finished) const {
    constexpr std::int64_t kind = 0x31574f524d555358;  // names this form of a state
    return {kind,
            static_cast<std::int64_t>(format_.type),
            format_.cols,
            format_.channels,
            window_.above,
            window_.below,
            window_.left,
            window_.right,
            static_cast<std::int64_t>(border_),
            first,
            received,
            dropped,
            finished ? 1 : 0,
            format_.mask_channels + 16 * format_.weight_channels};
}

std::size_t kept_rows::state_bytes(std::int64_t rows) const noexcept {
    std::int64_t bytes = 0;
    for (const plane& p : planes_)
        if (p.exists()) bytes += rows * p.row_bytes();
    return static_cast<std::size_t>(bytes);
}

void kept_rows::read_header(std::span<const std::byte> state) {
    header head;
    if (state.size() < sizeof head)
        throw invalid_argument("state: has " + std::to_string(state.size()) + " bytes, too few for one");
    std::memcpy(head.data(), state.data(), sizeof head);
    const std::int64_t first = head[9], received = head[10], dropped = head[11];
    if (head != header_of(first, received, dropped, head[12] != 0))
        throw invalid_argument("state: is of another format, window or border, or none");
    dropped_ = dropped;
    received_ = received;
    finished_ = head[12] != 0;
    if (dropped < 0 || dropped > received || first != first_kept() || received - first > room_rows_ ||
        state.size() - sizeof head != state_bytes(received - first))
        throw invalid_argument("state: has rows " + std::to_string(first) + " to " + std::to_string(received) +
                               ", which do not go with its size, or do not fit the capacity");
    base_ = first;
}

}  // namespace boxsum::filters
