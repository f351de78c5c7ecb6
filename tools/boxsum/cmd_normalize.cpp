#include "cmd_normalize.hpp"

#include "option_types.hpp"

#include <boxsum/cuda/filters.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* normalize_footer =
    R"((x - m) / max(s, epsilon), with mean m and standard deviation s of the window around the pixel x. The result is 32f in
NPY, TIFF and PFM files. In PNG, JPEG, PGM and PPM files it is 8u: -range is black, +range is white. Opacity is kept.

Examples:
  boxsum normalize photo.png flat.png --window 31
  boxsum normalize photo.png flat.npy --window 31 --epsilon 2)";

}  // namespace

void setup_normalize(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<normalize_options>();
    CLI::App* command = app.add_subcommand("normalize", "Local contrast normalisation");
    add_window_options(*command, options->window);
    command->add_option("--epsilon", options->epsilon, "smallest divisor, in the image's units")
        ->capture_default_str()
        ->check(positive_number);
    command
        ->add_option("--range", options->range,
                     "standard deviations from grey to white, in formats of integers (default: 3)")
        ->check(positive_number);
    add_filter_command_options(*command, options->common, "png, jpeg, tiff, pnm, pfm, npy");
    command->footer(normalize_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_normalize(*options); }; });
}

exit_code run_normalize(const normalize_options& options) {
    boxsum::filter_options how = library_options(options.common.filter);
    how.window = window_of(options.window);
    const contrast_rule rule{options.epsilon};
    constexpr double half_range = 127.5, usual_range = 3;
    const double scale = half_range / options.range.value_or(usual_range);
    const sampling samples = read_sampling(options.common.filter, options.common.source);
    const auto shape = [&](const image& colours, image_format format) {
        if (options.range && !integers_only(format))
            throw usage_error("--range: means nothing for " + std::string(name_of(format)) + ", which holds floats");
        const view_shape& s = colours.view.shape;
        return packed_shape(integers_only(format) ? dtype::u8 : dtype::f32, s.rows, s.cols, s.channels);
    };
    const auto normalised = [&](const separated_image& parts, image_format format) -> image {
        const image& source = parts.colours;
        const writable_image result = allocate_like(source.view.shape, dtype::f32);
        run_filter(
            options.common.filter, "--window: ",
            [&] {
                local_contrast(inputs_of(source, samples), {.result = result.view}, rule,
                               options_for(source, how, dtype::f32));
            },
            [&](cuda::stream_ref stream) {
                cuda::local_contrast(inputs_of(source, samples), {.result = result.view}, stream, rule,
                                     options_for(source, how, dtype::f32));
            });
        return integers_only(format) ? quantised(result, dtype::u8, scale, half_range) : result;
    };
    filter_command command{"normalising", shape, normalised};
    command.rows = [&](const image& source, image_format format) -> strip_work {
        return [&, rounded = integers_only(format), how = options_for(source, how, dtype::f32)](
                   const strip& part, const any_view& result) {
            const writable_image floats = rounded ? allocate_like(result.shape, dtype::f32) : writable_image();
            const any_view to = rounded ? floats.view : result;
            run_filter(
                options.common.filter, "--window: ",
                [&] { local_contrast(part.inputs, {.result = to}, rule, with_threads(how, part.threads)); },
                [](cuda::stream_ref) {});
            if (rounded) quantise(floats, result, scale, half_range);
        };
    };
    command.reach = how.window;
    command.samples = samples;
    return run_filter_command(options.common, command);
}

}  // namespace boxsum::cli
