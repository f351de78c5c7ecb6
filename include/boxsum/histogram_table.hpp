#pragma once

#include <boxsum/export.hpp>
#include <boxsum/table.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <type_traits>

namespace boxsum BOXSUM_EXPORT {

/// Extents and strides of the integral histograms of a batch of images, in the order planes x bins x rows x cols
/// (Poostchi et al., section 3.1). Entry (p, b, r, c) lies at byte offset
/// `p * plane_stride + b * bin_stride + r * row_stride + c * size_of(type)`. Extents are in elements, strides in bytes.
struct tensor_shape {
    dtype type = dtype::u32;
    std::int64_t planes = 1;  ///< images of one shape: a batch of frames
    std::int64_t bins = 0;
    std::int64_t rows = 0;  ///< of the tables: one more than the image's for `padded`
    std::int64_t cols = 0;
    std::int64_t row_stride = 0;
    std::int64_t bin_stride = 0;    ///< not read when bins == 1
    std::int64_t plane_stride = 0;  ///< not read when planes == 1

    friend bool operator==(const tensor_shape&, const tensor_shape&) = default;
};

/// A tensor whose element type is known at run time only. Does not own.
struct const_any_tensor_view {
    const void* data = nullptr;
    tensor_shape shape;
};

struct any_tensor_view {
    void* data = nullptr;
    tensor_shape shape;

    operator const_any_tensor_view() const noexcept { return {data, shape}; }  // NOLINT: a view is its const view
};

/// Non-owning view of integral histograms with entries of type T: std::uint32_t, std::uint16_t or float; const for
/// reading. Rows and columns are those of the tables; histogram_view adds their form. A stride of 0 means "packed".
/// Nothing is checked here: the functions that take views check them.
template <typename T>
class tensor_view {
  public:
    using element = T;
    using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;

    constexpr tensor_view() = default;

    constexpr tensor_view(T* data, std::int64_t bins, std::int64_t rows, std::int64_t cols,
                          std::int64_t row_stride_bytes = 0, std::int64_t bin_stride_bytes = 0, std::int64_t planes = 1,
                          std::int64_t plane_stride_bytes = 0)
        : data_(data) {
        shape_.type = dtype_of<T>;
        shape_.planes = planes;
        shape_.bins = bins;
        shape_.rows = rows;
        shape_.cols = cols;
        shape_.row_stride = row_stride_bytes != 0 ? row_stride_bytes : wrapping(cols, element_bytes);
        shape_.bin_stride = bin_stride_bytes != 0 ? bin_stride_bytes : wrapping(rows, shape_.row_stride);
        shape_.plane_stride = plane_stride_bytes != 0 ? plane_stride_bytes : wrapping(bins, shape_.bin_stride);
    }

    /// A view for writing is also one for reading.
    template <typename U>
    requires(std::is_same_v<const U, T> &&
             !std::is_same_v<U, T>) constexpr tensor_view(const tensor_view<U>& other)  // NOLINT: as pointers convert
        : data_(other.data()), shape_(other.shape()) {}

    constexpr T* data() const noexcept { return data_; }
    constexpr const tensor_shape& shape() const noexcept { return shape_; }
    constexpr std::int64_t planes() const noexcept { return shape_.planes; }
    constexpr std::int64_t bins() const noexcept { return shape_.bins; }
    constexpr std::int64_t rows() const noexcept { return shape_.rows; }
    constexpr std::int64_t cols() const noexcept { return shape_.cols; }

    /// The entries of one bin. Unchecked.
    constexpr image_view<T> bin(std::int64_t b, std::int64_t plane = 0) const noexcept {
        T* const first =
            reinterpret_cast<T*>(reinterpret_cast<byte*>(data_) + plane * shape_.plane_stride + b * shape_.bin_stride);
        return {first, shape_.rows, shape_.cols, shape_.row_stride};
    }

    /// Entry (bin, row, column) of a plane. Unchecked.
    constexpr T& operator()(std::int64_t b, std::int64_t r, std::int64_t c, std::int64_t plane = 0) const noexcept {
        return bin(b, plane)(r, c);
    }

    operator const_any_tensor_view() const noexcept { return {data_, shape_}; }  // NOLINT

    operator any_tensor_view() const noexcept  // NOLINT
        requires(!std::is_const_v<T>) {
        return {data_, shape_};
    }

  private:
    static constexpr std::int64_t element_bytes = static_cast<std::int64_t>(sizeof(T));

    /// Hostile extents must reach the check that names them, so their product may not be undefined behaviour here.
    static constexpr std::int64_t wrapping(std::int64_t a, std::int64_t b) noexcept {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    }

    T* data_ = nullptr;
    tensor_shape shape_;
};

/// Extents of integral histograms and how they are to be read: all of a view but its memory.
struct histogram_shape {
    tensor_shape entries;
    table_form form = {};

    /// Extents of the images.
    constexpr std::int64_t image_rows() const noexcept { return form.image_extent(entries.rows); }
    constexpr std::int64_t image_cols() const noexcept { return form.image_extent(entries.cols); }

    friend bool operator==(const histogram_shape&, const histogram_shape&) = default;
};

/// Integral histograms whose element type is known at run time only: a view of their entries and how they are to be
/// read. Does not own. The memory may be the host's or a device's; the functions say which they take.
struct const_any_histogram_view {
    const_any_tensor_view entries;
    table_form form = {};

    histogram_shape shape() const noexcept { return {entries.shape, form}; }
};

struct any_histogram_view {
    any_tensor_view entries;
    table_form form = {};

    histogram_shape shape() const noexcept { return {entries.shape, form}; }
    operator const_any_histogram_view() const noexcept { return {entries, form}; }  // NOLINT: a view is its const view
};

/// Non-owning view of the integral histograms of a batch of images, with entries of type T; T is const for reading.
///
///     boxsum::histogram_view<const std::uint32_t> h{
///         {entries, bins, rows + 1, cols + 1}, boxsum::table_layout::padded};
///
/// Nothing is checked here: the functions that take views check them and name the argument that is wrong.
template <typename T>
class histogram_view {
  public:
    using element = T;

    constexpr histogram_view() = default;
    constexpr histogram_view(const tensor_view<T>& entries, table_form form = {}) noexcept  // NOLINT: inclusive
        : entries_(entries), form_(form) {}

    /// A view for writing is also one for reading.
    template <typename U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>) constexpr histogram_view(  // NOLINT: as pointers do
        const histogram_view<U>& other) noexcept
        : entries_(other.entries()), form_(other.form()) {}

    constexpr const tensor_view<T>& entries() const noexcept { return entries_; }
    constexpr const table_form& form() const noexcept { return form_; }
    constexpr table_layout layout() const noexcept { return form_.layout; }
    constexpr histogram_shape shape() const noexcept { return {entries_.shape(), form_}; }
    constexpr std::int64_t bins() const noexcept { return entries_.bins(); }
    constexpr std::int64_t planes() const noexcept { return entries_.planes(); }

    /// Extents of the image.
    constexpr std::int64_t image_rows() const noexcept { return form_.image_extent(entries_.rows()); }
    constexpr std::int64_t image_cols() const noexcept { return form_.image_extent(entries_.cols()); }

    /// The table of one bin: a summed area table of "this pixel is in the bin", or of its weight. Unchecked.
    constexpr table_view<T> bin(std::int64_t b, std::int64_t plane = 0) const noexcept {
        return {entries_.bin(b, plane), form_};
    }

    operator const_any_histogram_view() const noexcept { return {entries_, form_}; }  // NOLINT

    operator any_histogram_view() const noexcept  // NOLINT
        requires(!std::is_const_v<T>) {
        return {entries_, form_};
    }

  private:
    tensor_view<T> entries_;
    table_form form_;
};

namespace detail {

struct owned_tensor {
    host_buffer memory;
    tensor_shape shape;
};

/// Rows start on 64-byte boundaries. Throws invalid_argument or out_of_memory.
owned_tensor allocate_tensor(const host_allocator& from, dtype type, std::int64_t planes, std::int64_t bins,
                             std::int64_t rows, std::int64_t cols);

}  // namespace detail

/// Integral histograms that own their memory: 64-byte-aligned rows, from the shared pool or an allocator of the
/// caller's. They know their form, so that nobody can read them in another one. Contents are undefined until
/// integral_histogram() fills them. Everything that takes a view of histograms takes an owning one. Movable, not
/// copyable.
template <typename T>
class histogram_table {
  public:
    histogram_table() = default;

    /// For images of image_rows x image_cols pixels. Throws invalid_argument for extents below 1, more than 1024 bins
    /// or sizes beyond 64 bits; out_of_memory.
    histogram_table(std::int64_t bins, std::int64_t image_rows, std::int64_t image_cols, table_form form = {},
                    std::int64_t planes = 1, const host_allocator& from = {})
        : owned_(detail::allocate_tensor(from, dtype_of<T>, planes, bins,
                                         detail::checked_table_extent("image_rows", image_rows, form),
                                         detail::checked_table_extent("image_cols", image_cols, form))),
          form_(form) {}

    histogram_view<T> view() noexcept { return make<T>(); }
    histogram_view<const T> view() const noexcept { return make<const T>(); }
    operator histogram_view<T>() noexcept { return view(); }               // NOLINT: the table as its view
    operator histogram_view<const T>() const noexcept { return view(); }   // NOLINT
    operator any_histogram_view() noexcept { return view(); }              // NOLINT
    operator const_any_histogram_view() const noexcept { return view(); }  // NOLINT

    const table_form& form() const noexcept { return form_; }
    table_layout layout() const noexcept { return form_.layout; }

  private:
    template <typename U>
    histogram_view<U> make() const noexcept {
        const tensor_shape& s = owned_.shape;
        return {{static_cast<U*>(owned_.memory.data()), s.bins, s.rows, s.cols, s.row_stride, s.bin_stride, s.planes,
                 s.plane_stride},
                form_};
    }

    detail::owned_tensor owned_;
    table_form form_;
};

}  // namespace boxsum
