#include "cmd_normalize.hpp"

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

constexpr const char* normalize_footer =
    R"((x - m) / max(s, epsilon), with mean m and standard deviation s of the window around the pixel x. The result is 32f in
NPY, TIFF and PFM files. In PNG, JPEG, PGM and PPM files it is 8u: -range is black, +range is white.

Examples:
  boxsum normalize photo.png flat.png --window 31
  boxsum normalize photo.png flat.npy --window 31 --epsilon 2)";

}  // namespace

void setup_normalize(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<normalize_options>();
    CLI::App* command = app.add_subcommand("normalize", "Local contrast normalisation");
    command->add_option("IN", options->input, "image file, or -")->required();
    command->add_option("OUT", options->output, "image file, or -")->required();
    add_window_option(*command, options->window);
    command->add_option("--epsilon", options->epsilon, "smallest divisor, in the image's units")
        ->capture_default_str()
        ->check(positive_number);
    command->add_option("--range", options->range, "standard deviations from grey to white, in formats of integers")
        ->capture_default_str()
        ->check(positive_number);
    command->add_option("--format", options->format, "format of OUT: png, jpeg, tiff, pnm, pfm, npy")->check(some_text);
    add_filter_options(*command, options->filter);
    add_summary_options(*command, options->report);
    command->footer(normalize_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_normalize(*options); }; });
}

exit_code run_normalize(const normalize_options& options) {
    const image_format format = output_format(options.output, options.format, "--format");
    check_outputs({options.output}, options.report);

    progress busy;
    busy.phase("reading " + input_name(options.input));
    const image source = read_filter_input(options.input);
    const view_shape& shape = source.view.shape;
    const bool as_integers = integers_only(format);
    check_can_hold(options.output, format,
                   packed_shape(as_integers ? dtype::u8 : dtype::f32, shape.rows, shape.cols, shape.channels));
    output_file output(options.output);

    busy.phase("normalising");
    writable_image result = allocate_like(shape, dtype::f32);
    boxsum::filter_options how = library_options(options.filter);
    how.window = window_of(options.window);
    const contrast_rule rule{options.epsilon};
    const stopwatch watch;
    run_filter(
        options.filter, "--window: ", [&] { local_contrast({source.view}, {result.view}, rule, how); },
        [&](cuda::stream_ref stream) { cuda::local_contrast({source.view}, {result.view}, stream, rule, how); });
    const double seconds = watch.seconds();

    busy.phase("writing " + output_name(options.output));
    constexpr double half_range = 127.5;
    if (as_integers) result = quantised(result, dtype::u8, half_range / options.range, half_range);
    write_image(output, format, result.view);
    output.commit();
    busy.stop();
    return print_summary({options.input, shape, {{"result", options.output, result.view.shape}}, seconds, {}},
                         options.report);
}

}  // namespace boxsum::cli
