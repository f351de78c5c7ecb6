#pragma once

#include <boxsum/window.hpp>

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace boxsum::python {

namespace nb = nanobind;

/// A number, or one for rows and one for columns.
std::array<std::int64_t, 2> rows_and_cols(nb::handle given, std::string_view name);

/// The window of a size around its pixel, moved by `origin` as SciPy moves it.
window window_argument(nb::handle size, nb::handle origin, bool swapped);

}  // namespace boxsum::python
