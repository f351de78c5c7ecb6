#include "core/view_checks.hpp"

#include "core/checked_size.hpp"

#include <boxsum/error.hpp>
#include <boxsum/table.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace boxsum {
namespace {

/// Texts are made where a check has failed and nowhere else: a call that is right allocates nothing for them.
[[noreturn]] void refuse(std::string_view argument, std::string_view what, std::int64_t value, std::string_view rule,
                         std::string_view unit_of_rule = {}) {
    throw invalid_argument(std::string(argument)
                               .append(": ")
                               .append(what)
                               .append(" is ")
                               .append(std::to_string(value))
                               .append(", ")
                               .append(rule)
                               .append(unit_of_rule));
}

[[noreturn]] void too_large(std::string_view argument, const view_shape& s) {
    throw invalid_argument(std::string(argument) + ": " + std::to_string(s.planes) + " x " + std::to_string(s.rows) +
                           " x " + std::to_string(s.cols) + " x " + std::to_string(s.channels) +
                           " elements do not fit a 64-bit address space");
}

std::int64_t pixel_bytes(const view_shape& s) {
    return s.channels * static_cast<std::int64_t>(size_of(s.type));
}

/// One direction of a view, with what messages call it. Steps that lead nowhere have extent 1.
struct dimension {
    std::string_view stride_name;
    std::string_view stepped_over;
    std::int64_t extent;
    std::int64_t stride;
};

/// From the innermost of a row-major image on.
std::array<dimension, 3> dimensions_of(const view_shape& s) {
    return {{{"col_stride", "smaller than a pixel of ", s.cols, s.pixel_stride()},
             {"row_stride", "smaller than a row of ", s.rows, s.row_stride},
             {"plane_stride", "smaller than a plane of ", s.planes, s.plane_stride}}};
}

/// Of a stride other than the least 64-bit value, which no checked view has.
std::int64_t magnitude(std::int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/// The bytes of a checked view, as if from its first element in memory on: all strides positive, none that repeats.
struct placed_bytes {
    std::uintptr_t first = 0;
    std::array<dimension, 3> dimensions;
    std::int64_t pixel = 0;

    explicit placed_bytes(const const_any_view& v)
        : first(reinterpret_cast<std::uintptr_t>(v.data)),
          dimensions(dimensions_of(v.shape)),
          pixel(pixel_bytes(v.shape)) {
        for (dimension& d : dimensions) {
            if (d.extent == 1 || d.stride == 0) d.extent = d.stride = 1;
            if (d.stride > 0) continue;
            first -= static_cast<std::uintptr_t>(magnitude(d.stride) * (d.extent - 1));
            d.stride = -d.stride;
        }
    }

    /// From the first to one past the last, where steps by multiples of `unit` stay in place.
    std::int64_t bytes_within(std::int64_t unit) const {
        std::int64_t bytes = pixel;
        for (const dimension& d : dimensions)
            if (unit == 0 || d.stride % unit != 0) bytes += (d.extent - 1) * d.stride;
        return bytes;
    }
    std::int64_t bytes() const { return bytes_within(0); }
};

}  // namespace

namespace {

/// What most views are: rows of packed pixels one after the other, no extent or stride anywhere near 64 bits. The reach
/// of such a shape, or nothing.
byte_reach reach_of_usual(const view_shape& s, std::int64_t element) {
    constexpr auto most = std::uint64_t{1} << 24;
    const auto outside = [](std::int64_t extent) { return static_cast<std::uint64_t>(extent) - 1 >= most; };
    if (outside(s.rows) || outside(s.cols) || outside(s.row_stride) || s.planes != 1 || s.channels < 1 ||
        s.channels > 4)
        return {};
    const std::int64_t row = s.cols * s.channels * element;
    const bool usual = (s.col_stride == packed_pixels || s.col_stride == s.channels * element) && s.row_stride >= row &&
                       (s.row_stride & (element - 1)) == 0;
    return usual ? byte_reach{0, (s.rows - 1) * s.row_stride + row} : byte_reach{};
}

}  // namespace

byte_reach checked_reach(std::string_view argument, const view_shape& s, access how) {
    const auto element = static_cast<std::int64_t>(size_of(s.type));  // a power of two; 0 for what is no dtype
    if (element == 0) refuse(argument, "type", static_cast<std::int64_t>(s.type), "not a dtype");
    if (const byte_reach usual = reach_of_usual(s, element); usual.end > 0) return usual;
    if (s.rows < 1) refuse(argument, "rows", s.rows, "must be at least 1");
    if (s.cols < 1) refuse(argument, "cols", s.cols, "must be at least 1");
    if (s.planes < 1) refuse(argument, "planes", s.planes, "must be at least 1");
    if (s.channels < 1 || s.channels > 4) refuse(argument, "channels", s.channels, "must be 1 to 4");

    byte_reach reach{0, pixel_bytes(s)};
    const std::array<dimension, 3> steps = dimensions_of(s);
    for (const dimension& d : steps) {
        if (d.extent == 1) continue;
        if ((d.stride & (element - 1)) != 0)
            refuse(argument, d.stride_name, d.stride, "must be a multiple of the element size, ",
                   std::to_string(element));
        std::int64_t way = 0, all = 0;
        if (d.stride == INT64_MIN || __builtin_mul_overflow(d.extent - 1, d.stride, &way) ||
            __builtin_add_overflow(way < 0 ? reach.first : reach.end, way, way < 0 ? &reach.first : &reach.end) ||
            __builtin_sub_overflow(reach.end, reach.first, &all))
            too_large(argument, s);
    }

    // Elements lie apart where every step leads over all that the shorter ones reach.
    const auto taken = [&](const dimension& d) { return d.extent > 1 && (d.stride != 0 || how == access::write); };
    struct short_step {
        const dimension* wrong = nullptr;
        std::int64_t within = 0;  ///< what it should lead over
    };
    const auto first_too_short = [&](const std::array<dimension, 3>& order) -> short_step {
        std::int64_t within = pixel_bytes(s);
        for (const dimension& d : order) {
            if (!taken(d)) continue;
            if (magnitude(d.stride) < within) return {&d, within};
            within += (d.extent - 1) * magnitude(d.stride);
        }
        return {};
    };
    const short_step found = first_too_short(steps);
    if (found.wrong == nullptr) return reach;
    std::array<dimension, 3> by_length = steps;
    std::stable_sort(by_length.begin(), by_length.end(),
                     [](const dimension& a, const dimension& b) { return magnitude(a.stride) < magnitude(b.stride); });
    if (first_too_short(by_length).wrong == nullptr) return reach;
    const dimension& wrong = *found.wrong;
    refuse(argument, wrong.stride_name, wrong.stride, wrong.stepped_over,
           std::to_string(found.within).append(" bytes"));
}

bool has_packed_pixels(const view_shape& s) noexcept {
    return s.cols == 1 || s.pixel_stride() == pixel_bytes(s);
}

bool is_plain(const view_shape& s) noexcept {
    const std::int64_t row = s.cols * pixel_bytes(s);
    return has_packed_pixels(s) && s.row_stride >= (s.rows > 1 ? row : 0) &&
           (s.planes == 1 || s.plane_stride >= (s.rows - 1) * s.row_stride + row);
}

view_shape normal_shape(view_shape s) noexcept {
    if (has_packed_pixels(s)) s.col_stride = packed_pixels;
    return s;
}

std::int64_t checked_span_bytes(std::string_view argument, const view_shape& s) {
    const std::int64_t bytes = checked_reach(argument, s, access::write).bytes();
    if (is_plain(s)) return bytes;
    if (!has_packed_pixels(s))
        refuse(argument, "col_stride", s.pixel_stride(), "must be that of pixels without gaps here, ",
               std::to_string(pixel_bytes(s)));
    const bool rows = s.row_stride < (s.rows > 1 ? s.cols * pixel_bytes(s) : 0);
    refuse(argument, rows ? "row_stride" : "plane_stride", rows ? s.row_stride : s.plane_stride,
           "must lead over what lies before, in the order of addresses, here");
}

view_shape packed_shape(dtype type, std::int64_t planes, std::int64_t rows, std::int64_t cols, std::int64_t channels) {
    view_shape s{type, planes, rows, cols, channels, 0, 0};
    const auto elements = checked_multiply(cols, channels);
    const auto row = elements ? checked_multiply(*elements, static_cast<std::int64_t>(size_of(type))) : elements;
    s.row_stride = row.value_or(0);
    s.plane_stride = checked_multiply(rows, s.row_stride).value_or(0);
    return s;
}

namespace {

/// The pointer of a view whose shape is right: not null, aligned to its element, its bytes within the address space.
void check_pointer(std::string_view argument, const const_any_view& view, const byte_reach& reach) {
    if (view.data == nullptr) throw invalid_argument(std::string(argument) + ": data is null");
    const auto address = reinterpret_cast<std::uintptr_t>(view.data);
    if ((address & (size_of(view.shape.type) - 1)) != 0)
        throw invalid_argument(std::string(argument) + ": data is not aligned to its element size of " +
                               std::to_string(size_of(view.shape.type)) + " bytes");
    if (address < static_cast<std::uintptr_t>(-reach.first) ||
        address > std::numeric_limits<std::uintptr_t>::max() - static_cast<std::uintptr_t>(reach.end))
        too_large(argument, view.shape);
}

}  // namespace

std::int64_t check_view(std::string_view argument, const const_any_view& view) {
    const std::int64_t bytes = checked_span_bytes(argument, view.shape);
    check_pointer(argument, view, {0, bytes});
    return bytes;
}

byte_reach check_read(std::string_view argument, const const_any_view& view) {
    const byte_reach reach = checked_reach(argument, view.shape, access::read);
    check_pointer(argument, view, reach);
    return reach;
}

byte_reach check_written(std::string_view argument, const const_any_view& view) {
    const byte_reach reach = checked_reach(argument, view.shape, access::write);
    check_pointer(argument, view, reach);
    return reach;
}

void check_layout(std::string_view argument, table_layout layout) {
    switch (layout) {
        case table_layout::inclusive:
        case table_layout::exclusive:
        case table_layout::padded:
            return;
    }
    throw invalid_argument(std::string(argument) + ": layout is " + std::to_string(static_cast<int>(layout)) +
                           ", not a table_layout");
}

std::string text_of(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

namespace {

void check_offset(const std::string& argument, double offset, dtype type) {
    if (!std::isfinite(offset)) throw invalid_argument(argument + ": is " + text_of(offset) + ", must be finite");
    if (!is_floating(type) && (offset != std::trunc(offset) || std::abs(offset) >= 0x1p53))
        throw invalid_argument(argument + ": is " + text_of(offset) + ", but a table of " + std::string(name_of(type)) +
                               " takes integers below 2^53");
}

}  // namespace

void check_form(std::string_view argument, const table_form& form, const view_shape& table) {
    check_layout(argument, form.layout);
    if (form.is_plain()) return;
    const std::string name(argument);
    const auto check_origin = [&](const char* what, std::int64_t at, std::int64_t extent) {
        if (at < 0 || at > extent)
            throw invalid_argument(name + ": origin." + what + " is " + std::to_string(at) + ", must be 0 to " +
                                   std::to_string(extent) + ", those that boxes may have");
    };
    check_origin("row", form.origin.row, form.answered_extent(table.rows));
    check_origin("col", form.origin.col, form.answered_extent(table.cols));
    if (form.border() == 0 && form.origin != table_origin{})
        throw invalid_argument(name + ": an origin needs the layout padded or exclusive, but it is inclusive");
    if (form.offsets == nullptr) return check_offset(name + ": offset", form.offset, table.type);
    for (std::int64_t i = 0; i < table.planes * table.channels; ++i)
        check_offset(name + ": offsets[" + std::to_string(i) + "]", form.offsets[i], table.type);
}

void check_plain_form(std::string_view argument, const table_form& form, std::string_view who) {
    if (!form.is_plain())
        throw unsupported(std::string(argument) + ": the form is " + text_of(form) + "; " + std::string(who) +
                          " takes neither origin nor offset");
}

std::string text_of(const table_form& form) {
    std::string text(name_of(form.layout));
    if (form.origin != table_origin{})
        text += ", origin (" + std::to_string(form.origin.row) + ", " + std::to_string(form.origin.col) + ")";
    if (form.offsets != nullptr) return text + ", offsets of planes and channels";
    return form.offset == 0 ? text : text + ", offset " + text_of(form.offset);
}

void check_threads(int threads) {
    if (threads < 0)
        throw invalid_argument("threads: is " + std::to_string(threads) + ", must be 0 (automatic) or more");
}

void check_store(store_policy store) {
    switch (store) {
        case store_policy::automatic:
        case store_policy::cached:
        case store_policy::streaming:
            return;
    }
    throw invalid_argument("store: is " + std::to_string(static_cast<int>(store)) + ", not a store_policy");
}

namespace {

/// Whether two ranges of bytes meet where both repeat every `stride` bytes.
bool meet_on_circle(std::uintptr_t first, std::int64_t first_bytes, std::uintptr_t second, std::int64_t second_bytes,
                    std::int64_t stride) {
    const auto around = static_cast<std::uintptr_t>(stride);
    const std::uintptr_t gap =
        first <= second ? (second - first) % around : (around - (first - second) % around) % around;
    return gap < static_cast<std::uintptr_t>(first_bytes) || gap + static_cast<std::uintptr_t>(second_bytes) > around;
}

}  // namespace

bool overlap(const const_any_view& first, const const_any_view& second) {
    const placed_bytes a(first), b(second);
    if (a.first + static_cast<std::uintptr_t>(a.bytes()) <= b.first ||
        b.first + static_cast<std::uintptr_t>(b.bytes()) <= a.first)
        return false;
    // Seen modulo a stride, both may lie in ranges of their own: rows of one batch modulo the planes' stride, columns
    // of one buffer modulo the rows', channels modulo the columns'.
    for (const placed_bytes* one : {&a, &b})
        for (const dimension& d : one->dimensions)
            if (d.extent > 1 &&
                !meet_on_circle(a.first, a.bytes_within(d.stride), b.first, b.bytes_within(d.stride), d.stride))
                return false;
    return true;
}

namespace detail {

std::int64_t checked_table_extent(const char* argument, std::int64_t image_extent, const table_form& form) {
    if (image_extent < 1)
        throw invalid_argument(std::string(argument) + ": is " + std::to_string(image_extent) + ", must be at least 1");
    return form.table_extent(image_extent);
}

void check_image(const const_any_view& image) {
    check_read("image", image);
}

}  // namespace detail

}  // namespace boxsum
