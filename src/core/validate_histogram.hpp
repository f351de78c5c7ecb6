#pragma once

#include "core/problem.hpp"

#include <boxsum/binning.hpp>
#include <boxsum/histogram_tensor.hpp>
#include <boxsum/view.hpp>

#include <optional>

namespace boxsum {

/// Checks shapes, types, binning and layout against each other, without memory. Throws invalid_argument, or unsupported
/// for element types that integral histograms do not have.
problem make_histogram_problem(const view_shape& image, const std::optional<view_shape>& weights, const binning& bins,
                               const tensor_shape& tensor, table_layout layout);

/// The whole check of a call: views, shapes, overlap.
problem make_histogram_problem(const const_any_view& image, const std::optional<const_any_view>& weights,
                               const binning& bins, const any_tensor_view& tensor, table_layout layout);

}  // namespace boxsum
