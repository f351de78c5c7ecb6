#include "cmd_stats.hpp"

#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "image_io/memory_limit.hpp"
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
population's. Opacity is kept.

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

void prepare(stats_output& out, const view_shape& image, bool alpha) {
    const bool rounded = integers_only(out.format) && !is_floating(image.type);
    dtype computed = floating_result_type(image.type, out.format), written = computed;
    if (rounded && out.role == "mean") computed = written = image.type;
    if (rounded && out.role == "deviation") written = image.type == dtype::u8 ? dtype::u8 : dtype::u16;
    out.written = packed_shape(written, image.rows, image.cols, image.channels);
    check_can_hold(out.path, out.format,
                   packed_shape(written, image.rows, image.cols, image.channels + (alpha ? 1 : 0)));
    out.computed = allocate_like(image, computed);
    out.file.emplace(out.path);
}

exit_code run_one(const stats_options& options, const std::string& input, const std::vector<std::string>& paths) {
    const filter_command_options& common = options.common;
    std::list<stats_output> outputs;  // an output_file cannot move
    const char* const roles[] = {"mean", "variance", "deviation"};
    for (std::size_t i = 0; i < paths.size(); ++i)
        if (!paths[i].empty()) {
            stats_output& out = outputs.emplace_back();
            out.role = roles[i];
            out.path = paths[i];
            out.format = output_format(paths[i], common.files.format, "--format");
        }
    check_outputs(paths, common.report);
    summary report{.input = input, .input_shape = {}, .outputs = {}, .seconds = 0, .details = {}};

    progress busy;
    busy.phase("reading " + input_name(input));
    const stopwatch reading;
    const image read = read_filter_input(input, common.source);
    report.input_shape = read.view.shape;
    report.reading_seconds = reading.seconds();
    const separated_image parts = separate_alpha(read);
    const image& source = parts.colours;
    check_memory(static_cast<std::uint64_t>(source.view.shape.rows * row_bytes(source.view.shape)) * outputs.size() *
                     sizeof(float) / size_of(source.view.shape.type),
                 "the results");
    window_outputs results;
    for (stats_output& out : outputs) {
        prepare(out, source.view.shape, parts.has_alpha());
        (out.role == "mean"       ? results.mean
         : out.role == "variance" ? results.variance
                                  : results.deviation) = out.computed.view;
    }

    busy.phase("computing statistics");
    const stopwatch computing;
    boxsum::filter_options how = library_options(common.filter);
    how.window = window_of(options.window);
    const image mask = read_mask(common.filter, common.source);
    run_filter(
        common.filter,
        "--window: ", [&] { local_statistics(inputs_of(source, mask), results, options_for(source, how)); },
        [&](cuda::stream_ref stream) {
            cuda::local_statistics(inputs_of(source, mask), results, stream, options_for(source, how));
        });
    report.seconds = computing.seconds();

    const stopwatch writing;
    std::vector<output_file*> files;
    for (stats_output& out : outputs) {
        busy.phase("writing " + output_name(out.path));
        const bool rounded = out.written.type != out.computed.view.shape.type;
        image pixels = rounded ? quantised(out.computed, out.written.type, 1, 0) : out.computed;
        if (out.role == "mean") pixels.maxval = source.maxval;
        pixels.metadata = source.metadata;
        if (!common.report.quiet) note_what_is_lost(source, out.format, input);
        write_image(*out.file, out.format, join_alpha(pixels, parts), common.files.write);
        report.outputs.push_back({out.role, out.path, out.written});
        files.push_back(&*out.file);
    }
    commit_together(files);
    report.writing_seconds = writing.seconds();
    busy.stop();
    return print_summary(report, common.report);
}

}  // namespace

void setup_stats(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<stats_options>();
    CLI::App* command = app.add_subcommand("stats", "Local mean, variance and standard deviation");
    add_input_arguments(*command, options->common.files);
    command->add_option("--mean", options->mean, "write the means to this file")->check(some_text);
    command->add_option("--std", options->deviation, "write the standard deviations to this file")->check(some_text);
    command->add_option("--variance", options->variance, "write the variances to this file")->check(some_text);
    add_window_option(*command, options->window);
    add_file_options(*command, options->common.files, "png, jpeg, tiff, pnm, pfm, npy");
    add_source_options(*command, options->common.source);
    add_filter_options(*command, options->common.filter);
    add_summary_options(*command, options->common.report);
    command->footer(stats_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_stats(*options); }; });
}

exit_code run_stats(const stats_options& options) {
    if (options.mean.empty() && options.variance.empty() && options.deviation.empty())
        throw usage_error("--mean, --std or --variance: give at least one output");
    check_outputs({options.mean, options.variance, options.deviation}, options.common.report);
    return run_files(options.common.files, {options.mean, options.variance, options.deviation}, options.common.report,
                     [&](const std::string& input, const std::vector<std::string>& outputs) {
                         return run_one(options, input, outputs);
                     });
}

}  // namespace boxsum::cli
