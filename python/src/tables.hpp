#pragma once

#include "arrays.hpp"

#include <boxsum/table_view.hpp>

namespace boxsum::python {

/// `layout=`.
table_layout layout_argument(nb::handle layout);

/// How a table is made or read: a layout, or what Table makes of one with more: (layout, row and column of the origin,
/// offset or an array of them). What the tuple holds lives as long as this.
class form_argument {
  public:
    explicit form_argument(nb::handle form);

    /// As it is for an image or a table whose memory is viewed so, which may be in Fortran order.
    table_form of(const axis_roles& roles) const;

    /// Throws invalid_argument unless there are offsets for all channels of all images, or one for all.
    void check_offsets(const view_shape& shape) const;

  private:
    table_form form_;
    nb::object offsets_;
    std::int64_t count_ = 0;
};

/// A table that the caller has as a bare array.
struct table_argument {
    image_argument image;
    const_any_table_view view;

    table_argument(nb::handle table, std::string_view name, nb::handle form, nb::handle channel_axis,
                   const role_rules& rules = {});
};

}  // namespace boxsum::python
