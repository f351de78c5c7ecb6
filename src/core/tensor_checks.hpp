#pragma once

#include <boxsum/box.hpp>
#include <boxsum/histogram_table.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace boxsum {

/// Bytes from the first element of a tensor to one past its last. Throws invalid_argument, naming `argument` and the
/// value, for extents below 1, more than 1024 bins, strides smaller than what they step over or not multiples of the
/// element size, and sizes that do not fit 63 bits.
std::int64_t checked_tensor_bytes(std::string_view argument, const tensor_shape& shape);

/// The shape that integral histograms of a batch of images have without gaps. Strides that do not fit 64 bits are 0,
/// which the above refuses.
histogram_shape packed_histograms(const view_shape& image, std::int64_t bins, dtype type, table_form form);

/// checked_tensor_bytes(), and the pointer: not null, aligned to its element.
std::int64_t check_tensor(std::string_view argument, const const_any_tensor_view& tensor);

/// Refuses forms that integral histograms do not have. Throws invalid_argument.
void check_form(const table_form& form);

/// What every query checks: shape, element type, form and plane; of a view its memory, too. Throws invalid_argument.
void check_histograms(const histogram_shape& histograms, std::int64_t plane);
void check_histograms(const const_any_histogram_view& histograms, std::int64_t plane);

/// Throws invalid_argument, with its index, for a box that does not lie inside the image.
void check_boxes(std::span<const box> boxes, std::int64_t image_rows, std::int64_t image_cols);

/// The tables of bin 0, one per plane.
view_shape tables_of_first_bin(const tensor_shape& shape);

}  // namespace boxsum
