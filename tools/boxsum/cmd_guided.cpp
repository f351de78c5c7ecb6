#include "cmd_guided.hpp"

#include "option_types.hpp"

#include <boxsum/cuda/guided_filter.hpp>
#include <boxsum/guided_filter.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* guided_footer =
    R"(Smooths an image and keeps the edges of a guide, in windows of 2R+1 rows and 2C+1 columns (He, Sun and Tang 2010).
Where the guide's variance is well below --epsilon the result is a mean, where it is well above it the result follows the guide.
--guide is a grey or colour image of the same size; without one every channel guides itself. Opacity is kept.
Pixels that do not count (--nodata, --ignore-nan, --mask, --weights) are filled from the guide; without one they are --fill.

Examples:
  boxsum guided noisy.png smooth.png
  boxsum guided noisy.png smooth.png -r 16 --epsilon 400
  boxsum guided mask.png matte.png --guide photo.png -r 20 --epsilon 40
  boxsum guided depth.tif sharp.tif --guide photo.png --border reflect --type 32f)";

}  // namespace

void setup_guided(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<guided_options>();
    CLI::App* command = app.add_subcommand("guided", "Edge-preserving smoothing by a guide");
    add_parsed(*command, "-r,--radius", options->radius, parse_radius, "is not R or R,C with R and C at least 0",
               "R, or rows and columns R,C (default: 8)");
    command->add_option("--guide", options->guide, "image whose edges stay (default: the image itself)")
        ->check(some_text);
    command
        ->add_option("--epsilon", options->epsilon,
                     "windows that vary more keep their edges (default: the square of a tenth of the guide's range: "
                     "650.25 of 8u, 0.01 of floats)")
        ->check(positive_number);
    add_type(*command, "--type", options->type, "type of the result: the image's (default), 32f or 64f");
    add_filter_command_options(*command, options->common, "png, jpeg, tiff, webp, pnm, pfm, npy");
    command->footer(guided_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_guided(*options); }; });
}

exit_code run_guided(const guided_options& options) {
    if (options.guide == "-" && options.common.files.files.front() == "-")
        throw usage_error("standard input can be only one of the inputs");
    boxsum::filter_options how = library_options(options.common.filter);
    how.window = options.radius;
    const sampling samples = read_sampling(options.common.filter, options.common.source);
    const auto type = [&](const view_shape& s) { return options.type.value_or(s.type); };
    const auto shape = [&](const image& colours, image_format) {
        const view_shape& s = colours.view.shape;
        return packed_shape(type(s), s.rows, s.cols, s.channels);
    };
    const auto smooth = [&](const separated_image& parts, image_format) -> image {
        const view_shape& s = parts.colours.view.shape;
        separated_image guide;
        if (!options.guide.empty())
            guide = separate_alpha(read_filter_input(options.guide, {.region = options.common.source.region}));
        const writable_image out = allocate_like(s, type(s));
        const guided_inputs inputs{.image = parts.colours.view,
                                   .guide = guide.colours.view,
                                   .mask = samples.mask.view,
                                   .weights = samples.weights.view};
        run_filter(
            options.common.filter, "--radius: the window ",
            [&] {
                guided_filter(inputs, {.result = out.view}, {options.epsilon},
                              options_for(parts.colours, how, type(s)));
            },
            [&](cuda::stream_ref stream) {
                cuda::guided_filter(inputs, {.result = out.view}, stream, {options.epsilon},
                                    options_for(parts.colours, how, type(s)));
            });
        image result = out;
        result.maxval = parts.colours.maxval;
        return result;
    };
    return run_filter_command(options.common, {"filtering", shape, smooth});
}

}  // namespace boxsum::cli
