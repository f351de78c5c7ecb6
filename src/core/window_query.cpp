#include "core/window_query.hpp"

#include "core/table_types.hpp"
#include "core/validate.hpp"
#include "core/view_checks.hpp"

#include <boxsum/error.hpp>

#include <string>
#include <string_view>

namespace boxsum {
namespace {

struct named_table {
    std::string_view name;
    const const_any_table_view& view;
};

void check_table(const named_table& table) {
    check_read(table.name, table.view.entries);
    check_form(table.name, table.view.form, table.view.entries.shape);
    check_table_type(table.name, table.view.entries.shape.type);
    if (table.view.form.layout == table_layout::exclusive)
        throw unsupported(std::string(table.name) +
                          ": an exclusive table lacks the sums up to the last row and column");
}

void check_extent(std::string_view name, std::int64_t value) {
    if (value < 0)
        throw invalid_argument("window: " + std::string(name) + " is " + std::to_string(value) +
                               ", must not be negative");
}

/// The result and the options, after the tables.
void check_rest(const named_table& table, std::string_view name, const any_view& out,
                const window_query_options& options) {
    check_written(name, out);
    const view_shape &t = table.view.entries.shape, &o = out.shape;
    const auto same = [&](std::string_view what, std::int64_t got, std::int64_t wanted) {
        if (got != wanted)
            throw invalid_argument(std::string(name) + ": " + std::string(what) + " is " + std::to_string(got) +
                                   ", but that of the image is " + std::to_string(wanted));
    };
    same("rows", o.rows, table.view.form.image_extent(t.rows));
    same("cols", o.cols, table.view.form.image_extent(t.cols));
    same("channels", o.channels, t.channels);
    same("planes", o.planes, t.planes);
    if (overlap(out, table.view.entries))
        throw invalid_argument(std::string(name) + ": overlaps " + std::string(table.name));
    check_extent("above", options.window.above);
    check_extent("below", options.window.below);
    check_extent("left", options.window.left);
    check_extent("right", options.window.right);
    check_threads(options.threads);
}

}  // namespace

window_query checked_window_sums(const const_any_table_view& table, const any_view& sums,
                                 const window_query_options& options) {
    check_table({"table", table});
    check_rest({"table", table}, "sums", sums, options);
    if (sums.shape.type != table.entries.shape.type)
        throw invalid_argument("sums: type is " + std::string(name_of(sums.shape.type)) +
                               ", but that of the table is " + std::string(name_of(table.entries.shape.type)));
    return {window_result::sums, table, {}, sums, options.window};
}

window_query checked_window_means(const const_any_table_view& table, const any_view& means,
                                  const window_query_options& options) {
    check_table({"table", table});
    check_rest({"table", table}, "means", means, options);
    check_real_type("means", means.shape.type);
    return {window_result::means, table, {}, means, options.window};
}

window_query checked_window_variances(const moment_views& tables, const any_view& variances,
                                      const window_query_options& options) {
    check_no_counts("", tables, "a window of a table");
    check_table({"sums", tables.sums});
    check_table({"squares", tables.squares});
    if (tables.squares.form != tables.sums.form)
        throw invalid_argument("squares: its form is " + text_of(tables.squares.form) + ", but that of sums is " +
                               text_of(tables.sums.form));
    check_rest({"sums", tables.sums}, "variances", variances, options);
    check_rest({"squares", tables.squares}, "variances", variances, options);
    check_real_type("variances", variances.shape.type);
    return {window_result::variances, tables.sums, tables.squares, variances, options.window};
}

}  // namespace boxsum
