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
    const strips parts(source.view.shape, command.above, command.below, row_bytes(result));
    const view_shape shape = packed_shape(result.type, parts.most_rows(), result.cols, result.channels);
    const writable_image strip = allocate_image(row_sink::with_slack(shape));
    std::int64_t written = 0;
    parts.for_each(source, command.samples, [&](const filter_inputs& part, std::int64_t rows) {
        any_view to{strip.row(0) + sink.shift(written, size_of(shape.type)), shape};
        to.shape.rows = rows;
        written += rows * shape.row_stride;
        const stopwatch computing;
        command.rows(source, part, to);
        report.seconds += computing.seconds();
        const stopwatch writing;
        sink.write(to);
        report.writing_seconds += writing.seconds();
    });
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
            const image source = read_filter_input(input, one);
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
    const image source = read_filter_input(input, from);
    report.input_shape = source.view.shape;
    report.reading_seconds = reading.seconds();
    const separated_image parts = separate_alpha(source);
    const view_shape expected = shape_of_result(command, parts, format);
    check_can_hold(output_path, format, expected);
    if (!options.report.quiet) note_what_is_lost(source, format, input);
    output_file output(output_path, options.files.write.kind());

    busy.phase(command.doing);
    const bool by_rows = command.rows && options.filter.border != border_mode::wrap &&
                         (!command.takes_rows || command.takes_rows(source, format)) && !parts.has_alpha() &&
                         chosen_device(options.filter.device) == "cpu";
    image about{.view = {nullptr, expected}, .owner = {}};
    about.metadata = source.metadata;
    about.maxval = expected.type == source.view.shape.type ? source.maxval : 0;
    if (const auto sink = by_rows ? row_sink_for(output, format, about, options.files.write) : std::nullopt) {
        run_in_strips(command, source, expected, *sink, report);
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

strips::strips(const view_shape& image, std::int64_t above, std::int64_t below, std::int64_t bytes_of_row)
    : above_(std::min(image.rows, above)), below_(std::min(image.rows, below)) {
    const std::int64_t reach = above_ + below_;
    height_ = std::min(image.rows, rows_of_strip(bytes_of_row, 4 * reach));
    // A last strip that is lower than the windows reach would be a part of the one before it: they are one.
    most_ = std::min(image.rows, height_ + reach);
}

void strips::for_each(const image& source, const sampling& samples,
                      const std::function<void(const filter_inputs& part, std::int64_t rows)>& work) const {
    const view_shape& s = source.view.shape;
    for (std::int64_t top = 0, bottom = 0; top < s.rows; top = bottom) {
        bottom = s.rows - top <= most_ ? s.rows : top + height_;
        const std::int64_t first = std::max<std::int64_t>(0, top - above_), last = std::min(s.rows, bottom + below_);
        filter_inputs part;
        part.image = rows_from(source.view, first, last - first);
        part.mask = rows_from(samples.mask.view, first, last - first);
        part.weights = rows_from(samples.weights.view, first, last - first);
        if (last - first < s.rows) {
            part.at = {first, 0};
            part.whole = {s.rows, s.cols};
        }
        work(part, bottom - top);
    }
}

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
