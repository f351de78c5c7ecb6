#include "cmd_table.hpp"

#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "option_types.hpp"
#include "progress.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* table_footer =
    R"(The table is padded by default: (rows + 1) x (cols + 1), first row and column zero. Colour channels are summed each
by itself and become the last axis of an NPY file. Images are integers of up to 32 bits or floats. By default the
table's type is the one that loses nothing: 64u for unsigned images, 64s for signed ones, 64f for floats. Integer tables
of fewer bits wrap around; boxes whose own sum fits stay exact.

Examples:
  boxsum table photo.png -o sums.npy
  boxsum table photo.png -o sums.npy --table-type 32u --layout inclusive
  boxsum table photo.png -o sums.npy --squares squares.npy --threads 2
  boxsum table - -o - < photo.png > sums.npy)";

image_format format_of(const std::string& path, const table_options& options) {
    if (path == "-" && options.format.empty()) return image_format::npy;
    return output_format(path, options.format, "--format");
}

dtype chosen_squares_type(const table_options& options, dtype image, dtype table) {
    if (!options.squares_type.empty()) return *dtype_from_name(options.squares_type);
    const dtype input = image == dtype::f16 ? dtype::f32 : image;  // as compute_tables() widens it
    if (const auto type = widest_squares_type(input, table)) return *type;
    throw unsupported("--squares: no table of squares goes with images of " + std::string(name_of(image)) +
                      " and tables of " + std::string(name_of(table)));
}

summary summary_of(const table_options& options, const image& source, const computed_tables& tables) {
    summary s{
        options.input, source.view.shape, {{"table", options.output, tables.sums.view.shape}}, tables.seconds, {}};
    if (tables.squares) s.outputs.push_back({"squares", options.squares, tables.squares->view.shape});
    s.details = {{"layout", options.layout}, {"device", tables.device}, {"algorithm", options.compute.algorithm}};
    return s;
}

}  // namespace

void setup_table(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<table_options>();
    CLI::App* command = app.add_subcommand("table", "Compute the summed area table of an image");
    command->add_option("IN", options->input, "image file, or -")->required();
    command->add_option("-o,--output", options->output, "table file (.npy, .tif), or -")->check(some_text)->required();
    command->add_option("--squares", options->squares, "also write the table of squared pixels to this file")
        ->check(some_text);
    command->add_option("--layout", options->layout, "padded, inclusive or exclusive")
        ->capture_default_str()
        ->check(layout_name);
    command->add_option("--table-type", options->table_type, "32u, 64u, 32s, 64s, 32f or 64f")->check(dtype_name);
    command->add_option("--squares-type", options->squares_type, "type of the table of squares")->check(dtype_name);
    command->add_option("--format", options->format, "format of the outputs: npy, tiff, ...")->check(some_text);
    add_compute_options(*command, options->compute);
    add_summary_options(*command, options->report);
    command->footer(table_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_table(*options); }; });
}

exit_code run_table(const table_options& options) {
    if (options.squares.empty() && !options.squares_type.empty())
        throw usage_error("--squares-type: needs --squares, the file to write");
    check_outputs({options.output, options.squares}, options.report);
    const image_format format = format_of(options.output, options);
    const image_format squares_format =
        options.squares.empty() ? image_format::npy : format_of(options.squares, options);

    progress busy;
    busy.phase("reading " + input_name(options.input));
    const image source = read_image(options.input);
    const dtype input_type = source.view.shape.type;
    check_summable(options.input, input_type);
    const dtype type =
        options.table_type.empty() ? widest_table_type(input_type) : *dtype_from_name(options.table_type);
    std::optional<dtype> squares_type;
    if (!options.squares.empty()) squares_type = chosen_squares_type(options, input_type, type);

    output_file output(options.output);  // before the work: a missing folder is told at once
    std::optional<output_file> squares_output;
    if (squares_type) squares_output.emplace(options.squares);

    busy.phase("computing the table");
    const computed_tables tables =
        compute_tables(source, *layout_from_name(options.layout), type, squares_type, options.compute);

    busy.phase("writing " + output_name(options.output));
    write_image(output, format, tables.sums.view);
    if (squares_output) write_image(*squares_output, squares_format, tables.squares->view);
    output.commit();
    if (squares_output) squares_output->commit();
    busy.stop();
    return print_summary(summary_of(options, source, tables), options.report);
}

}  // namespace boxsum::cli
