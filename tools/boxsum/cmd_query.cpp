#include "cmd_query.hpp"

#include "box_list.hpp"
#include "box_statistics.hpp"
#include "device.hpp"
#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "image_io/memory_limit.hpp"
#include "option_types.hpp"
#include "pixels.hpp"
#include "progress.hpp"
#include "text_output.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* query_footer =
    R"(A box is row,col,rows,cols: its first row and column and its extents, in pixels of the image. A CSV file has one box a
line; its first line may name the columns, in any order: row,col,rows,cols or x,y,w,h. Other columns (an id) are printed
again beside the answers. Every channel is reported, with --page all of every page.
Few or small boxes are read from the image, many boxes of 8- and 16-bit images from tables of the part that they lie in.
Variances are the population's; those of integers are exact before the last division, and a constant box has variance
0. A NaN acts on the boxes that contain it. With a GPU, --algorithm, --param or --store sums come from tables of the part
that the boxes lie in, computed that way; there a NaN acts on what lies below and to the right of it, too.
With --table the input is a table file, whose layout must be told: a bare table does not say it. Variances then need
the table of squares, and are as exact as that.

Examples:
  boxsum query photo.png --box 10,20,5,7 --box 0,0,100,100
  boxsum query photo.png --boxes boxes.csv --csv > sums.csv
  boxsum query sums.npy --table padded --squares squares.npy --box 10,20,5,7 --json)";

/// What is answered, and about which image.
struct query_answers {
    view_shape image_shape;
    std::vector<box_statistics> channels;
    std::optional<dtype> table_type;  ///< of a table file
};

std::vector<double> variances_of(const image& sums, const image& squares, table_form form, std::span<const box> boxes,
                                 std::int64_t channel) {
    std::vector<double> variances(boxes.size());
    box_variances({{sums.view, form}, {squares.view, form}}, boxes, variances, channel);
    return variances;
}

box_statistics from_table(const image& sums, table_form form, std::span<const box> boxes, std::int64_t channel) {
    box_statistics a;
    a.sums.resize(boxes.size());
    a.means.resize(boxes.size());
    box_sums({sums.view, form}, boxes, a.sums, channel);
    box_means(const_any_table_view{sums.view, form}, boxes, a.means, channel);
    return a;
}

/// Whether tables were asked for: by an option that says how to compute them, or by the environment. The number of
/// threads says how many there may be, not for what.
bool wants_tables(const compute_options& how) {
    const compute_options usual;
    return chosen_device(how.device) != "cpu" || how.algorithm != usual.algorithm || !how.parameters.empty() ||
           how.store != usual.store;
}

/// Tables are worth their time where boxes overlap so much that reading all their pixels costs more, and possible where
/// they are exact and fit into memory.
bool pays_with_tables(const view_shape& s, const box_extent& extent) {
    if (s.type != dtype::u8 && s.type != dtype::u16) return false;
    constexpr double pixels_read_per_entry = 8;  // 8u on two cores: 0.3 ns a pixel, 2.5 ns for an entry of two tables
    const double entries = static_cast<double>(extent.around.rows + 1) * static_cast<double>(extent.around.cols + 1);
    if (extent.pixels < entries * pixels_read_per_entry) return false;
    const double bytes = entries * static_cast<double>(s.channels) * 2 * sizeof(std::uint64_t);
    return bytes < static_cast<double>(memory_limit() - std::min(memory_limit(), memory_in_use()));
}

query_answers from_tables(const image& source, const box& part, std::span<const box> boxes,
                          const compute_options& how) {
    image read = source;
    read.view.data = row_as<std::byte>(source.view, part.row) +
                     part.col * source.view.shape.channels * static_cast<std::int64_t>(size_of(source.view.shape.type));
    read.view.shape.rows = part.rows;
    read.view.shape.cols = part.cols;
    std::vector<box> inside(boxes.begin(), boxes.end());
    for (box& b : inside) {
        b.row -= part.row;
        b.col -= part.col;
    }
    const dtype type = source.view.shape.type;
    const bool exact_squares = type == dtype::u8 || type == dtype::u16;
    const auto squares = exact_squares ? std::optional<dtype>(dtype::u64) : std::nullopt;
    const computed_tables tables = compute_tables(read, table_layout::padded, widest_table_type(type), squares, how);
    query_answers answers{source.view.shape, {}, {}};
    for (std::int64_t c = 0; c < source.view.shape.channels; ++c) {
        box_statistics& a = answers.channels.emplace_back(from_table(tables.sums, table_layout::padded, inside, c));
        a.variances = exact_squares ? variances_of(tables.sums, *tables.squares, table_layout::padded, inside, c)
                                    : statistics_of_boxes(source, c, boxes).variances;
    }
    return answers;
}

query_answers answers_of_page(const query_options& options, const source_options& page, std::span<const box> boxes) {
    const bool tables = wants_tables(options.compute);
    const image source = read_source(options.input, page);
    const view_shape& s = source.view.shape;
    for (const box& b : boxes) check_box(b, s.rows, s.cols);
    const box_extent extent = extent_of(boxes);
    if (tables || pays_with_tables(s, extent)) return from_tables(source, extent.around, boxes, options.compute);
    query_answers answers{s, {}, {}};
    for (std::int64_t c = 0; c < s.channels; ++c) answers.channels.push_back(statistics_of_boxes(source, c, boxes));
    return answers;
}

/// Puts the boxes and answers of a page behind those of the pages before.
void append(query_answers& all, query_answers page) {
    if (all.channels.empty()) {
        all = std::move(page);
        return;
    }
    if (page.channels.size() != all.channels.size())
        throw input_error("--page all: the pages have different numbers of channels; ask for one at a time");
    for (std::size_t c = 0; c < all.channels.size(); ++c) {
        const box_statistics& more = page.channels[c];
        box_statistics& a = all.channels[c];
        a.sums.insert(a.sums.end(), more.sums.begin(), more.sums.end());
        a.means.insert(a.means.end(), more.means.begin(), more.means.end());
        a.variances.insert(a.variances.end(), more.variances.begin(), more.variances.end());
    }
}

/// Of all pages that are asked for; `list` becomes the boxes of all of them.
query_answers answers_of_image(const query_options& options, box_list& list) {
    const std::vector<source_options> pages = page_by_page(options.input, options.source);
    query_answers answers;
    box_list asked;
    for (const source_options& page : pages) {
        append(answers, answers_of_page(options, page, list.boxes));
        if (options.source.page == all_pages) asked.add_page(*page.page, list);
    }
    if (options.source.page == all_pages) list = std::move(asked);
    return answers;
}

[[noreturn]] void refuse_table(const std::string& path, const std::string& why) {
    throw input_error("--table: '" + input_name(path) + "' is no such table: " + why);
}

/// Throws unless a file can be a table of that layout: as far as its type and its first row and column tell, the latter
/// looked at in a few places only, as each of them is another page of the file.
void check_table(const image& table, table_layout layout, const std::string& path) {
    const view_shape& s = table.view.shape;
    const auto pairs = type_pairs();
    if (std::none_of(pairs.begin(), pairs.end(), [&](const type_pair& p) { return p.table == s.type; }))
        refuse_table(path, "its type is " + std::string(name_of(s.type)));
    constexpr std::int64_t places = 64;
    const auto zero_edges = [&]<typename T>(std::type_identity<T>) {
        const auto zero = [](const T* entry, std::int64_t count) {
            return std::all_of(entry, entry + count, [](T value) { return number_of(value) == 0; });
        };
        bool all = zero(row_as<T>(table.view, 0), s.cols * s.channels);
        for (std::int64_t r = 0; r < s.rows; r += std::max<std::int64_t>(1, s.rows / places))
            all = all && zero(row_as<T>(table.view, r), s.channels);
        return all;
    };
    const bool zeros = visit_type(s.type, zero_edges);
    if (layout != table_layout::inclusive && !zeros)
        refuse_table(
            path, "its first row and column are not zero, as those of " + std::string(name_of(layout)) + " tables are");
    if (layout == table_layout::inclusive && zeros)
        print_note("'" + input_name(path) + "' has zeros in its first row and column, like a padded table");
}

query_answers answers_of_files(const query_options& options, std::span<const box> boxes) {
    const table_layout layout = *options.layout;
    const table_form form = layout;
    const image sums = read_image(options.input);
    check_table(sums, layout, options.input);
    std::optional<image> squares;
    if (!options.squares.empty()) {
        squares = read_image(options.squares);
        const view_shape &s = sums.view.shape, &q = squares->view.shape;
        if (q.rows != s.rows || q.cols != s.cols || q.channels != s.channels)
            throw input_error("--squares: '" + input_name(options.squares) + "' is " + text_of(q) +
                              ", but the table of sums is " + text_of(s));
        check_table(*squares, layout, options.squares);
    }
    query_answers answers{sums.view.shape, {}, sums.view.shape.type};
    answers.image_shape.rows = form.image_extent(answers.image_shape.rows);
    answers.image_shape.cols = form.image_extent(answers.image_shape.cols);
    if (answers.image_shape.rows < 1 || answers.image_shape.cols < 1)
        throw input_error("'" + input_name(options.input) + "' is a padded table of an empty image");
    for (std::int64_t c = 0; c < sums.view.shape.channels; ++c) {
        box_statistics& a = answers.channels.emplace_back(from_table(sums, form, boxes, c));
        if (!squares) continue;
        const box_statistics of_squares = from_table(*squares, form, boxes, c);
        for (std::size_t i = 0; i < boxes.size(); ++i) {  // the mean of squares is at least the square of the mean
            constexpr double rounding = 1e-9;
            const double square = a.means[i] * a.means[i];
            if (of_squares.means[i] < square - rounding * square)
                throw input_error("--squares: '" + input_name(options.squares) + "' is no table of squares of '" +
                                  input_name(options.input) + "': box " + std::to_string(i) + " has a mean square of " +
                                  text_of(of_squares.means[i]) + " and a mean of " + text_of(a.means[i]));
        }
        a.variances = variances_of(sums, *squares, form, boxes, c);
    }
    return answers;
}

std::string text_of_sum(const scalar& value) {
    return is_floating(value.type) ? text_of(value.f) : value.to_string();
}

nlohmann::ordered_json json_of_sum(const scalar& value) {
    if (is_floating(value.type)) return value.f;
    if (is_signed(value.type)) return value.s;
    return value.u;
}

exit_code print_as_json(const query_options& options, const box_list& list, const query_answers& answers) {
    nlohmann::ordered_json report{{"input", {{"path", options.input}}}};
    report["input"].update(json_of(answers.image_shape));
    if (answers.table_type) {
        report["input"].erase("type");  // the image's is not known
        report["table"] = {{"layout", name_of(*options.layout)}, {"type", name_of(*answers.table_type)}};
    }
    nlohmann::ordered_json entries = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < list.boxes.size(); ++i)
        for (std::size_t c = 0; c < answers.channels.size(); ++c) {
            const box_statistics& a = answers.channels[c];
            nlohmann::ordered_json entry = list.json_of(i, c);
            entry["sum"] = json_of_sum(a.sums[i]);
            entry["mean"] = a.means[i];
            entry["variance"] = nullptr;  // not known without squares
            if (!a.variances.empty()) entry["variance"] = a.variances[i];
            entries.push_back(std::move(entry));
        }
    report["boxes"] = std::move(entries);
    return print_json(report);
}

std::vector<std::vector<std::string>> as_cells(const box_list& list, const query_answers& answers,
                                               const char* no_value) {
    std::vector<std::vector<std::string>> cells{list.headings()};
    for (const char* name : {"sum", "mean", "variance"}) cells.front().emplace_back(name);
    for (std::size_t i = 0; i < list.boxes.size(); ++i)
        for (std::size_t c = 0; c < answers.channels.size(); ++c) {
            const box_statistics& a = answers.channels[c];
            std::vector<std::string>& row = cells.emplace_back(list.cells_of(i, c));
            row.push_back(text_of_sum(a.sums[i]));
            row.push_back(text_of(a.means[i]));
            row.push_back(a.variances.empty() ? no_value : text_of(a.variances[i]));
        }
    return cells;
}

std::string as_csv(const std::vector<std::vector<std::string>>& cells) {
    std::string text;
    for (const auto& row : cells)
        for (std::size_t i = 0; i < row.size(); ++i)
            text.append(csv_cell(row[i])).append(i + 1 < row.size() ? "," : "\n");
    return text;
}

}  // namespace

void setup_query(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<query_options>();
    CLI::App* command = app.add_subcommand("query", "Sum, mean and variance of boxes");
    command->add_option("IN", options->input, "image file, or with --table a table file; - is standard input")
        ->required();
    add_boxes(*command, options->boxes);
    command->add_option("--boxes", options->boxes_file, "CSV file of boxes, or -")->check(some_text);
    CLI::Option* table =
        add_layout(*command, "--table", options->layout, "IN is a table of this layout: padded, inclusive, exclusive");
    command->add_option("--squares", options->squares, "table of squares, for variances (with --table)")
        ->check(some_text);
    add_source_options(*command, options->source);
    add_compute_options(*command, options->compute);
    // A table file is there already: how to compute one, and of what, would be ignored.
    for (const char* how : {"--device", "--algorithm", "--param", "--threads", "--store", "--page", "--band",
                            "--region", "--grey", "--luma"})
        table->excludes(command->get_option(how));
    CLI::Option* json = command->add_flag("--json", options->json, "results as JSON");
    command->add_flag("--csv", options->csv, "results as CSV")->excludes(json);
    command->footer(query_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_query(*options); }; });
}

exit_code run_query(const query_options& options) {
    if (options.boxes.empty() && options.boxes_file.empty())
        throw usage_error("--box or --boxes: give at least one box");
    if (!options.layout && !options.squares.empty())
        throw usage_error("--squares: needs --table, the layout of the table files");
    if ((options.input == "-") + (options.boxes_file == "-") + (options.squares == "-") > 1)
        throw usage_error("standard input can be only one of the inputs");

    box_list list;
    list.boxes = options.boxes;
    if (!options.boxes_file.empty()) read_boxes(options.boxes_file, list);

    progress busy;
    busy.phase("reading " + input_name(options.input));
    const query_answers answers =
        options.layout ? answers_of_files(options, list.boxes) : answers_of_image(options, list);
    busy.stop();
    if (options.json) return print_as_json(options, list, answers);
    const auto cells = as_cells(list, answers, options.csv ? "" : "-");
    return print_output(options.csv ? as_csv(cells) : aligned(cells));
}

}  // namespace boxsum::cli
