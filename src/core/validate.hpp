#pragma once

#include "core/problem.hpp"

#include <boxsum/sat.hpp>
#include <boxsum/view.hpp>

#include <optional>
#include <string_view>

namespace boxsum {

/// Checks shapes and form against each other, without memory: what a plan knows. Throws invalid_argument, or
/// unsupported for element types outside the closed lists.
problem make_problem(const view_shape& image, const view_shape& sums, const std::optional<view_shape>& squares,
                     const table_form& form);

/// Whether a table lies exactly on its image, as in-place work needs it: pointer, element size, extents and strides.
bool same_place(const const_any_view& image, const const_any_view& table);
/// The same of shapes that have one address.
bool same_place(const view_shape& image, const view_shape& table);

/// Whether an input that may be left out is there: one with extents and no memory is, and wrong.
inline bool is_given(const const_any_view& view) noexcept {
    return view.data != nullptr || view.shape.rows != 0;
}

carry_shapes carry_shapes_of(const table_carries& carries);

/// Adds what lies around the part to a problem, shapes only. `argument` names the carries; `squares`: those of the
/// table of squares. Throws invalid_argument.
void set_carries(problem& p, std::string_view argument, const carry_shapes& shapes, bool squares = false);
/// The same of views, whose pointers are looked at too.
void set_carries(problem& p, std::string_view argument, const table_carries& carries, bool squares = false);

/// Whether carries overlap a table that is written. `own`: they are that table's, and may be its first row and column
/// where its layout has them. Throws invalid_argument.
void check_carries_apart(std::string_view argument, const table_carries& carries, std::string_view output,
                         const any_table_view& table, bool own);

/// The whole check of a call: views, shapes, forms, carries, overlap. Sets problem::in_place.
problem make_problem(const sat_inputs& inputs, const sat_outputs& outputs);

/// Throws unsupported, naming the argument, where pixels may not count or their counts are asked for, for `who` ("a
/// device") that sums all.
void check_all_count(const sat_shapes& shapes, std::string_view who);
/// The same of tables whose queries take no counts.
void check_no_counts(std::string_view argument, const moment_views& tables, std::string_view who);

/// Pixels that do not count for what they are, said in one way: NaN as nodata of a floating image is nan_mode::omit.
/// So they compare, which NaN does not.
struct refused_pixels {
    nan_mode nan = nan_mode::propagate;
    std::optional<double> nodata = {};

    refused_pixels() = default;
    refused_pixels(dtype image, nan_mode of_nan, const std::optional<double>& value);
};

/// The memory of a call.
buffers memory_of(const sat_inputs& inputs, const sat_outputs& outputs);

}  // namespace boxsum
