#include "filter_command.hpp"

#include "device.hpp"
#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "image_io/memory_limit.hpp"
#include "image_io/row_sink.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace boxsum::cli {
namespace {

/// Rows from `first` on.
const_any_view rows_from(const const_any_view& view, std::int64_t first, std::int64_t count) {
    const_any_view part = view;
    if (view.data == nullptr) return part;
    part.data = static_cast<const std::byte*>(view.data) + first * view.shape.row_stride;
    part.shape.rows = count;
    return part;
}

/// Computes a strip of rows after the other and hands it on: of the result there is never more in memory.
void run_in_strips(const filter_command& command, const image& source, const view_shape& result, const row_sink& sink,
                   summary& report) {
    const view_shape& s = source.view.shape;
    const std::int64_t reach = std::min(s.rows, command.above) + std::min(s.rows, command.below);
    const std::int64_t height = std::min(s.rows, rows_of_strip(row_bytes(result), 4 * reach));
    // A last strip that is lower than the windows reach would be a part of the one before it: they are one.
    const std::int64_t most = std::min(s.rows, height + reach);
    const writable_image strip = allocate_image(packed_shape(result.type, most, result.cols, result.channels));
    for (std::int64_t top = 0, bottom = 0; top < s.rows; top = bottom) {
        bottom = s.rows - top <= most ? s.rows : top + height;
        const std::int64_t first = std::max<std::int64_t>(0, top - std::min(s.rows, command.above));
        const std::int64_t last = std::min(s.rows, bottom + std::min(s.rows, command.below));
        filter_inputs part;
        part.image = rows_from(source.view, first, last - first);
        part.mask = rows_from(command.mask.view, first, last - first);
        if (last - first < s.rows) {
            part.at = {first, 0};
            part.whole = {s.rows, s.cols};
        }
        any_view rows = strip.view;
        rows.shape.rows = bottom - top;
        const stopwatch computing;
        command.rows(source, part, rows);
        report.seconds += computing.seconds();
        const stopwatch writing;
        sink.write(rows);
        report.writing_seconds += writing.seconds();
    }
    const stopwatch writing;
    sink.finish();
    report.writing_seconds += writing.seconds();
}

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
    if (!options.report.quiet) note_what_is_lost(source, format, input);
    output_file output(output_path);

    busy.phase(command.doing);
    const bool strips = command.rows && options.filter.border != "wrap" &&
                        (!command.takes_rows || command.takes_rows(source, format)) && !parts.has_alpha() &&
                        chosen_device(options.filter.device) == "cpu";
    image about{.view = {nullptr, expected}, .owner = {}};
    about.metadata = source.metadata;
    about.maxval = expected.type == source.view.shape.type ? source.maxval : 0;
    if (const auto sink = strips ? row_sink_for(output, format, about, options.files.write) : std::nullopt) {
        run_in_strips(command, source, expected, *sink, report);
        output.commit();
        busy.stop();
        report.outputs = {{"result", output_path, expected}};
        return print_summary(report, options.report);
    }
    check_memory(static_cast<std::uint64_t>(expected.plane_stride), "the result");
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
