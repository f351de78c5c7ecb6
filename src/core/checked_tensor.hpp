#pragma once

#include "core/tensor_checks.hpp"

#include <boxsum/error.hpp>
#include <boxsum/histogram_tensor.hpp>

#include <string>

namespace boxsum {

/// The typed view of a tensor that a query reads. Throws invalid_argument for a tensor that is wrong in itself, another
/// element type, the exclusive layout, and a plane that it lacks.
template <typename T>
tensor_view<const T> checked_tensor(const const_any_tensor_view& tensor, table_layout layout, std::int64_t plane) {
    check_tensor("tensor", tensor);
    const tensor_shape& s = tensor.shape;
    if (s.type != dtype_of<T>)
        throw invalid_argument("out: type is " + std::string(name_of(dtype_of<T>)) + ", but the tensor's is " +
                               std::string(name_of(s.type)));
    if (layout == table_layout::exclusive)
        throw invalid_argument("layout: is exclusive, integral histograms are inclusive or padded");
    if (plane < 0 || plane >= s.planes)
        throw invalid_argument("plane: is " + std::to_string(plane) + ", but the tensor has " +
                               std::to_string(s.planes));
    return {static_cast<const T*>(tensor.data),
            s.bins,
            s.rows,
            s.cols,
            s.row_stride,
            s.bin_stride,
            s.planes,
            s.plane_stride};
}

}  // namespace boxsum
