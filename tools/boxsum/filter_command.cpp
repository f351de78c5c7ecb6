#include "filter_command.hpp"

#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "image_io/memory_limit.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"

#include <CLI/CLI.hpp>

namespace boxsum::cli {
namespace {

exit_code run_one(const filter_command_options& options, const filter_command& command, const std::string& input,
                  const std::string& output_path) {
    const image_format format = output_format(output_path, options.files.format, "--format");
    check_outputs({output_path}, options.report);
    summary report{.input = input, .input_shape = {}, .outputs = {}, .seconds = 0, .details = command.details};

    progress busy;
    busy.phase("reading " + input_name(input));
    const stopwatch reading;
    const image source = read_filter_input(input, options.source);
    report.input_shape = source.view.shape;
    report.reading_seconds = reading.seconds();
    const separated_image parts = separate_alpha(source);
    view_shape expected = command.result_shape(parts.colours, format);
    if (parts.has_alpha()) expected = packed_shape(expected.type, expected.rows, expected.cols, expected.channels + 1);
    check_can_hold(output_path, format, expected);
    check_memory(static_cast<std::uint64_t>(expected.plane_stride), "the result");
    if (!options.report.quiet) note_what_is_lost(source, format, input);
    output_file output(output_path);

    busy.phase(command.doing);
    const stopwatch computing;
    image result = command.compute(parts, format);
    if (!result.alpha) result = join_alpha(result, parts);
    result.metadata = source.metadata;
    report.seconds = computing.seconds();

    busy.phase("writing " + output_name(output_path));
    const stopwatch writing;
    write_image(output, format, result, options.files.write);
    output.commit();
    report.writing_seconds = writing.seconds();
    busy.stop();
    report.outputs = {{"result", output_path, result.view.shape}};
    return print_summary(report, options.report);
}

}  // namespace

void add_filter_command_options(CLI::App& command, filter_command_options& options, const std::string& formats) {
    add_file_arguments(command, options.files, "image file, folder or pattern like out/{name}.png");
    add_file_options(command, options.files, formats);
    add_source_options(command, options.source);
    add_filter_options(command, options.filter);
    add_summary_options(command, options.report);
}

exit_code run_filter_command(const filter_command_options& options, const filter_command& command) {
    return run_files(options.files, {options.files.output}, options.report,
                     [&](const std::string& input, const std::vector<std::string>& outputs) {
                         return run_one(options, command, input, outputs.front());
                     });
}

}  // namespace boxsum::cli
