#pragma once

#include <boxsum/export.hpp>
#include <boxsum/types.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace boxsum BOXSUM_EXPORT {

/// Extents and strides of a batch of row-major images. Pixel (p, r, c, k) lies at byte offset
/// `p * plane_stride + r * row_stride + (c * channels + k) * size_of(type)`.
/// Extents are in elements, strides in bytes; both are 64-bit. Strides need only be multiples of the element size.
struct view_shape {
    dtype type = dtype::u8;
    std::int64_t planes = 1;    ///< images of one shape: a batch
    std::int64_t rows = 0;      ///< height
    std::int64_t cols = 0;      ///< width
    std::int64_t channels = 1;  ///< interleaved, 1 to 4
    std::int64_t row_stride = 0;
    std::int64_t plane_stride = 0;  ///< not read when planes == 1

    friend bool operator==(const view_shape&, const view_shape&) = default;
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
/// A stride of 0 means "packed". Nothing is checked here: the functions that take views check them and name the
/// argument that is wrong. Copying a view is cheap; it may be used from many threads as long as its memory may.
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
          plane_stride_(plane_stride_bytes != 0 ? plane_stride_bytes : wrapping(rows, row_stride_)) {}

    /// A view for writing is also one for reading.
    template <typename U>
    requires(std::is_same_v<const U, T> &&
             !std::is_same_v<U, T>) constexpr image_view(const image_view<U>& other)  // NOLINT: as pointers convert
        : image_view(other.data(), other.rows(), other.cols(), other.row_stride(), other.channels(), other.planes(),
                     other.plane_stride()) {}

    constexpr T* data() const noexcept { return data_; }
    constexpr std::int64_t planes() const noexcept { return planes_; }
    constexpr std::int64_t rows() const noexcept { return rows_; }
    constexpr std::int64_t cols() const noexcept { return cols_; }
    constexpr std::int64_t channels() const noexcept { return channels_; }
    constexpr std::int64_t row_stride() const noexcept { return row_stride_; }      ///< bytes
    constexpr std::int64_t plane_stride() const noexcept { return plane_stride_; }  ///< bytes

    /// First element of a row. Unchecked.
    constexpr T* row(std::int64_t r, std::int64_t plane = 0) const noexcept {
        return reinterpret_cast<T*>(reinterpret_cast<byte*>(data_) + plane * plane_stride_ + r * row_stride_);
    }

    /// Element (row, column, channel) of a plane. Unchecked.
    constexpr T& operator()(std::int64_t r, std::int64_t c, std::int64_t channel = 0,
                            std::int64_t plane = 0) const noexcept {
        return row(r, plane)[c * channels_ + channel];
    }

    constexpr view_shape shape() const noexcept {
        return {dtype_of<T>, planes_, rows_, cols_, channels_, row_stride_, plane_stride_};
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
};

}  // namespace boxsum
