#include "devices.hpp"
#include "module.hpp"
#include "tables.hpp"

#include <boxsum/cuda/shadow.hpp>
#include <boxsum/cuda/variable_blur.hpp>
#include <boxsum/error.hpp>
#include <boxsum/shadow.hpp>
#include <boxsum/variable_blur.hpp>

namespace boxsum::python {
namespace {

/// Real numbers that are read as they are.
image_argument depth_argument(nb::handle given, std::string_view name, nb::handle channel_axis, const strided& table) {
    image_argument in(given, name, channel_axis, {.may_swap = false, .interleave = true});
    require_same_place(in.array, table, "table");
    if (in.array.type != element::f32 && in.array.type != element::f64)
        throw unsupported(std::string(name) + ": its dtype is " + std::string(name_of(in.array.type)) +
                          ", must be float32 or float64");
    in.read_as(in.array.type);
    return in;
}

nb::object py_variance_shadows(nb::handle table, nb::handle squares, nb::handle form, nb::handle receiver,
                               nb::handle rectangle, nb::handle min_variance, nb::handle bleeding, nb::handle out,
                               nb::handle threads) {
    const table_argument sums(table, "table", form, nb::none(), {.may_swap = false});
    const table_argument second(squares, "squares", form, nb::none(), {.may_swap = false});
    const strided& map = sums.image.array;
    require_same_place(second.image.array, map, "table");
    const image_argument depths = depth_argument(receiver, "receiver", nb::none(), map);
    const image_argument where = depth_argument(rectangle, "rectangle", nb::int_(-1), map);
    const std::int64_t rows = depths.array.extent[0], cols = depths.array.extent[1];
    if (depths.array.axes != 2 || where.array.axes != 3 || where.array.extent[0] != rows ||
        where.array.extent[1] != cols || where.array.extent[2] != 4)
        throw invalid_argument("rectangle: its shape is " + text_of_extents(where.array) +
                               ", must be (rows, cols, 4) for a receiver of (rows, cols), which is " +
                               text_of_extents(depths.array));
    const shadow_options options{real_argument(min_variance, "min_variance"), real_argument(bleeding, "bleeding"),
                                 threads_argument(threads)};
    const result_argument result(out, "out", depths, {depths.array.type, rows, cols});
    const shadow_inputs inputs{{sums.view, second.view}, depths.view, where.view};
    if (!depths.empty) {
        nb::gil_scoped_release released;
        if (map.device) {
            const device_turn turn(map);
            cuda::variance_shadows_async(inputs, {result.view}, map.device->stream, options);
        } else {
            variance_shadows(inputs, {result.view}, options);
        }
    }
    return result.finish(depths);
}

nb::object py_circles_of_confusion(nb::handle depth, nb::handle focus, nb::handle aperture, nb::handle largest_radius,
                                   nb::handle dtype, nb::handle out) {
    image_argument in(depth, "depth", nb::none());
    const element type = in.array.type;
    if (type != element::u8 && type != element::u16 && type != element::f32 && type != element::f64)
        throw unsupported("depth: its dtype is " + std::string(name_of(type)) +
                          ", must be uint8, uint16, float32 or float64");
    in.read_as(type);
    const element radii = element_argument(dtype, element::u8);
    if (radii != element::u8 && radii != element::u16 && radii != element::u32)
        throw unsupported("dtype: is " + std::string(name_of(radii)) + ", must be uint8, uint16 or uint32");
    const thin_lens lens{real_argument(focus, "focus"), real_argument(aperture, "aperture"),
                         integer_argument(largest_radius, "largest_radius")};
    const auto extent = [&](int axis) { return in.array.extent[static_cast<std::size_t>(axis)]; };
    const result_argument result(out, "out", in, {radii, extent(in.roles.rows()), extent(in.roles.cols())});
    if (!in.empty) {
        nb::gil_scoped_release released;
        if (in.array.device) {
            const device_turn turn(in.array);
            cuda::circles_of_confusion_async(in.view, result.view, in.array.device->stream, lens);
        } else {
            circles_of_confusion(in.view, result.view, lens);
        }
    }
    return result.finish(in);
}

}  // namespace

void bind_depths(nb::module_& module) {
    define(module, "variance_shadows", py_variance_shadows);
    define(module, "circles_of_confusion", py_circles_of_confusion);
}

}  // namespace boxsum::python
