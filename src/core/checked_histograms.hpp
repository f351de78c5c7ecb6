#pragma once

#include "core/tensor_checks.hpp"

#include <boxsum/error.hpp>
#include <boxsum/histogram_table.hpp>

#include <string>

namespace boxsum {

/// The typed view of histograms that a query reads. Throws invalid_argument for what is wrong in itself, another
/// element type, and a plane that they lack.
template <typename T>
histogram_view<const T> checked_histograms(const const_any_histogram_view& histograms, std::int64_t plane) {
    check_histograms(histograms, plane);
    const tensor_shape& s = histograms.entries.shape;
    if (s.type != dtype_of<T>)
        throw invalid_argument("out: type is " + std::string(name_of(dtype_of<T>)) + ", but the histograms' is " +
                               std::string(name_of(s.type)));
    return {{static_cast<const T*>(histograms.entries.data), s.bins, s.rows, s.cols, s.row_stride, s.bin_stride,
             s.planes, s.plane_stride},
            histograms.form};
}

}  // namespace boxsum
