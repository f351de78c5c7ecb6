#pragma once

#include "arrays.hpp"

#include <optional>

namespace boxsum::python {

/// A number, or None.
std::optional<double> optional_real(nb::handle number, std::string_view name);

/// Which pixels count: None (all of them), or a tuple that begins with mask, weights, nan and nodata.
struct samples_argument {
    std::optional<companion_argument> mask, weights;
    nan_mode nan = nan_mode::propagate;
    std::optional<double> nodata;

    samples_argument(nb::handle given, const image_argument& image);
};

}  // namespace boxsum::python
