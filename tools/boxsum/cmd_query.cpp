#include "cmd_query.hpp"

#include "box_list.hpp"
#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "option_types.hpp"
#include "progress.hpp"
#include "text_output.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* query_footer =
    R"(A box is row,col,rows,cols: its first row and column and its extents, in pixels of the image. A CSV file has one box a
line; a first line of names, empty lines and lines that start with # are skipped. Every channel is reported.
With --table the input is a table file, whose layout must be told: a bare table does not say it. Variances then need
the table of squares. Variances are the population's; those of 8- and 16-bit unsigned images are exact, others are
computed in double.

Examples:
  boxsum query photo.png --box 10,20,5,7 --box 0,0,100,100
  boxsum query photo.png --boxes boxes.csv --csv > sums.csv
  boxsum query --table padded sums.npy --squares squares.npy --box 10,20,5,7 --json)";

/// The tables that answer, and the extents of the image that they belong to.
struct query_tables {
    image sums;
    std::optional<image> squares;
    table_form form = table_layout::padded;
    view_shape image_shape;

    const_any_table_view view_of(const image& entries) const { return {entries.view, form}; }
};

query_tables tables_of_image(const query_options& options) {
    const image source = read_image(options.input);
    const dtype input = source.view.shape.type;
    check_summable(options.input, input);
    const dtype sums = widest_table_type(input);
    query_tables tables;
    tables.image_shape = source.view.shape;
    if (const auto squares = widest_squares_type(input == dtype::f16 ? dtype::f32 : input, sums)) {
        const computed_tables computed = compute_tables(source, tables.form, sums, squares, options.compute);
        tables.sums = computed.sums;
        tables.squares = *computed.squares;
    } else {  // sums exactly in integers, squares in double
        tables.sums = compute_tables(source, tables.form, sums, std::nullopt, options.compute).sums;
        tables.squares = *compute_tables(widened(source), tables.form, dtype::f64, dtype::f64, options.compute).squares;
    }
    return tables;
}

query_tables tables_of_files(const query_options& options) {
    query_tables tables;
    tables.form = *layout_from_name(options.table_layout);
    tables.sums = read_image(options.input);
    if (!options.squares.empty()) tables.squares = read_image(options.squares);
    tables.image_shape = tables.sums.view.shape;
    tables.image_shape.rows = tables.form.image_extent(tables.image_shape.rows);
    tables.image_shape.cols = tables.form.image_extent(tables.image_shape.cols);
    if (tables.image_shape.rows < 1 || tables.image_shape.cols < 1)
        throw input_error("'" + input_name(options.input) + "' is a padded table of an empty image");
    const view_shape& sums = tables.sums.view.shape;
    if (tables.squares) {
        const view_shape& squares = tables.squares->view.shape;
        if (squares.rows != sums.rows || squares.cols != sums.cols || squares.channels != sums.channels)
            throw input_error("--squares: '" + input_name(options.squares) + "' is " + text_of(squares) +
                              ", but the table of sums is " + text_of(sums));
    }
    return tables;
}

struct channel_answers {
    std::vector<scalar> sums;
    std::vector<double> means;
    std::vector<double> variances;  ///< empty without squares
};

std::vector<channel_answers> answer(const query_tables& tables, const std::vector<box>& boxes) {
    std::vector<channel_answers> answers(static_cast<std::size_t>(tables.image_shape.channels));
    for (std::size_t channel = 0; channel < answers.size(); ++channel) {
        channel_answers& a = answers[channel];
        const auto c = static_cast<std::int64_t>(channel);
        a.sums.resize(boxes.size());
        a.means.resize(boxes.size());
        const const_any_table_view sums = tables.view_of(tables.sums);
        box_sums(sums, boxes, a.sums, c);
        box_means(sums, boxes, a.means, c);
        if (!tables.squares) continue;
        a.variances.resize(boxes.size());
        box_variances({sums, tables.view_of(*tables.squares)}, boxes, a.variances, c);
    }
    return answers;
}

nlohmann::ordered_json number_of(const scalar& value) {
    if (is_floating(value.type)) return value.f;
    if (is_signed(value.type)) return value.s;
    return value.u;
}

exit_code print_as_json(const query_options& options, const query_tables& tables, const std::vector<box>& boxes,
                        const std::vector<channel_answers>& answers) {
    nlohmann::ordered_json report{{"input", {{"path", options.input}}}};
    report["input"].update(json_of(tables.image_shape));
    if (!options.table_layout.empty()) {
        report["input"].erase("type");  // the image's is not known
        report["table"] = {{"layout", options.table_layout}, {"type", name_of(tables.sums.view.shape.type)}};
    }
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < boxes.size(); ++i)
        for (std::size_t c = 0; c < answers.size(); ++c) {
            const box& b = boxes[i];
            nlohmann::ordered_json entry{{"row", b.row},   {"col", b.col}, {"rows", b.rows},
                                         {"cols", b.cols}, {"channel", c}, {"sum", number_of(answers[c].sums[i])}};
            entry["mean"] = answers[c].means[i];
            entry["variance"] = nullptr;  // not known without squares
            if (!answers[c].variances.empty()) entry["variance"] = answers[c].variances[i];
            list.push_back(std::move(entry));
        }
    report["boxes"] = std::move(list);
    return print_json(report);
}

std::vector<std::vector<std::string>> as_cells(const std::vector<box>& boxes,
                                               const std::vector<channel_answers>& answers, const char* no_value) {
    std::vector<std::vector<std::string>> cells{{"row", "col", "rows", "cols", "channel", "sum", "mean", "variance"}};
    for (std::size_t i = 0; i < boxes.size(); ++i)
        for (std::size_t c = 0; c < answers.size(); ++c) {
            const box& b = boxes[i];
            cells.push_back({std::to_string(b.row), std::to_string(b.col), std::to_string(b.rows),
                             std::to_string(b.cols), std::to_string(c), answers[c].sums[i].to_string(),
                             text_of(answers[c].means[i]),
                             answers[c].variances.empty() ? no_value : text_of(answers[c].variances[i])});
        }
    return cells;
}

std::string as_csv(const std::vector<std::vector<std::string>>& cells) {
    std::string text;
    for (const auto& row : cells)
        for (std::size_t i = 0; i < row.size(); ++i) text.append(row[i]).append(i + 1 < row.size() ? "," : "\n");
    return text;
}

}  // namespace

void setup_query(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<query_options>();
    CLI::App* command = app.add_subcommand("query", "Sum, mean and variance of boxes");
    command->add_option("IN", options->input, "image file, or with --table a table file; - is standard input")
        ->required();
    command->add_option("--box", options->boxes, "row,col,rows,cols; may be repeated")
        ->allow_extra_args(false)
        ->check(box_text);
    command->add_option("--boxes", options->boxes_file, "CSV file of boxes, or -")->check(some_text);
    CLI::Option* table =
        command
            ->add_option("--table", options->table_layout, "IN is a table of this layout: padded, inclusive, exclusive")
            ->check(layout_name);
    command->add_option("--squares", options->squares, "table of squares, for variances (with --table)")
        ->check(some_text);
    add_compute_options(*command, options->compute);
    // A table file is there already: how to compute one would be ignored.
    for (const char* how : {"--device", "--algorithm", "--param", "--threads", "--store"})
        table->excludes(command->get_option(how));
    CLI::Option* json = command->add_flag("--json", options->json, "results as JSON");
    command->add_flag("--csv", options->csv, "results as CSV")->excludes(json);
    command->footer(query_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_query(*options); }; });
}

exit_code run_query(const query_options& options) {
    if (options.boxes.empty() && options.boxes_file.empty())
        throw usage_error("--box or --boxes: give at least one box");
    if (options.table_layout.empty() && !options.squares.empty())
        throw usage_error("--squares: needs --table, the layout of the table files");
    if ((options.input == "-") + (options.boxes_file == "-") + (options.squares == "-") > 1)
        throw usage_error("standard input can be only one of the inputs");

    std::vector<box> boxes;
    for (const std::string& text : options.boxes) boxes.push_back(*parse_box(text));
    if (!options.boxes_file.empty()) read_boxes(options.boxes_file, boxes);

    progress busy;
    busy.phase("reading " + input_name(options.input));
    const query_tables tables = options.table_layout.empty() ? tables_of_image(options) : tables_of_files(options);
    const std::vector<channel_answers> answers = answer(tables, boxes);

    busy.stop();
    if (options.json) return print_as_json(options, tables, boxes, answers);
    const auto cells = as_cells(boxes, answers, options.csv ? "" : "-");
    return print_output(options.csv ? as_csv(cells) : aligned(cells));
}

}  // namespace boxsum::cli
