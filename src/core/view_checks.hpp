#pragma once

#include <boxsum/sat_options.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <string_view>

namespace boxsum {

/// Bytes from the first element of a view to one past its last. Throws invalid_argument, naming `argument` and the
/// value, for a type that is no dtype, extents below 1, channels outside 1 to 4, strides smaller than what they step
/// over or not multiples of the element size, and sizes that do not fit 63 bits.
std::int64_t checked_span_bytes(std::string_view argument, const view_shape& shape);

/// The shape of elements without gaps. Strides that do not fit 64 bits are 0, which the above refuses.
view_shape packed_shape(dtype type, std::int64_t planes, std::int64_t rows, std::int64_t cols, std::int64_t channels);

/// checked_span_bytes(), and the pointer: not null, aligned to its element.
std::int64_t check_view(std::string_view argument, const const_any_view& view);

/// Throw invalid_argument for a value that the enumeration lacks.
void check_layout(table_layout layout);
void check_store(store_policy store);

/// Whether two views, which check_view() has passed, share a byte that belongs to an element of both. Views may
/// interleave (two halves of one buffer with the same stride); where that cannot be told cheaply they count as
/// overlapping.
bool overlap(const const_any_view& a, const const_any_view& b);

}  // namespace boxsum
