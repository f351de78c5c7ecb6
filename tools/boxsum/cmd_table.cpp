#include "cmd_table.hpp"

#include "device.hpp"
#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "image_io/memory_limit.hpp"
#include "image_io/row_sink.hpp"
#include "machine_info.hpp"
#include "option_types.hpp"
#include "pixels.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstring>
#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* table_footer =
    R"(The table is padded by default: (rows + 1) x (cols + 1), first row and column zero. Colour channels are summed each
by itself and become the last axis of an NPY file. By default the
table's type is the one that loses nothing: 64u for unsigned images, 64s for signed ones, 64f for floats. Integer tables
of fewer bits wrap around; boxes whose own sum fits stay exact.

Examples:
  boxsum table photo.png sums.npy
  boxsum table photo.png sums.npy --table-type 32u --layout inclusive
  boxsum table photo.png sums.npy --squares squares.npy --threads 2
  boxsum table - - < photo.png > sums.npy)";

image_format format_of(const std::string& path, const table_options& options) {
    if (path == "-" && options.files.format.empty()) return image_format::npy;
    return output_format(path, options.files.format, "--format");
}

dtype chosen_squares_type(const table_options& options, dtype image, dtype table) {
    if (options.squares_type) return *options.squares_type;
    const dtype input = image == dtype::f16 ? dtype::f32 : image;  // as compute_tables() widens it
    if (const auto type = widest_squares_type(input, table)) return *type;
    throw unsupported("--squares: no table of squares goes with images of " + std::string(name_of(image)) +
                      " and tables of " + std::string(name_of(table)));
}

/// Whether a table is made and written in strips, so that it need not be in memory: by the CPU's own choice of
/// algorithm, which knows how to go on from the row above. Floats are added in another order then: only where there is
/// no room.
bool goes_in_strips(const table_options& options, dtype image, dtype table, std::uint64_t bytes) {
    const compute_options usual;
    if (image == dtype::f16 || options.compute.algorithm != usual.algorithm || !options.compute.parameters.empty() ||
        options.compute.store != usual.store || chosen_device(options.compute.device) != "cpu")
        return false;
    return !is_floating(table) || bytes > memory_limit() - std::min(memory_limit(), memory_in_use());
}

/// Strip by strip: each is a padded table that goes on from the last row of the one before.
void write_in_strips(const image& source, const view_shape& table, const table_options& options, const row_sink& sink,
                     progress& busy, summary& report) {
    const view_shape& s = source.view.shape;
    const table_layout layout = options.layout;
    const std::int64_t height = std::min(s.rows, rows_of_strip(row_bytes(table), 1));
    const auto element = static_cast<std::int64_t>(size_of(table.type));
    // Packed: rows that start on cache lines are computed a little faster, but written one by one.
    const view_shape shape = packed_shape(table.type, height + 1, s.cols + 1, s.channels);
    const writable_image strip = allocate_image(row_sink::with_slack(shape));
    std::int64_t written_bytes = 0;
    const writable_image above = allocate_image(packed_shape(table.type, 1, s.cols, s.channels));
    table_job job;
    job.options.threads = bounded_threads(options.compute.threads);
    for (std::int64_t top = 0; top < s.rows; top += height) {
        const std::int64_t rows = std::min(height, s.rows - top);
        const_any_view part = source.view;
        part.data = row_as<std::byte>(source.view, top);
        part.shape.rows = rows;
        const std::int64_t repeated = layout == table_layout::padded && top > 0 ? shape.row_stride : 0;
        any_view entries{strip.row(0) + sink.shift(written_bytes - repeated, size_of(table.type)), shape};
        entries.shape.rows = rows + 1;
        const stopwatch computing;
        job.inputs.image = part;
        if (top > 0) job.inputs.carries.above = above.view;
        job.outputs.sums = {entries, table_layout::padded};
        sat(job.inputs, job.outputs, job.options);
        const std::byte* const last = row_as<std::byte>(entries, rows) + element * s.channels;
        std::memcpy(above.row(0), last, static_cast<std::size_t>(row_bytes(above.view.shape)));
        report.seconds += computing.seconds();

        // Of the padded strip: all of it but the row that the strip before has written; inclusive sums; exclusive ones.
        const stopwatch writing;
        const bool inclusive = layout == table_layout::inclusive, padded = layout == table_layout::padded;
        const_any_view written = entries;
        const std::int64_t first = inclusive || (padded && top > 0) ? 1 : 0;
        written.data = row_as<std::byte>(entries, first) + (inclusive ? element * s.channels : 0);
        written.shape.rows = padded && top == 0 ? rows + 1 : rows;
        written.shape.cols = padded ? s.cols + 1 : s.cols;
        sink.write(written);
        written_bytes += written.shape.rows * row_bytes(written.shape);
        busy.share(static_cast<double>(top + rows) / static_cast<double>(s.rows));
        report.writing_seconds += writing.seconds();
    }
    const stopwatch writing;
    sink.finish();
    report.writing_seconds += writing.seconds();
}

exit_code run_one(const table_options& options, const source_options& from, const std::string& input,
                  const std::string& output_path, const std::string& squares_path) {
    check_outputs({output_path, squares_path}, options.report);
    const image_format format = format_of(output_path, options);
    const image_format squares_format = squares_path.empty() ? image_format::npy : format_of(squares_path, options);

    progress busy;
    busy.phase("reading " + input_name(input));
    const stopwatch reading;
    const image source = narrowed(read_source(input, from), 64, {dtype::u32, dtype::s32});
    const double reading_seconds = reading.seconds();
    const dtype input_type = source.view.shape.type;
    const dtype type = options.table_type.value_or(widest_table_type(input_type));
    std::optional<dtype> squares_type;
    if (!squares_path.empty()) squares_type = chosen_squares_type(options, input_type, type);

    const durability kind = options.files.write.kind();
    output_file output(output_path, kind);  // before the work: a missing folder is told at once
    std::optional<output_file> squares_output;
    if (squares_type) squares_output.emplace(squares_path, kind);

    busy.phase("computing the table");
    const table_form form = options.layout;
    const view_shape& shape = source.view.shape;
    image about{.view = {nullptr, packed_shape(type, form.table_extent(shape.rows), form.table_extent(shape.cols),
                                               shape.channels)},
                .owner = {}};
    check_can_hold(output_path, format, about.view.shape);
    const bool strips = !squares_type && goes_in_strips(options, input_type, type,
                                                        static_cast<std::uint64_t>(about.view.shape.plane_stride));
    if (const auto sink = strips ? row_sink_for(output, format, about, options.files.write) : std::nullopt) {
        summary report{input, shape, {{"table", output_path, about.view.shape}}, 0, {}};
        report.reading_seconds = reading_seconds;
        write_in_strips(source, about.view.shape, options, *sink, busy, report);
        const stopwatch naming;
        output.commit();
        report.writing_seconds += naming.seconds();
        busy.stop();
        report.details = {{"layout", std::string(name_of(options.layout))},
                          {"device", "cpu"},
                          {"algorithm", options.compute.algorithm}};
        return print_summary(report, options.report);
    }
    const computed_tables tables = compute_tables(source, form, type, squares_type, options.compute);

    busy.phase("writing " + output_name(output_path));
    const stopwatch writing;
    write_image(output, format, tables.sums, options.files.write);
    std::vector<output_file*> files{&output};
    if (squares_output) {
        write_image(*squares_output, squares_format, *tables.squares, options.files.write);
        files.push_back(&*squares_output);
    }
    commit_together(files);
    const double writing_seconds = writing.seconds();
    busy.stop();
    summary s{input, source.view.shape, {{"table", output_path, tables.sums.view.shape}}, tables.seconds, {}};
    s.reading_seconds = reading_seconds;
    s.writing_seconds = writing_seconds;
    if (tables.squares) s.outputs.push_back({"squares", squares_path, tables.squares->view.shape});
    s.details = {{"layout", std::string(name_of(options.layout))},
                 {"device", tables.device},
                 {"algorithm", options.compute.algorithm}};
    return print_summary(s, options.report);
}

}  // namespace

void setup_table(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<table_options>();
    CLI::App* command = app.add_subcommand("table", "Compute the summed area table of an image");
    add_file_arguments(*command, options->files, "table file (.npy, .tif), folder or pattern like out/{name}.npy");
    command->add_option("--squares", options->squares, "also write the table of squared pixels to this file")
        ->check(some_text);
    add_layout(*command, "--layout", options->layout, "padded, inclusive or exclusive")->default_str("padded");
    add_type(*command, "--table-type", options->table_type, "32u, 64u, 32s, 64s, 32f or 64f");
    add_type(*command, "--squares-type", options->squares_type, "type of the table of squares");
    add_file_options(*command, options->files, "npy, tiff, ...");
    add_source_options(*command, options->source);
    add_compute_options(*command, options->compute);
    add_summary_options(*command, options->report);
    command->footer(table_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_table(*options); }; });
}

exit_code run_table(const table_options& options) {
    if (options.squares.empty() && options.squares_type)
        throw usage_error("--squares-type: needs --squares, the file to write");
    std::vector<std::string> files = options.files.files;
    file_options given = options.files;
    if (given.output.empty() && files.size() > 1) {
        given.output = files.back();
        given.files.pop_back();
    }
    given.folder_format = "npy";
    if (given.output.empty()) throw usage_error("OUT or -o/--output: give the table's file");
    return run_files(
        given, options.source, {given.output, options.squares}, options.report,
        [&](const std::string& input, const std::vector<std::string>& outputs, const source_options& source) {
            return run_one(options, source, input, outputs[0], outputs[1]);
        });
}

}  // namespace boxsum::cli
