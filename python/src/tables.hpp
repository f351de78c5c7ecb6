#pragma once

#include "arrays.hpp"

#include <boxsum/table_view.hpp>

namespace boxsum::python {

/// `layout=`.
table_layout layout_argument(nb::handle layout);

/// A table that the caller has as a bare array.
struct table_argument {
    image_argument image;
    const_any_table_view view;

    table_argument(nb::handle table, std::string_view name, nb::handle layout, nb::handle channel_axis);
};

}  // namespace boxsum::python
