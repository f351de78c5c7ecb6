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

/// Extents of the table of a rows x cols image. Of an image whose padded table has one more than 64 bits count, the
/// image's own: the checks of sizes refuse either.
constexpr std::int64_t table_rows(std::int64_t image_rows, table_layout layout) noexcept {
    return image_rows + (layout == table_layout::padded && image_rows < INT64_MAX ? 1 : 0);
}
constexpr std::int64_t table_cols(std::int64_t image_cols, table_layout layout) noexcept {
    return table_rows(image_cols, layout);
}

namespace detail {

/// Throws invalid_argument, naming `argument`, for an image extent below 1, which a padded table would hide.
std::int64_t checked_table_extent(const char* argument, std::int64_t image_extent, table_layout layout);

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

/// A table that owns its memory: 64-byte-aligned rows, from the shared pool or an allocator of the caller's. Knows its
/// layout, so queries cannot confuse it. Contents are undefined until sat() fills it. Movable, not copyable.
template <typename T>
class table {
  public:
    table() = default;

    /// A table for images of rows x cols pixels. Throws invalid_argument for extents below 1 or beyond 64 bits,
    /// out_of_memory.
    table(std::int64_t image_rows, std::int64_t image_cols, table_layout layout = table_layout::inclusive,
          std::int64_t channels = 1, std::int64_t planes = 1, const host_allocator& from = {})
        : owned_(
              detail::allocate_table(from, dtype_of<T>, detail::checked_table_extent("image_rows", image_rows, layout),
                                     detail::checked_table_extent("image_cols", image_cols, layout), channels, planes)),
          layout_(layout) {}

    image_view<T> view() noexcept { return make<T>(); }
    image_view<const T> view() const noexcept { return make<const T>(); }
    operator image_view<T>() noexcept { return view(); }
    operator image_view<const T>() const noexcept { return view(); }

    table_layout layout() const noexcept { return layout_; }

  private:
    template <typename U>
    image_view<U> make() const noexcept {
        const view_shape& s = owned_.shape;
        return {
            static_cast<U*>(owned_.memory.data()), s.rows, s.cols, s.row_stride, s.channels, s.planes, s.plane_stride};
    }

    detail::owned_table owned_;
    table_layout layout_ = table_layout::inclusive;
};

}  // namespace boxsum
