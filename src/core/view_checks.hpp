#pragma once

#include <boxsum/sat_options.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace boxsum {

/// Bytes from a view's first element on: those of its first one in memory, and one past its last.
struct byte_reach {
    std::int64_t first = 0;  ///< 0, or below where strides are negative
    std::int64_t end = 0;

    std::int64_t bytes() const noexcept { return end - first; }
};

/// Whether memory is only read, where rows, columns and planes may be one and the same (stride 0).
enum class access : std::uint8_t { read, write };

/// Throws invalid_argument, naming `argument` and the value, for a type that is no dtype, extents below 1, channels
/// outside 1 to 4, strides that are no multiples of the element size or that let elements share bytes (but see
/// access), and sizes that do not fit 63 bits.
byte_reach checked_reach(std::string_view argument, const view_shape& shape, access how);

/// The same for shapes of which only plain ones are taken: pixels without gaps, rows and planes in the order of
/// addresses. Bytes from the first element of a view to one past its last.
std::int64_t checked_span_bytes(std::string_view argument, const view_shape& shape);

/// Whether pixels lie side by side. Of shapes that passed checked_reach().
bool has_packed_pixels(const view_shape& shape) noexcept;
/// Whether checked_span_bytes() takes a shape that passed checked_reach().
bool is_plain(const view_shape& shape) noexcept;
/// A shape that passed checked_reach(), with one way to say that its pixels lie side by side.
view_shape normal_shape(view_shape shape) noexcept;

/// The shape of elements without gaps. Strides that do not fit 64 bits are 0, which the above refuses.
view_shape packed_shape(dtype type, std::int64_t planes, std::int64_t rows, std::int64_t cols, std::int64_t channels);

/// checked_span_bytes(), and the pointer: not null, aligned to its element.
std::int64_t check_view(std::string_view argument, const const_any_view& view);
/// The same of views with any strides.
byte_reach check_read(std::string_view argument, const const_any_view& view);
byte_reach check_written(std::string_view argument, const const_any_view& view);

/// Throw invalid_argument for a value that the enumeration lacks.
void check_layout(std::string_view argument, table_layout layout);
void check_store(store_policy store);

/// Throws invalid_argument for less than 0. Calls on devices check the number, too, and have no other use for it.
void check_threads(int threads);

/// A form against the shape of its table, which is checked: layout, origin and offsets. Throws invalid_argument.
void check_form(std::string_view argument, const table_form& form, const view_shape& table);
/// Throws unsupported for an offset or an origin, which `who` ("a device") does not take.
void check_plain_form(std::string_view argument, const table_form& form, std::string_view who);

/// "padded, origin (8, 8), offset 0.5"
std::string text_of(const table_form& form);

/// Shortest text that reads back as the same number.
std::string text_of(double value);

/// Whether two views, which passed the checks above, share a byte that belongs to an element of both. Views may
/// interleave (two halves of one buffer, two channels of its pixels); where no stride tells that they do, they count as
/// overlapping.
bool overlap(const const_any_view& a, const const_any_view& b);

}  // namespace boxsum
