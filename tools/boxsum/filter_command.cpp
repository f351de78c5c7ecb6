#include "filter_command.hpp"

#include "device.hpp"
#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "image_io/memory_limit.hpp"
#include "image_io/row_sink.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"

#include <CLI/CLI.hpp>

namespace boxsum::cli {
namespace {

/// Computes a strip of rows after the other and hands it on: of the result there is never more in memory.
void run_in_strips(const filter_command& command, int threads, const image& source, image_format format,
                   const view_shape& result, const row_sink& sink, progress& busy, summary& report) {
    const stopwatch preparing;
    const strip_work compute = command.rows(source, format);
    report.seconds += preparing.seconds();
    const strips parts(source.view.shape, command.reach, row_bytes(result), threads);
    const view_shape shape = packed_shape(result.type, parts.most_rows(), result.cols, result.channels);
    std::vector<writable_image> places;
    for (int i = 0; i < parts.places(); ++i) places.push_back(allocate_image(row_sink::with_slack(shape)));
    const auto result_of = [&](const strip& part) {
        const std::size_t shift = sink.shift(part.top * shape.row_stride, size_of(shape.type));
        any_view to{places[static_cast<std::size_t>(part.place)].row(0) + shift, shape};
        to.shape.rows = part.rows;
        return to;
    };
    parts.run(
        source, command.samples, [&](const strip& part) { compute(part, result_of(part)); },
        [&](const strip& part) {
            sink.write(result_of(part));
            busy.share(part.share_of(result.rows));
        },
        report);
    const stopwatch writing;
    sink.finish();
    report.writing_seconds += writing.seconds();
}

/// The whole result, with the image's opacity and what its file says.
image compute_whole(const filter_command& command, const image& source, const separated_image& parts,
                    image_format format, summary& report) {
    const stopwatch computing;
    image result = command.compute(parts, format);
    if (!result.alpha) result = join_alpha(result, parts);
    result.metadata = source.metadata;
    report.seconds += computing.seconds();
    return result;
}

view_shape shape_of_result(const filter_command& command, const separated_image& parts, image_format format) {
    const view_shape s = command.result_shape(parts.colours, format);
    return parts.has_alpha() ? packed_shape(s.type, s.rows, s.cols, s.channels + 1) : s;
}

/// Every page into one TIFF.
exit_code run_pages(const filter_command_options& options, const filter_command& command, const source_options& from,
                    const std::string& input, const std::string& output_path) {
    const image_format format = output_format(output_path, options.files.format, "--format");
    if (format != image_format::tiff)
        throw usage_error("--page all: " + std::string(name_of(format)) +
                          " has no pages: write a TIFF, or files by '{page}' in the output's name");
    if (input == "-") throw usage_error("--page all: standard input is read once only; name a file");
    check_outputs({output_path}, options.report);
    summary report{.input = input, .input_shape = {}, .outputs = {}, .seconds = 0, .details = command.details};
    const stopwatch all;
    const int count = count_pages(input);
    output_file output(output_path, options.files.write.kind());
    progress busy;
    write_pages(
        output, count,
        [&](int number) {
            source_options one = from;
            one.page = number;
            busy.phase(command.doing + " page " + std::to_string(number) + " of " + std::to_string(count));
            const stopwatch reading;
            const image source = read_filter_input(input, one, options.filter);
            report.reading_seconds += reading.seconds();
            const separated_image parts = separate_alpha(source);
            const view_shape expected = shape_of_result(command, parts, format);
            check_memory(static_cast<std::uint64_t>(expected.plane_stride), "the result");
            if (number == 1) {
                report.input_shape = source.view.shape;
                report.outputs = {{"result", output_path, expected}};
            }
            return compute_whole(command, source, parts, format, report);
        },
        options.files.write);
    output.commit();
    report.writing_seconds = all.seconds() - report.reading_seconds - report.seconds;
    report.details.emplace_back("pages", std::to_string(count));
    busy.stop();
    return print_summary(report, options.report);
}

exit_code run_one(const filter_command_options& options, const filter_command& command, const source_options& from,
                  const std::string& input, const std::string& output_path) {
    if (from.page == all_pages) return run_pages(options, command, from, input, output_path);
    const image_format format = output_format(output_path, options.files.format, "--format");
    check_outputs({output_path}, options.report);
    summary report{.input = input, .input_shape = {}, .outputs = {}, .seconds = 0, .details = command.details};

    progress busy;
    busy.phase("reading " + input_name(input));
    const stopwatch reading;
    const image source = read_filter_input(input, from, options.filter);
    report.input_shape = source.view.shape;
    report.reading_seconds = reading.seconds();
    const separated_image parts = separate_alpha(source);
    const view_shape expected = shape_of_result(command, parts, format);
    check_can_hold(output_path, format, expected);
    if (!options.report.quiet) note_what_is_lost(source, format, input);
    output_file output(output_path, options.files.write.kind());

    busy.phase(command.doing);
    const bool by_rows = command.rows && options.filter.border != border_mode::wrap && !parts.has_alpha() &&
                         chosen_device(options.filter.device) == "cpu";
    image about{.view = {nullptr, expected}, .owner = {}};
    about.metadata = source.metadata;
    about.maxval = expected.type == source.view.shape.type ? source.maxval : 0;
    if (const auto sink = by_rows ? row_sink_for(output, format, about, options.files.write) : std::nullopt) {
        run_in_strips(command, options.filter.threads, source, format, expected, *sink, busy, report);
        const stopwatch naming;
        output.commit();
        report.writing_seconds += naming.seconds();
        busy.stop();
        report.outputs = {{"result", output_path, expected}};
        return print_summary(report, options.report);
    }
    check_memory(static_cast<std::uint64_t>(expected.plane_stride), "the result");
    const image result = compute_whole(command, source, parts, format, report);

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
    return run_files(
        options.files, options.source, {options.files.output}, options.report,
        [&](const std::string& input, const std::vector<std::string>& outputs, const source_options& source) {
            return run_one(options, command, source, input, outputs.front());
        });
}

}  // namespace boxsum::cli
