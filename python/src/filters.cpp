#include "arrays.hpp"
#include "module.hpp"

#include <boxsum/error.hpp>
#include <boxsum/filters.hpp>

#include <vector>

namespace boxsum::python {
namespace {

/// A number, or one for rows and one for columns.
std::array<std::int64_t, 2> rows_and_cols(nb::handle given, std::string_view name) {
    if (PyIndex_Check(given.ptr())) {
        const std::int64_t both = integer_argument(given, name);
        return {both, both};
    }
    if (!PySequence_Check(given.ptr()) || nb::len(given) != 2)
        throw unsupported(std::string(name) + ": is " + nb::repr(given).c_str() +
                          ", must be an integer or a pair of them, rows and columns");
    return {integer_argument(nb::object(given[0]), name), integer_argument(nb::object(given[1]), name)};
}

/// The window of a size around its pixel, moved by `origin` as SciPy moves it.
window window_argument(nb::handle size, nb::handle origin, bool swapped) {
    const auto [rows, cols] = rows_and_cols(size, "size");
    const auto [row_origin, col_origin] = rows_and_cols(origin, "origin");
    const auto one = [](std::int64_t extent, std::int64_t moved) {
        if (extent < 1)
            throw invalid_argument("size: is " + std::to_string(extent) + ", must be at least 1");
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

void set_border(filter_options& options, nb::handle border, nb::handle cval) {
    const std::string_view word = text_argument(border, "border");
    const auto known = border_from_name(word);
    if (!known) refuse_word("border", word, "'shrink', 'reflect', 'replicate', 'constant'");
    options.border = *known;
    options.border_value = real_argument(cval, "cval");
}

/// What every filter is told, in this order.
struct filter_arguments {
    image_argument in;
    filter_options options;

    filter_arguments(nb::handle image, nb::handle size, nb::handle border, nb::handle cval, nb::handle origin,
                     nb::handle channel_axis, nb::handle threads)
        : in(image, "image", channel_axis) {
        if (!size.is_none()) options.window = window_argument(size, origin, in.roles.swapped);
        set_border(options, border, cval);
        options.threads = threads_argument(threads);
        const element type = in.array.type;
        if (type != element::u8 && type != element::u16 && type != element::s16 && type != element::f32 &&
            type != element::f64 && type != element::boolean)
            throw unsupported("image: its dtype is " + std::string(name_of(type)) +
                              ", filters take bool, uint8, uint16, int16, float32 and float64");
        in.read_as(type == element::boolean ? element::u8 : type);
    }

    result_shape shape(element type) const {
        return {type, in.array.extent[static_cast<std::size_t>(in.roles.rows())],
                in.array.extent[static_cast<std::size_t>(in.roles.cols())]};
    }

    bool floating_image() const { return in.array.type == element::f32 || in.array.type == element::f64; }

    /// A result's type that is the image's, float32 or float64; bool images have means between 0 and 1.
    element mean_type(nb::handle dtype) const {
        const element own = in.array.type == element::boolean ? element::f64 : in.array.type;
        const element type = element_argument(dtype, own);
        if (type != own && type != element::f32 && type != element::f64)
            throw unsupported("dtype: is " + std::string(name_of(type)) + ", must be " + std::string(name_of(own)) +
                              (own == element::f32 || own == element::f64 ? "" : ", float32") +
                              (own == element::f64 ? " or float32" : " or float64"));
        return type;
    }
};

nb::object py_box_filter(nb::handle image, nb::handle size, nb::handle border, nb::handle cval, nb::handle origin,
                         nb::handle dtype, nb::handle channel_axis, nb::handle out, nb::handle threads) {
    const filter_arguments given(image, size, border, cval, origin, channel_axis, threads);
    const result_argument result(out, "out", given.in, given.shape(given.mean_type(dtype)));
    if (!given.in.empty) {
        nb::gil_scoped_release released;
        box_filter({given.in.view}, {result.view}, given.options);
    }
    return result.finish(given.in);
}

nb::object py_variable_box_filter(nb::handle image, nb::handle radius, nb::handle border, nb::handle cval,
                                  nb::handle dtype, nb::handle channel_axis, nb::handle out, nb::handle threads) {
    const filter_arguments given(image, nb::none(), border, cval, nb::int_(0), channel_axis, threads);
    const companion_argument radii(radius, "radius", given.in);
    const result_argument result(out, "out", given.in, given.shape(given.mean_type(dtype)));
    if (!given.in.empty) {
        nb::gil_scoped_release released;
        variable_box_filter({given.in.view, radii.view}, {result.view}, given.options);
    }
    return result.finish(given.in);
}

/// `outs`: None, or one array for each result.
nb::object py_local_statistics(nb::handle image, nb::handle size, nb::handle results, nb::handle border, nb::handle cval,
                               nb::handle origin, nb::handle dtype, nb::handle channel_axis, nb::handle outs,
                               nb::handle threads) {
    const filter_arguments given(image, size, border, cval, origin, channel_axis, threads);
    const element type = element_argument(dtype, given.in.array.type == element::f32 ? element::f32 : element::f64);
    if (type != element::f32 && type != element::f64)
        throw unsupported("dtype: is " + std::string(name_of(type)) + ", must be float32 or float64");
    const std::size_t count = nb::len(results);
    if (count == 0) throw invalid_argument("results: is empty, must name at least one of 'mean', 'var', 'std'");
    if (!outs.is_none() && nb::len(outs) != count)
        throw invalid_argument("out: has " + std::to_string(nb::len(outs)) + " arrays, must have one for each of the " +
                               std::to_string(count) + " results");
    window_outputs outputs;
    std::vector<result_argument> made;
    for (std::size_t i = 0; i < count; ++i) {
        const nb::object word = results[i];
        const std::string_view name = text_argument(word, "results");
        any_view* const view = name == "mean"  ? &outputs.mean
                               : name == "var" ? &outputs.variance
                               : name == "std" ? &outputs.deviation
                                               : nullptr;
        if (view == nullptr) refuse_word("results", name, "'mean', 'var', 'std'");
        if (view->data != nullptr) throw invalid_argument("results: '" + std::string(name) + "' is named twice");
        const std::string out_name = "out[" + std::to_string(i) + "]";
        const nb::object out = outs.is_none() ? nb::object(nb::none()) : nb::object(outs[i]);
        made.emplace_back(out, out_name, given.in, given.shape(type));
        *view = made.back().view;
    }
    if (!given.in.empty) {
        nb::gil_scoped_release released;
        local_statistics({given.in.view}, outputs, given.options);
    }
    nb::list list;
    for (const result_argument& one : made) list.append(one.finish(given.in));
    return nb::tuple(list);
}

std::optional<double> optional_real(nb::handle number, std::string_view name) {
    return number.is_none() ? std::optional<double>() : real_argument(number, name);
}

/// 255 becomes 1, which is True.
void to_booleans(const any_view& view) {
    const view_shape& s = view.shape;
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        for (std::int64_t r = 0; r < s.rows; ++r) {
            auto* const row = static_cast<std::uint8_t*>(view.data) + plane * s.plane_stride + r * s.row_stride;
            for (std::int64_t i = 0; i < s.cols * s.channels; ++i) row[i] = static_cast<std::uint8_t>(row[i] >> 7);
        }
}

nb::object py_threshold(nb::handle image, nb::handle size, nb::handle method, nb::handle k, nb::handle r,
                        nb::handle border, nb::handle cval, nb::handle result_kind, nb::handle channel_axis,
                        nb::handle out, nb::handle threads) {
    const filter_arguments given(image, size, border, cval, nb::int_(0), channel_axis, threads);
    const std::string_view word = text_argument(method, "method");
    const auto known = threshold_from_name(word);
    if (!known) refuse_word("method", word, "'bradley', 'niblack', 'sauvola', 'wolf'");
    const threshold_rule rule{*known, optional_real(k, "k"), optional_real(r, "r")};
    const std::string_view kind = text_argument(result_kind, "result");
    if (kind != "mask" && kind != "binary") refuse_word("result", kind, "'mask', 'binary'");
    const result_argument result(out, "out", given.in, given.shape(kind == "mask" ? element::boolean : element::u8));
    if (!given.in.empty) {
        nb::gil_scoped_release released;
        adaptive_threshold({given.in.view}, {result.view}, rule, given.options);
        if (kind == "mask") to_booleans(result.view);
    }
    return result.finish(given.in);
}

nb::object py_local_contrast(nb::handle image, nb::handle size, nb::handle epsilon, nb::handle border, nb::handle cval,
                             nb::handle channel_axis, nb::handle out, nb::handle threads) {
    const filter_arguments given(image, size, border, cval, nb::int_(0), channel_axis, threads);
    const result_argument result(out, "out", given.in, given.shape(element::f32));
    const double smallest = real_argument(epsilon, "epsilon");
    if (!given.in.empty) {
        nb::gil_scoped_release released;
        local_contrast({given.in.view}, {result.view}, {smallest}, given.options);
    }
    return result.finish(given.in);
}

}  // namespace

void bind_filters(nb::module_& module) {
    define(module, "box_filter", py_box_filter);
    define(module, "variable_box_filter", py_variable_box_filter);
    define(module, "local_statistics", py_local_statistics);
    define(module, "threshold", py_threshold);
    define(module, "local_contrast", py_local_contrast);
}

}  // namespace boxsum::python
