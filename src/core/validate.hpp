#pragma once

#include "core/problem.hpp"

#include <boxsum/image_view.hpp>

#include <optional>

namespace boxsum {

/// Checks shapes and layout against each other, without memory: what a plan knows. Throws invalid_argument, or
/// unsupported for element types outside the closed lists.
problem make_problem(const view_shape& image, const view_shape& table, const std::optional<view_shape>& squares,
                     table_layout layout);

/// Whether a table lies exactly on its image, as in-place work needs it: pointer, element size, extents and strides.
bool same_place(const const_any_view& image, const const_any_view& table);

/// The whole check of a call: views, shapes, overlap. Sets problem::in_place.
problem make_problem(const const_any_view& image, const any_view& table, const std::optional<any_view>& squares,
                     table_layout layout);

}  // namespace boxsum
