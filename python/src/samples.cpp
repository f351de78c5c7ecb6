#include "samples.hpp"

#include "module.hpp"

#include <boxsum/error.hpp>

#include <string>

namespace boxsum::python {

std::optional<double> optional_real(nb::handle number, std::string_view name) {
    return number.is_none() ? std::optional<double>() : real_argument(number, name);
}

samples_argument::samples_argument(nb::handle given, const image_argument& image) {
    if (given.is_none()) return;
    const nb::object mask_of = given[0], weights_of = given[1], nan_of = given[2], nodata_of = given[3];
    if (!mask_of.is_none()) {
        mask.emplace(mask_of, "mask", image);
        if (mask->array.type != element::boolean && mask->array.type != element::u8)
            throw unsupported("mask: its dtype is " + std::string(name_of(mask->array.type)) +
                              ", must be bool or uint8");
    }
    if (!weights_of.is_none()) {
        weights.emplace(weights_of, "weights", image);
        if (weights->array.type != element::f32)
            throw unsupported("weights: their dtype is " + std::string(name_of(weights->array.type)) +
                              ", must be float32");
    }
    const std::string_view word = text_argument(nan_of, "nan");
    if (word != "propagate" && word != "omit") refuse_word("nan", word, "'propagate', 'omit'");
    nan = word == "omit" ? nan_mode::omit : nan_mode::propagate;
    nodata = optional_real(nodata_of, "nodata");
}

}  // namespace boxsum::python
