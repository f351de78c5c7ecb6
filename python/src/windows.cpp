#include "windows.hpp"

#include "devices.hpp"
#include "module.hpp"
#include "tables.hpp"

#include <boxsum/cuda/window_queries.hpp>
#include <boxsum/error.hpp>
#include <boxsum/window_queries.hpp>

namespace boxsum::python {

std::array<std::int64_t, 2> rows_and_cols(nb::handle given, std::string_view name) {
    if (PyIndex_Check(given.ptr())) {
        const std::int64_t both = integer_argument(given, name);
        return {both, both};
    }
    if (length_of(given) != 2)
        throw unsupported(std::string(name) + ": is " + nb::repr(given).c_str() +
                          ", must be an integer or a pair of them, rows and columns");
    return {integer_argument(nb::object(given[0]), name), integer_argument(nb::object(given[1]), name)};
}

window window_argument(nb::handle size, nb::handle origin, bool swapped) {
    const auto [rows, cols] = rows_and_cols(size, "size");
    const auto [row_origin, col_origin] = rows_and_cols(origin, "origin");
    const auto one = [](std::int64_t extent, std::int64_t moved) {
        if (extent < 1) throw invalid_argument("size: is " + std::to_string(extent) + ", must be at least 1");
        const std::int64_t before = extent / 2;
        if (moved < -before || moved > (extent - 1) / 2)
            throw invalid_argument("origin: is " + std::to_string(moved) + ", must be " + std::to_string(-before) +
                                   " to " + std::to_string((extent - 1) / 2) + " for a size of " +
                                   std::to_string(extent));
        return std::array<std::int64_t, 2>{before + moved, extent - 1 - before - moved};
    };
    const auto [above, below] = one(rows, row_origin);
    const auto [left, right] = one(cols, col_origin);
    return swapped ? window_extents{left, right, above, below} : window_extents{above, below, left, right};
}

namespace {

/// `stat`: "sum", "mean" or "var" of the windows around all pixels, from tables that exist.
nb::object py_window_query(nb::handle stat, nb::handle table, nb::handle squares, nb::handle size, nb::handle origin,
                           nb::handle layout, nb::handle dtype, nb::handle channel_axis, nb::handle out,
                           nb::handle threads) {
    const std::string_view what = text_argument(stat, "stat");
    if (what != "sum" && what != "mean" && what != "var") refuse_word("stat", what, "'sum', 'mean', 'var'");
    const table_argument sums(table, "table", layout, channel_axis);
    const axis_roles& roles = sums.image.roles;
    std::optional<table_argument> second;
    if (what == "var") {
        second.emplace(squares, "squares", layout, channel_axis);
        require_same_place(second->image.array, sums.image.array, "table");
        if (second->image.roles.order != roles.order || second->image.array.extent != sums.image.array.extent)
            throw invalid_argument("squares: their shape is " + text_of_extents(second->image.array) +
                                   ", must be that of the table, " + text_of_extents(sums.image.array) +
                                   ", in the same order of axes");
    }
    const element own = what == "sum" ? sums.image.array.type : element::f64;
    const element type = element_argument(dtype, own);
    if (type != own && (what == "sum" || type != element::f32))
        throw unsupported("dtype: is " + std::string(name_of(type)) + ", must be " +
                          (what == "sum" ? "the table's, " + std::string(name_of(own)) : "float32 or float64"));
    const window_query_options options{.window = window_argument(size, origin, roles.swapped),
                                       .threads = threads_argument(threads)};
    const auto extent = [&](int axis) {
        return sums.view.form.image_extent(sums.image.array.extent[static_cast<std::size_t>(axis)]);
    };
    const result_argument result(out, "out", sums.image, {type, extent(roles.rows()), extent(roles.cols())});
    if (result.view.data != nullptr) {
        const auto& device = sums.image.array.device;
        nb::gil_scoped_release released;
        if (device) {
            const device_turn turn(sums.image.array);
            if (what == "sum")
                cuda::window_sums_async(sums.view, result.view, device->stream, options);
            else if (what == "mean")
                cuda::window_means_async(sums.view, result.view, device->stream, options);
            else
                cuda::window_variances_async({sums.view, second->view}, result.view, device->stream, options);
        } else if (what == "sum") {
            window_sums(sums.view, result.view, options);
        } else if (what == "mean") {
            window_means(sums.view, result.view, options);
        } else {
            window_variances({sums.view, second->view}, result.view, options);
        }
    }
    return result.finish(sums.image);
}

}  // namespace

void bind_windows(nb::module_& module) {
    define(module, "window_query", py_window_query);
}

}  // namespace boxsum::python
