#include "cmd_denoise.hpp"

#include "option_types.hpp"

#include <boxsum/cuda/non_local_means.hpp>
#include <boxsum/non_local_means.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* denoise_footer =
    R"(Removes noise and keeps edges and texture (non-local means; Buades, Coll and Morel 2005): a pixel becomes the mean of the
pixels within --radius, weighted by how alike the patches around them are. Colours have one weight; opacity is kept.
Time grows with the pixels within --radius. What does not count (--nodata, --ignore-nan, --mask, --weights) is left out.

Examples:
  boxsum denoise noisy.png clean.png
  boxsum denoise noisy.png clean.png --strength 14 --noise 10
  boxsum denoise night.tif clean.tif -r 15 --patch 2 --border mirror)";

}  // namespace

void setup_denoise(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<denoise_options>();
    CLI::App* command = app.add_subcommand("denoise", "Noise removal by non-local means");
    constexpr const char* refusal = "is not R or R,C with R and C at least 0";
    add_parsed(*command, "-r,--radius", options->radius, parse_radius, refusal,
               "how far alike pixels are looked for: R, or rows and columns R,C (default: 10)");
    add_parsed(*command, "--patch", options->patch, parse_radius, refusal,
               "radius of what is compared around two pixels: R or R,C, at most 64 (default: 3)");
    command
        ->add_option(
            "--strength", options->strength,
            "patches that differ by it, root mean square, weigh 1/e of equal ones (default: 10 of 255 parts of the "
            "range)")
        ->check(positive_number);
    command->add_option("--noise", options->noise, "standard deviation of the noise (default: none)")
        ->check(positive_number);
    add_type(*command, "--type", options->type, "type of the result: the image's (default), 32f or 64f");
    add_filter_command_options(*command, options->common, "png, jpeg, tiff, webp, pnm, pfm, npy");
    command->footer(denoise_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_denoise(*options); }; });
}

exit_code run_denoise(const denoise_options& options) {
    boxsum::filter_options how = library_options(options.common.filter);
    how.window = options.radius;
    const sampling samples = read_sampling(options.common.filter, options.common.source);
    const auto type = [&](const view_shape& s) { return options.type.value_or(s.type); };
    const auto shape = [&](const image& colours, image_format) {
        const view_shape& s = colours.view.shape;
        return packed_shape(type(s), s.rows, s.cols, s.channels);
    };
    const auto clean = [&](const separated_image& parts, image_format) -> image {
        const view_shape& s = parts.colours.view.shape;
        const writable_image out = allocate_like(s, type(s));
        const non_local_inputs inputs{parts.colours.view, samples.mask.view, samples.weights.view};
        run_filter(
            options.common.filter, "--radius: the window ",
            [&] {
                non_local_means(
                    inputs, {.result = out.view},
                    {.patch = options.patch, .strength = options.strength, .noise = options.noise.value_or(0)},
                    options_for(parts.colours, how, type(s)));
            },
            [&](cuda::stream_ref stream) {
                cuda::non_local_means(
                    inputs, {.result = out.view}, stream,
                    {.patch = options.patch, .strength = options.strength, .noise = options.noise.value_or(0)},
                    options_for(parts.colours, how, type(s)));
            });
        image result = out;
        result.maxval = parts.colours.maxval;
        return result;
    };
    return run_filter_command(options.common, {"denoising", shape, clean});
}

}  // namespace boxsum::cli
