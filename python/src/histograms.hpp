#pragma once

#include "arrays.hpp"

#include <boxsum/binning.hpp>
#include <boxsum/histogram_search.hpp>

#include <vector>

/// Arguments of all functions of integral histograms.
namespace boxsum::python {

/// A Binning: (rule, bins, lo, hi, outside, table).
binning binning_argument(nb::handle given);

/// The type that an image is read as: all its values, in one that histograms are made of.
element histogram_reading(const strided& image);

/// (rows, cols, row_step, col_step, within), `within` None or (row, col, rows, cols).
window_grid grid_argument(nb::handle grid);

histogram_distance distance_argument(nb::handle distance);

/// A histogram: one axis of numbers.
std::vector<double> doubles_argument(nb::handle given, std::string_view name);

}  // namespace boxsum::python
