#pragma once

#include <boxsum/export.hpp>
#include <boxsum/types.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace boxsum BOXSUM_EXPORT {

/// The column stride of pixels that lie side by side, whatever their type and channels.
inline constexpr std::int64_t packed_pixels = INT64_MIN;

/// Extents and strides of a batch of images. Element (p, r, c, k) lies at byte offset
/// `p * plane_stride + r * row_stride + c * pixel_stride() + k * size_of(type)`.
/// Extents are in elements, strides in bytes; both are 64-bit. Strides are multiples of the element size, of any sign
/// and in any order, as those of slices and of transposed arrays are. Nothing that is written lies in one place twice;
/// in what is only read, a stride of 0 repeats a row, a column or a plane. A computation that cannot
/// read or write such strides directly works on a copy without gaps, or refuses them; its documentation says which.
struct view_shape {
    dtype type = dtype::u8;
    std::int64_t planes = 1;    ///< images of one shape: a batch
    std::int64_t rows = 0;      ///< height
    std::int64_t cols = 0;      ///< width
    std::int64_t channels = 1;  ///< interleaved, 1 to 4
    std::int64_t row_stride = 0;
    std::int64_t plane_stride = 0;            ///< not read when planes == 1
    std::int64_t col_stride = packed_pixels;  ///< not read when cols == 1

    /// From a pixel to the next of its row.
    constexpr std::int64_t pixel_stride() const noexcept {
        return col_stride != packed_pixels ? col_stride : channels * static_cast<std::int64_t>(size_of(type));
    }

    friend constexpr bool operator==(const view_shape& a, const view_shape& b) noexcept {
        return a.type == b.type && a.planes == b.planes && a.rows == b.rows && a.cols == b.cols &&
               a.channels == b.channels && a.row_stride == b.row_stride && a.plane_stride == b.plane_stride &&
               (a.col_stride == b.col_stride || a.pixel_stride() == b.pixel_stride());
    }
};

/// Strides of a view in bytes, taken literally: 0 repeats (it does not mean "packed"), so name `row` whenever there is
/// more than one row.
struct view_strides {
    std::int64_t row = 0;
    std::int64_t col = packed_pixels;
    std::int64_t plane = 0;  ///< not read where there is one plane
};

/// A view whose element type is known at run time only. Does not own. `const_any_view` reads, `any_view` writes.
/// The memory may be the host's or a device's; the functions say which they take.
struct const_any_view {
    const void* data = nullptr;
    view_shape shape;
};

struct any_view {
    void* data = nullptr;
    view_shape shape;

    operator const_any_view() const noexcept { return {data, shape}; }  // NOLINT: a view is its const view
};

/// Non-owning view of a batch of row-major images with elements of type T; T is const for inputs.
///
///     boxsum::image_view<const std::uint8_t> image{pixels, rows, cols, row_stride_bytes};
///
/// In the constructor above 0 stands for "packed". Other strides come as view_strides, where 0 is a stride of 0:
///
///     boxsum::image_view<const float> mirrored{last_of_row_0, rows, cols, {.row = 4 * cols, .col = -4}};
///     boxsum::image_view<const std::uint8_t> green{rgb + 1, rows, cols, {.row = 3 * cols, .col = 3}};
///
/// Nothing is checked here: the functions that take views check them and name the argument that is wrong. Copying a
/// view is cheap; it may be used from many threads as long as its memory may.
template <typename T>
class image_view {
  public:
    using element = T;
    using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;

    constexpr image_view() = default;

    constexpr image_view(T* data, std::int64_t rows, std::int64_t cols, std::int64_t row_stride_bytes = 0,
                         std::int64_t channels = 1, std::int64_t planes = 1, std::int64_t plane_stride_bytes = 0)
        : data_(data),
          rows_(rows),
          cols_(cols),
          channels_(channels),
          planes_(planes),
          row_stride_(row_stride_bytes != 0 ? row_stride_bytes : wrapping(wrapping(cols, channels), element_bytes)),
          plane_stride_(plane_stride_bytes != 0 ? plane_stride_bytes : wrapping(rows, row_stride_)),
          col_stride_(wrapping(channels, element_bytes)) {}

    constexpr image_view(T* data, std::int64_t rows, std::int64_t cols, const view_strides& strides,
                         std::int64_t channels = 1, std::int64_t planes = 1)
        : data_(data),
          rows_(rows),
          cols_(cols),
          channels_(channels),
          planes_(planes),
          row_stride_(strides.row),
          plane_stride_(strides.plane),
          col_stride_(strides.col != packed_pixels ? strides.col : wrapping(channels, element_bytes)) {}

    /// Of a shape that names T, or a type of its size.
    constexpr image_view(T* data, const view_shape& s)
        : image_view(data, s.rows, s.cols, view_strides{s.row_stride, s.col_stride, s.plane_stride}, s.channels,
                     s.planes) {}

    /// A view for writing is also one for reading.
    template <typename U>
    requires(std::is_same_v<const U, T> &&
             !std::is_same_v<U, T>) constexpr image_view(const image_view<U>& other)  // NOLINT: as pointers convert
        : image_view(other.data(), other.shape()) {}

    constexpr T* data() const noexcept { return data_; }
    constexpr std::int64_t planes() const noexcept { return planes_; }
    constexpr std::int64_t rows() const noexcept { return rows_; }
    constexpr std::int64_t cols() const noexcept { return cols_; }
    constexpr std::int64_t channels() const noexcept { return channels_; }
    constexpr std::int64_t row_stride() const noexcept { return row_stride_; }      ///< bytes
    constexpr std::int64_t plane_stride() const noexcept { return plane_stride_; }  ///< bytes
    constexpr std::int64_t col_stride() const noexcept { return col_stride_; }      ///< bytes

    /// First element of a row, whose pixels lie col_stride() apart. Unchecked.
    constexpr T* row(std::int64_t r, std::int64_t plane = 0) const noexcept {
        return reinterpret_cast<T*>(reinterpret_cast<byte*>(data_) + plane * plane_stride_ + r * row_stride_);
    }

    /// Element (row, column, channel) of a plane. Unchecked.
    constexpr T& operator()(std::int64_t r, std::int64_t c, std::int64_t channel = 0,
                            std::int64_t plane = 0) const noexcept {
        return reinterpret_cast<T*>(reinterpret_cast<byte*>(row(r, plane)) + c * col_stride_)[channel];
    }

    constexpr view_shape shape() const noexcept {
        return {dtype_of<T>,   planes_,
                rows_,         cols_,
                channels_,     row_stride_,
                plane_stride_, col_stride_ == wrapping(channels_, element_bytes) ? packed_pixels : col_stride_};
    }

    operator const_any_view() const noexcept { return {data_, shape()}; }  // NOLINT

    operator any_view() const noexcept  // NOLINT
        requires(!std::is_const_v<T>) {
        return {data_, shape()};
    }

  private:
    static constexpr std::int64_t element_bytes = static_cast<std::int64_t>(sizeof(T));

    /// Hostile extents must reach the check that names them, so their product may not be undefined behaviour here.
    static constexpr std::int64_t wrapping(std::int64_t a, std::int64_t b) noexcept {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    }

    T* data_ = nullptr;
    std::int64_t rows_ = 0;
    std::int64_t cols_ = 0;
    std::int64_t channels_ = 1;
    std::int64_t planes_ = 1;
    std::int64_t row_stride_ = 0;
    std::int64_t plane_stride_ = 0;
    std::int64_t col_stride_ = 0;
};

}  // namespace boxsum
