#pragma once

#include <boxsum/export.hpp>
#include <boxsum/memory.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace boxsum BOXSUM_EXPORT {

namespace detail {

/// Throws invalid_argument, naming `argument`, for an image extent below 1, which a padded table would hide.
std::int64_t checked_table_extent(const char* argument, std::int64_t image_extent, const table_form& form);

/// The check of an image that every computation does, for those that first allocate its result.
void check_image(const const_any_view& image);

struct owned_table {
    host_buffer memory;
    view_shape shape;
};

/// Rows start on 64-byte boundaries. Throws invalid_argument or out_of_memory.
owned_table allocate_table(const host_allocator& from, dtype type, std::int64_t rows, std::int64_t cols,
                           std::int64_t channels, std::int64_t planes);

}  // namespace detail

/// A table that owns its memory: 64-byte-aligned rows, from the shared pool or an allocator of the caller's. Contents
/// are undefined until sat() fills it. Everything that takes a view of a table takes an owning one. Movable, not
/// copyable.
template <typename T>
class table {
  public:
    table() = default;

    /// For images of image_rows x image_cols pixels. Throws invalid_argument for extents below 1 or beyond 64 bits,
    /// out_of_memory.
    table(std::int64_t image_rows, std::int64_t image_cols, table_form form = {}, std::int64_t channels = 1,
          std::int64_t planes = 1, const host_allocator& from = {})
        : owned_(detail::allocate_table(from, dtype_of<T>, detail::checked_table_extent("image_rows", image_rows, form),
                                        detail::checked_table_extent("image_cols", image_cols, form), channels,
                                        planes)),
          form_(form) {}

    table_view<T> view() noexcept { return make<T>(); }
    table_view<const T> view() const noexcept { return make<const T>(); }
    operator table_view<T>() noexcept { return view(); }               // NOLINT: as containers become spans
    operator table_view<const T>() const noexcept { return view(); }   // NOLINT
    operator any_table_view() noexcept { return view(); }              // NOLINT
    operator const_any_table_view() const noexcept { return view(); }  // NOLINT

    const table_form& form() const noexcept { return form_; }
    table_layout layout() const noexcept { return form_.layout; }

    /// Entry (row, column, channel) of a plane, where the layout has it. Unchecked.
    T& operator()(std::int64_t r, std::int64_t c, std::int64_t channel = 0, std::int64_t plane = 0) noexcept {
        return view()(r, c, channel, plane);
    }
    const T& operator()(std::int64_t r, std::int64_t c, std::int64_t channel = 0,
                        std::int64_t plane = 0) const noexcept {
        return view()(r, c, channel, plane);
    }

    /// Extents of the table.
    std::int64_t rows() const noexcept { return owned_.shape.rows; }
    std::int64_t cols() const noexcept { return owned_.shape.cols; }
    /// Extents of the image.
    std::int64_t image_rows() const noexcept { return form_.image_extent(rows()); }
    std::int64_t image_cols() const noexcept { return form_.image_extent(cols()); }
    std::int64_t channels() const noexcept { return owned_.shape.channels; }
    std::int64_t planes() const noexcept { return owned_.shape.planes; }

  private:
    template <typename U>
    table_view<U> make() const noexcept {
        return {{static_cast<U*>(owned_.memory.data()), owned_.shape}, form_};
    }

    detail::owned_table owned_;
    table_form form_;
};

/// The tables of sums and of squares of one image, for means and variances.
template <typename Sum, typename Square>
struct moment_tables {
    table<Sum> sums;
    table<Square> squares;

    operator moment_views() const noexcept { return {sums, squares}; }  // NOLINT: as a table becomes a view
};

}  // namespace boxsum
