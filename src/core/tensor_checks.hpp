#pragma once

#include <boxsum/histogram_tensor.hpp>

#include <cstdint>
#include <string_view>

namespace boxsum {

/// Bytes from the first element of a tensor to one past its last. Throws invalid_argument, naming `argument` and the
/// value, for extents below 1, more than 1024 bins, strides smaller than what they step over or not multiples of the
/// element size, and sizes that do not fit 63 bits.
std::int64_t checked_tensor_bytes(std::string_view argument, const tensor_shape& shape);

/// The shape that integral histograms of a batch of images have without gaps. Strides that do not fit 64 bits are 0,
/// which the above refuses.
tensor_shape packed_tensor(const view_shape& image, std::int64_t bins, dtype type, table_layout layout);

/// checked_tensor_bytes(), and the pointer: not null, aligned to its element.
std::int64_t check_tensor(std::string_view argument, const const_any_tensor_view& tensor);

/// The tables of bin 0, one per plane.
view_shape tables_of_first_bin(const tensor_shape& shape);

}  // namespace boxsum
