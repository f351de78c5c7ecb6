#pragma once

#include <boxsum/export.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

namespace boxsum BOXSUM_EXPORT {

/// The pixel that a table grows from, in all four directions: rows above and columns left of it.
struct table_origin {
    std::int64_t row = 0;  ///< 0 to the rows that boxes may have, of an exclusive table all but the last
    std::int64_t col = 0;

    friend constexpr bool operator==(const table_origin&, const table_origin&) = default;
};

/// How the entries of a table are to be read: all that a query must know beside their memory.
///
/// A floating table loses what its large entries do not hold (docs/concepts.md). Two remedies keep them small, alone or
/// together, and are members here: queries undo them (Hensley et al. 2005, section 4).
///
/// `offset` is taken from every pixel before it is summed: a mean, or the middle of the range of values. It is rounded
/// to the table's type; integer tables take integers below 2^53. A box sum adds it back, once for each pixel of the
/// box, a mean once.
///
/// `origin` makes four tables that grow outwards. An entry is the integral from the origin: with sums over the pixels
/// between the origin and the entry, negative where the entry lies either above or left of it, the sum of a box is the
/// same four entries with the same signs as ever. Row and column of zeros lie within the table, so its layout is not
/// `inclusive`.
struct table_form {
    table_layout layout = table_layout::inclusive;
    table_origin origin = {};
    double offset = 0;
    /// Instead of `offset` one for each channel of each plane, plane by plane; not owned (see image_means()).
    const double* offsets = nullptr;

    constexpr table_form() = default;
    constexpr table_form(table_layout l) noexcept : layout(l) {}  // NOLINT: a layout alone is a form
    constexpr table_form(table_layout l, const table_origin& o, double taken = 0) noexcept
        : layout(l), origin(o), offset(taken) {}

    constexpr bool has_offset() const noexcept { return offsets != nullptr || offset != 0; }
    /// What was taken from every pixel, before it is rounded to the table's type.
    constexpr double offset_of(std::int64_t channel, std::int64_t plane, std::int64_t channels) const noexcept {
        return offsets != nullptr ? offsets[plane * channels + channel] : offset;
    }
    /// Whether a layout is all that there is to know.
    constexpr bool is_plain() const noexcept { return !has_offset() && origin == table_origin{}; }

    /// Rows of zeros before a table's first sums, and columns: 0 for `inclusive`, 1 for the others. The sum of the
    /// pixels of rows < r and columns < c is the entry (r - 1 + border(), c - 1 + border()), and zero where an index is
    /// negative. The one place that tells layouts apart for reading; the checks refuse layouts that do not exist.
    constexpr std::int64_t border() const noexcept {
        switch (layout) {
            case table_layout::inclusive:
                return 0;
            case table_layout::exclusive:
                return 1;
            case table_layout::padded:
                return 1;
        }
        return 0;
    }

    /// Rows (or columns) of the table of an image with so many. Saturates where 64 bits do not count those of a padded
    /// table: the checks of sizes refuse them.
    constexpr std::int64_t table_extent(std::int64_t image_extent) const noexcept {
        return image_extent + (layout == table_layout::padded && image_extent < INT64_MAX ? 1 : 0);
    }
    /// The inverse.
    constexpr std::int64_t image_extent(std::int64_t table_extent) const noexcept {
        return table_extent - (layout == table_layout::padded ? 1 : 0);
    }
    /// Rows (or columns) of pixels that boxes may touch: an exclusive table lacks the sums up to the last.
    constexpr std::int64_t answered_extent(std::int64_t table_extent) const noexcept { return table_extent - border(); }

    friend constexpr bool operator==(const table_form&, const table_form&) = default;
};

/// A table whose element type is known at run time only: a view of its entries and how it was made. Does not own. The
/// memory may be the host's or a device's; the functions say which they take.
struct const_any_table_view {
    const_any_view entries;
    table_form form = {};
};

struct any_table_view {
    any_view entries;
    table_form form = {};

    operator const_any_table_view() const noexcept { return {entries, form}; }  // NOLINT: a view is its const view
};

/// The tables that means and variances are read from; all in the same form, of images of the same extents.
///
/// With `counts` (sat_outputs::counts) means and variances are those of the pixels that count, and `fill` is the result
/// where nothing does, or less than `min_count`. Counts of a floating table, which are sums of weights, are nothing up
/// to what the table's rounding may have made of nothing. Queries of boxes take counts, others refuse them
/// (unsupported).
struct moment_views {
    const_any_table_view sums;
    const_any_table_view squares = {};  ///< of variances
    const_any_table_view counts = {};   ///< without data every pixel counts
    double min_count = 0;               ///< finite, not negative; of pixels, or of their weights
    double fill = std::numeric_limits<double>::quiet_NaN();
};

/// Non-owning view of the tables of a batch of images, with entries of type T; T is const for reading.
///
///     boxsum::table_view<const std::uint32_t> sums{{entries, rows + 1, cols + 1}, boxsum::table_layout::padded};
///
/// Nothing is checked here: the functions that take views check them and name the argument that is wrong.
template <typename T>
class table_view {
  public:
    using element = T;

    constexpr table_view() = default;
    constexpr table_view(const image_view<T>& entries, table_form form = {}) noexcept  // NOLINT: inclusive unless told
        : entries_(entries), form_(form) {}

    /// A view for writing is also one for reading.
    template <typename U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>) constexpr table_view(  // NOLINT: as pointers convert
        const table_view<U>& other) noexcept
        : entries_(other.entries()), form_(other.form()) {}

    constexpr const image_view<T>& entries() const noexcept { return entries_; }
    constexpr T* data() const noexcept { return entries_.data(); }
    constexpr const table_form& form() const noexcept { return form_; }
    constexpr table_layout layout() const noexcept { return form_.layout; }

    /// Entry (row, column, channel) of a plane, where the layout has it. Unchecked.
    constexpr T& operator()(std::int64_t r, std::int64_t c, std::int64_t channel = 0,
                            std::int64_t plane = 0) const noexcept {
        return entries_(r, c, channel, plane);
    }

    /// Extents of the table.
    constexpr std::int64_t rows() const noexcept { return entries_.rows(); }
    constexpr std::int64_t cols() const noexcept { return entries_.cols(); }
    /// Extents of the image.
    constexpr std::int64_t image_rows() const noexcept { return form_.image_extent(entries_.rows()); }
    constexpr std::int64_t image_cols() const noexcept { return form_.image_extent(entries_.cols()); }
    constexpr std::int64_t channels() const noexcept { return entries_.channels(); }
    constexpr std::int64_t planes() const noexcept { return entries_.planes(); }

    operator const_any_table_view() const noexcept { return {entries_, form_}; }  // NOLINT

    operator any_table_view() const noexcept  // NOLINT
        requires(!std::is_const_v<T>) {
        return {entries_, form_};
    }

  private:
    image_view<T> entries_;
    table_form form_;
};

/// What a whole table holds around the part of it that is made. The image is a part of a larger one, and its first
/// pixel is pixel (R, C) there. S are the whole table's inclusive sums, whatever the layout of the part.
///
///     above  S(R - 1, C - 1), S(R - 1, C), ... S(R - 1, C + cols - 1): 1 x (cols + 1) entries, the corner first; or
///            1 x cols entries where the corner is zero (C == 0)
///     left   S(R, C - 1), ... S(R + rows - 1, C - 1): rows x 1 entries
///
/// Null data stands for zeros. Element type, planes and channels are the table's. The part's sum at (r, c) is
/// above(c) + (left(r) - corner) + the sum of its own pixels up to there. The result is this part of the whole table,
/// in the layout that is asked for. The first row of a padded result is the corner and `above`, its first column the
/// corner and `left`, entry for entry; an exclusive result has as much of them as it has entries. In these two layouts
/// a carry may be that row or column itself. No carry may overlap what is written otherwise.
struct table_carries {
    const_any_view above{};
    const_any_view left{};
};

/// The shapes of carries. One that is not set stands for zeros.
struct carry_shapes {
    std::optional<view_shape> above;  ///< 1 x (cols + 1) entries, the corner first, or 1 x cols without it
    std::optional<view_shape> left;   ///< rows x 1

    explicit operator bool() const noexcept { return above || left; }
    /// Entries of `above` before that of the part's first column: the corner, or none.
    std::int64_t corners(std::int64_t image_cols) const noexcept { return above ? above->cols - image_cols : 0; }

    friend bool operator==(const carry_shapes&, const carry_shapes&) = default;
};

}  // namespace boxsum
