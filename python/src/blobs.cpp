#include "arrays.hpp"
#include "devices.hpp"
#include "module.hpp"

#include <boxsum/blobs.hpp>
#include <boxsum/cuda/blobs.hpp>
#include <boxsum/error.hpp>

#include <vector>

namespace boxsum::python {
namespace {

/// A plane, or planes for what takes them.
image_argument image_of(nb::handle image) {
    image_argument in(image, "image", nb::none(), {.may_swap = false});
    in.read_as(in.array.type == element::boolean ? element::f64 : in.array.type);
    return in;
}

nb::object py_box_hessian(nb::handle image, nb::handle sigma, nb::handle dtype, nb::handle out, nb::handle threads) {
    const image_argument in = image_of(image);
    const element type = element_argument(dtype, element::f64);
    const double scale = real_argument(sigma, "sigma");
    const int count = threads_argument(threads);
    const result_argument result(out, "out", in,
                                 {type, in.array.extent[static_cast<std::size_t>(in.roles.rows())],
                                  in.array.extent[static_cast<std::size_t>(in.roles.cols())]});
    const hessian_options options{.sigma = scale, .threads = count};
    compute(
        in, [&] { box_hessian({in.view}, {result.view}, options); },
        [&](cuda::workspace& workspace, cuda::stream_ref stream) {
            cuda::box_hessian_async({in.view}, {result.view}, workspace, stream, options);
        });
    return result.finish(in);
}

std::optional<double> optional_number(nb::handle number, std::string_view name) {
    return number.is_none() ? std::optional<double>() : real_argument(number, name);
}

nb::object py_find_blobs(nb::handle image, nb::handle sigmas, nb::handle threshold, nb::handle relative_threshold,
                         nb::handle overlap, nb::handle threads) {
    const image_argument in = image_of(image);
    if (in.array.axes != 2)
        throw unsupported("image: its shape is " + text_of_extents(in.array) + ", must be (rows, cols)");
    const number_argument scales(sigmas, "sigmas");
    if (scales.shape.size() > 1)
        throw invalid_argument("sigmas: have " + std::to_string(scales.shape.size()) + " axes, must have one");
    blob_options options;
    options.sigmas.clear();
    for (std::int64_t i = 0; i < scales.count(); ++i)
        options.sigmas.push_back(scales.floating
                                     ? static_cast<const double*>(scales.data)[i]
                                     : static_cast<double>(static_cast<const std::int64_t*>(scales.data)[i]));
    options.threshold = optional_number(threshold, "threshold");
    options.relative_threshold = optional_number(relative_threshold, "relative_threshold");
    options.overlap = real_argument(overlap, "overlap");
    options.threads = threads_argument(threads);
    std::vector<blob> blobs;
    compute(
        in, [&] { blobs = find_blobs({in.view}, options); },
        [&](cuda::workspace& workspace, cuda::stream_ref stream) {
            blobs = cuda::find_blobs({in.view}, workspace, stream, options);
        });
    const packed_result result(nb::none(), "out", {static_cast<std::int64_t>(blobs.size()), 4}, element::f64,
                               in.array.device ? strided{} : in.array);
    double* to = reinterpret_cast<double*>(result.data);
    for (const blob& b : blobs)
        for (const double x : {static_cast<double>(b.row), static_cast<double>(b.col), b.sigma, b.determinant})
            *to++ = x;
    return in.array.device ? on_device_of(in.array, result.array) : result.finish(in.array);
}

}  // namespace

void bind_blobs(nb::module_& module) {
    define(module, "box_hessian", py_box_hessian);
    define(module, "find_blobs", py_find_blobs);
}

}  // namespace boxsum::python
