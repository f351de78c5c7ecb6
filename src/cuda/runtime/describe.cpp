#include "core/validate.hpp"

#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/sat.hpp>

namespace boxsum {
namespace {

bool in_place(const const_any_view& image, const any_view& table) {
    return image.data != nullptr && same_place(image, table);
}

}  // namespace

sat_description describe(const const_any_view& image, const any_view& table, table_form form) {
    return {image.shape, table.shape, std::nullopt, form, in_place(image, table)};
}

sat_description describe(const const_any_view& image, const any_view& table, const any_view& squares, table_form form) {
    return {image.shape, table.shape, squares.shape, form, in_place(image, table)};
}

histogram_description describe(const const_any_view& image, const any_tensor_view& tensor) {
    return {image.shape, tensor.shape, std::nullopt};
}

histogram_description describe(const const_any_view& image, const const_any_view& weights,
                               const any_tensor_view& tensor) {
    return {image.shape, tensor.shape, weights.shape};
}

}  // namespace boxsum
