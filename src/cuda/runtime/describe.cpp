#include "core/validate.hpp"

#include <boxsum/cuda/sat.hpp>

namespace boxsum {
namespace {

bool in_place(const const_any_view& image, const any_view& table) {
    return image.data != nullptr && same_place(image, table);
}

}  // namespace

sat_description describe(const const_any_view& image, const any_view& table) {
    return {image.shape, table.shape, std::nullopt, in_place(image, table)};
}

sat_description describe(const const_any_view& image, const any_view& table, const any_view& squares) {
    return {image.shape, table.shape, squares.shape, in_place(image, table)};
}

}  // namespace boxsum
