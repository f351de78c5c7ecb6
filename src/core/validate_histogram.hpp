#pragma once

#include "core/problem.hpp"

#include <boxsum/integral_histogram.hpp>

namespace boxsum {

/// Whether a member of the inputs or outputs is set: a view without memory but with a shape is, and checks name it.
inline bool is_set(const const_any_view& view) {
    return view.data != nullptr || view.shape != view_shape{};
}

/// Checks shapes, types, binning and layout against each other, without memory. Throws invalid_argument, or unsupported
/// for element types that integral histograms do not have.
problem make_histogram_problem(const histogram_shapes& shapes, const binning& bins);

/// The whole check of a call: views, shapes, overlap.
problem make_histogram_problem(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs);

}  // namespace boxsum
