#pragma once

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/export.hpp>
#include <boxsum/table.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/view.hpp>

#include <cstdint>

namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// Owns a batch of images in device memory, rows on 256-byte boundaries. Contents are undefined. A constant one still
/// gives views for writing: what is constant is which memory it owns.
///
///     boxsum::cuda::image<std::uint8_t> d_image(rows, cols, stream);
///     boxsum::cuda::copy_async(image, d_image, stream);
template <typename T>
class image {
  public:
    image() = default;

    /// Throws invalid_argument for extents below 1 or beyond 64 bits, out_of_memory, unsupported without CUDA.
    image(std::int64_t rows, std::int64_t cols, stream_ref stream, std::int64_t channels = 1, std::int64_t planes = 1,
          const allocator& from = {})
        : shape_(device_shape(dtype_of<T>, rows, cols, channels, planes)), memory_(span_bytes(shape_), stream, from) {}

    image_view<T> view() const noexcept { return {static_cast<T*>(memory_.data()), shape_}; }
    operator image_view<T>() const noexcept { return view(); }
    operator image_view<const T>() const noexcept { return view(); }
    operator any_view() const noexcept { return view(); }
    operator const_any_view() const noexcept { return view(); }

    const view_shape& shape() const noexcept { return shape_; }
    std::int64_t rows() const noexcept { return shape_.rows; }
    std::int64_t cols() const noexcept { return shape_.cols; }
    std::int64_t channels() const noexcept { return shape_.channels; }
    std::int64_t planes() const noexcept { return shape_.planes; }

  private:
    view_shape shape_;
    device_buffer memory_;
};

/// Owns the tables of a batch of images in device memory, as boxsum::table does on the host. Knows its form, so that
/// nobody can read it in another one. Contents are undefined until cuda::sat() or a plan fills it.
///
///     boxsum::cuda::table<std::uint32_t> d_table(image_rows, image_cols, stream, boxsum::table_layout::padded);
template <typename T>
class table {
  public:
    table() = default;

    /// For images of image_rows x image_cols pixels. Throws invalid_argument for extents below 1 or beyond 64 bits,
    /// out_of_memory, unsupported without CUDA.
    table(std::int64_t image_rows, std::int64_t image_cols, stream_ref stream, table_form form = {},
          std::int64_t channels = 1, std::int64_t planes = 1, const allocator& from = {})
        : entries_(boxsum::detail::checked_table_extent("image_rows", image_rows, form.layout),
                   boxsum::detail::checked_table_extent("image_cols", image_cols, form.layout), stream, channels,
                   planes, from),
          form_(form) {}

    table_view<T> view() const noexcept { return {entries_.view(), form_}; }
    operator table_view<T>() const noexcept { return view(); }
    operator table_view<const T>() const noexcept { return view(); }
    operator any_table_view() const noexcept { return view(); }
    operator const_any_table_view() const noexcept { return view(); }

    const table_form& form() const noexcept { return form_; }
    table_layout layout() const noexcept { return form_.layout; }

    /// Of the entries.
    const view_shape& shape() const noexcept { return entries_.shape(); }

    /// Extents of the table.
    std::int64_t rows() const noexcept { return shape().rows; }
    std::int64_t cols() const noexcept { return shape().cols; }
    /// Extents of the image.
    std::int64_t image_rows() const noexcept { return form_.image_extent(rows()); }
    std::int64_t image_cols() const noexcept { return form_.image_extent(cols()); }
    std::int64_t channels() const noexcept { return shape().channels; }
    std::int64_t planes() const noexcept { return shape().planes; }

  private:
    image<T> entries_;
    table_form form_;
};

}  // namespace cuda
}  // namespace boxsum
