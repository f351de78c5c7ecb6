#include "cmd_stats.hpp"

#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "option_types.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"

#include <boxsum/cuda/filters.hpp>

#include <CLI/CLI.hpp>

#include <list>
#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* stats_footer =
    R"(Results are 32f (64f for 64f images) in NPY, TIFF and PFM files. In PNG, JPEG, PGM and PPM files the mean and the
standard deviation of integer images are rounded half up; variances need a format with floats. Variances are the
population's.

Examples:
  boxsum stats photo.png --window 31 --mean mean.png --std std.png
  boxsum stats photo.png --window 9,21 --mean mean.npy --variance variance.npy --border reflect)";

/// One result on its way to its file.
struct stats_output {
    std::string role;
    std::string path;
    image_format format = image_format::npy;
    writable_image computed;  ///< as the library writes it
    view_shape written;       ///< as the file holds it
    std::optional<output_file> file;
};

void prepare(stats_output& out, const view_shape& image) {
    const bool rounded = integers_only(out.format) && !is_floating(image.type);
    dtype computed = floating_result_type(image.type, out.format), written = computed;
    if (rounded && out.role == "mean") computed = written = image.type;
    if (rounded && out.role == "deviation") written = image.type == dtype::u8 ? dtype::u8 : dtype::u16;
    out.written = packed_shape(written, image.rows, image.cols, image.channels);
    check_can_hold(out.path, out.format, out.written);
    out.computed = allocate_like(image, computed);
    out.file.emplace(out.path);
}

}  // namespace

void setup_stats(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<stats_options>();
    CLI::App* command = app.add_subcommand("stats", "Local mean, variance and standard deviation");
    command->add_option("IN", options->input, "image file, or -")->required();
    command->add_option("--mean", options->mean, "write the means to this file")->check(some_text);
    command->add_option("--std", options->deviation, "write the standard deviations to this file")->check(some_text);
    command->add_option("--variance", options->variance, "write the variances to this file")->check(some_text);
    add_window_option(*command, options->window);
    command->add_option("--format", options->format, "format of the outputs: png, jpeg, tiff, pnm, pfm, npy")
        ->check(some_text);
    add_filter_options(*command, options->filter);
    add_summary_options(*command, options->report);
    command->footer(stats_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_stats(*options); }; });
}

exit_code run_stats(const stats_options& options) {
    std::list<stats_output> outputs;  // an output_file cannot move
    for (const auto& [role, path] : {std::pair<std::string, std::string>{"mean", options.mean},
                                     {"variance", options.variance},
                                     {"deviation", options.deviation}})
        if (!path.empty()) {
            stats_output& out = outputs.emplace_back();
            out.role = role;
            out.path = path;
            out.format = output_format(path, options.format, "--format");
        }
    if (outputs.empty()) throw usage_error("--mean, --std or --variance: give at least one output");
    check_outputs({options.mean, options.variance, options.deviation}, options.report);

    progress busy;
    busy.phase("reading " + input_name(options.input));
    const image source = read_filter_input(options.input);
    window_outputs results;
    for (stats_output& out : outputs) {
        prepare(out, source.view.shape);
        (out.role == "mean"       ? results.mean
         : out.role == "variance" ? results.variance
                                  : results.deviation) = out.computed.view;
    }

    busy.phase("computing statistics");
    const stopwatch watch;
    boxsum::filter_options how = library_options(options.filter);
    how.window = window_of(options.window);
    run_filter(
        options.filter, "--window: ", [&] { local_statistics({source.view}, results, how); },
        [&](cuda::stream_ref stream) { cuda::local_statistics({source.view}, results, stream, how); });
    summary report{options.input, source.view.shape, {}, watch.seconds(), {}};

    for (stats_output& out : outputs) {
        busy.phase("writing " + output_name(out.path));
        const bool rounded = out.written.type != out.computed.view.shape.type;
        const writable_image pixels = rounded ? quantised(out.computed, out.written.type, 1, 0) : out.computed;
        write_image(*out.file, out.format, pixels.view);
        report.outputs.push_back({out.role, out.path, out.written});
    }
    for (stats_output& out : outputs) out.file->commit();
    busy.stop();
    return print_summary(report, options.report);
}

}  // namespace boxsum::cli
