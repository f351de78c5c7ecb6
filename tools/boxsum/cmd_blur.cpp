#include "cmd_blur.hpp"

#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "option_types.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"

#include <boxsum/cuda/filters.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* blur_footer =
    R"(The mean of the window of 2R+1 rows and 2C+1 columns around every pixel; its cost does not depend on the radius.
Integer results are rounded half up. Colour channels are blurred each by itself. With --radius-map every pixel has its
own radius: the value of that pixel in a grey image of 8u, 16u, 32u or 32s and of the same size.

Examples:
  boxsum blur photo.png blurred.png --radius 12
  boxsum blur photo.png blurred.png --radius 0,40 --border reflect
  boxsum blur photo.png means.tif --radius 3 --type 32f
  boxsum blur photo.png depth-of-field.png --radius-map radii.png)";

}  // namespace

void setup_blur(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<blur_options>();
    CLI::App* command = app.add_subcommand("blur", "Box mean of any radius");
    command->add_option("IN", options->input, "image file, or -")->required();
    command->add_option("OUT", options->output, "image file, or -")->required();
    CLI::Option* radius =
        command->add_option("--radius", options->radius, "R, or rows and columns R,C")->check(some_text);
    command->add_option("--radius-map", options->radius_map, "image of radii, one per pixel: grey, 8u, 16u, 32u or 32s")
        ->check(some_text)
        ->excludes(radius);
    command->add_option("--type", options->type, "type of the result: the image's (default), 32f or 64f")
        ->check(dtype_name);
    command->add_option("--format", options->format, "format of OUT: png, jpeg, tiff, pnm, pfm, npy")->check(some_text);
    add_filter_options(*command, options->filter);
    add_summary_options(*command, options->report);
    command->footer(blur_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_blur(*options); }; });
}

exit_code run_blur(const blur_options& options) {
    if (options.radius.empty() && options.radius_map.empty()) throw usage_error("--radius or --radius-map: give one");
    if (options.input == "-" && options.radius_map == "-")
        throw usage_error("standard input can be only one of the inputs");
    const window_radius radius = options.radius.empty() ? window_radius(0) : radius_of(options.radius);
    const image_format format = output_format(options.output, options.format, "--format");
    check_outputs({options.output}, options.report);

    progress busy;
    busy.phase("reading " + input_name(options.input));
    const image source = read_filter_input(options.input);
    const view_shape& shape = source.view.shape;
    const writable_image result =
        allocate_like(shape, options.type.empty() ? shape.type : *dtype_from_name(options.type));
    check_can_hold(options.output, format, result.view.shape);
    output_file output(options.output);

    busy.phase("blurring");
    double seconds = 0;
    boxsum::filter_options how = library_options(options.filter);
    const filter_outputs to{result.view};
    if (options.radius_map.empty()) {
        const stopwatch watch;
        how.window = radius;
        run_filter(
            options.filter, "--radius: the window ", [&] { box_filter({source.view}, to, how); },
            [&](cuda::stream_ref stream) { cuda::box_filter({source.view}, to, stream, how); });
        seconds = watch.seconds();
    } else {
        const image radii = read_image(options.radius_map);
        const stopwatch watch;
        const variable_inputs from{source.view, radii.view};
        run_filter(
            options.filter,
            "--radius-map: '" + input_name(options.radius_map) + "': ", [&] { variable_box_filter(from, to, how); },
            [&](cuda::stream_ref stream) { cuda::variable_box_filter(from, to, stream, how); });
        seconds = watch.seconds();
    }

    busy.phase("writing " + output_name(options.output));
    write_image(output, format, result.view);
    output.commit();
    busy.stop();
    return print_summary({options.input, shape, {{"result", options.output, result.view.shape}}, seconds, {}},
                         options.report);
}

}  // namespace boxsum::cli
