#include "core/validate.hpp"

#include "core/view_checks.hpp"
#include "core/visit_types.hpp"

#include <boxsum/error.hpp>

#include <cmath>
#include <string>

namespace boxsum {
namespace {

std::string extents(const view_shape& s) {
    return std::to_string(s.rows) + " x " + std::to_string(s.cols);
}

void require_same(std::string_view argument, std::string_view what, std::int64_t value, std::string_view other,
                  std::int64_t expected) {
    if (value != expected)
        throw invalid_argument(std::string(argument) + ": " + std::string(what) + " is " + std::to_string(value) +
                               ", but that of " + std::string(other) + " is " + std::to_string(expected));
}

void check_table_shape(std::string_view argument, const view_shape& image, const view_shape& table,
                       const table_form& form) {
    require_same(argument, "planes", table.planes, "image", image.planes);
    require_same(argument, "channels", table.channels, "image", image.channels);
    const std::int64_t rows = form.table_extent(image.rows), cols = form.table_extent(image.cols);
    if (table.rows != rows || table.cols != cols)
        throw invalid_argument(std::string(argument) + ": extents are " + extents(table) + ", but the " +
                               std::string(name_of(form.layout)) + " table of an image of " + extents(image) + " has " +
                               std::to_string(rows) + " x " + std::to_string(cols));
}

void check_carry_shape(const std::string& argument, const view_shape& s, const view_shape& table, std::int64_t rows,
                       std::int64_t cols, std::int64_t or_cols) {
    checked_reach(argument, s, access::read);
    if (s.type != table.type)
        throw invalid_argument(argument + ": type is " + std::string(name_of(s.type)) + ", but that of its table is " +
                               std::string(name_of(table.type)));
    require_same(argument, "planes", s.planes, "table", table.planes);
    require_same(argument, "channels", s.channels, "table", table.channels);
    if (s.rows != rows || (s.cols != cols && s.cols != or_cols))
        throw invalid_argument(argument + ": extents are " + extents(s) + ", but must be " + std::to_string(rows) +
                               " x " + std::to_string(cols) +
                               (or_cols == cols ? "" : ", or without corner 1 x " + std::to_string(or_cols)));
}

}  // namespace

carry_shapes carry_shapes_of(const table_carries& carries) {
    carry_shapes shapes;
    if (carries.above.data != nullptr) shapes.above = carries.above.shape;
    if (carries.left.data != nullptr) shapes.left = carries.left.shape;
    return shapes;
}

void set_carries(problem& p, std::string_view argument, const carry_shapes& shapes, bool squares) {
    if (squares && !p.squares && shapes)
        throw invalid_argument(std::string(argument) + ": given, but there is no table of squares");
    if (!shapes) return;
    const view_shape& table = squares ? *p.squares : p.table;
    const std::string name(argument);
    if (shapes.above) check_carry_shape(name + ".above", *shapes.above, table, 1, p.image.cols + 1, p.image.cols);
    if (shapes.left) check_carry_shape(name + ".left", *shapes.left, table, p.image.rows, 1, 1);
    carry_shapes& taken = squares ? p.squares_carries : p.carries;
    if (shapes.above) taken.above = normal_shape(*shapes.above);
    if (shapes.left) taken.left = normal_shape(*shapes.left);
}

void set_carries(problem& p, std::string_view argument, const table_carries& carries, bool squares) {
    set_carries(p, argument, carry_shapes_of(carries), squares);
    const std::string name(argument);
    if (carries.above.data != nullptr) check_read(name + ".above", carries.above);
    if (carries.left.data != nullptr) check_read(name + ".left", carries.left);
}

void check_carries_apart(std::string_view argument, const table_carries& carries, std::string_view output,
                         const any_table_view& table, bool own) {
    const bool has_border = own && table.form.border() > 0;
    const any_view& entries = table.entries;
    const view_shape& s = entries.shape;
    const auto refuse = [&](const char* which) {
        throw invalid_argument(std::string(argument) + "." + which + ": overlaps " + std::string(output));
    };
    const auto same_planes = [&](const view_shape& carry) {
        return s.planes == 1 || carry.plane_stride == s.plane_stride;
    };
    if (carries.above.data != nullptr && overlap(carries.above, entries) &&
        !(has_border && carries.above.data == entries.data && same_planes(carries.above.shape) &&
          carries.above.shape.pixel_stride() == s.pixel_stride()))
        refuse("above");
    if (carries.left.data != nullptr && overlap(carries.left, entries) &&
        !(has_border && carries.left.data == static_cast<const std::byte*>(entries.data) + s.row_stride &&
          carries.left.shape.row_stride == s.row_stride && same_planes(carries.left.shape)))
        refuse("left");
}

bool same_place(const const_any_view& a, const const_any_view& b) {
    return a.data == b.data && same_place(a.shape, b.shape);
}

bool same_place(const view_shape& a, const view_shape& b) {
    return size_of(a.type) == size_of(b.type) && a.row_stride == b.row_stride && a.pixel_stride() == b.pixel_stride() &&
           (a.planes == 1 || a.plane_stride == b.plane_stride) && a.rows == b.rows && a.cols == b.cols;
}

namespace {

/// What an image of this type can have, for the text of a refusal: "32u, 64u"; with squares "32u64u, 64u64u".
std::string tables_of(dtype image, bool squares) {
    std::string known;
    const auto add = [&](const std::string& name) { known.append(known.empty() ? "" : ", ").append(name); };
    if (squares) {
        for (const squares_triple& t : squares_triples())
            if (t.input == image) add(name_of(type_pair{t.table, t.squares}));
    } else {
        for (const type_pair& t : type_pairs())
            if (t.input == image) add(std::string(name_of(t.table)));
    }
    const std::string whose = "an image of " + std::string(name_of(image));
    if (known.empty()) return whose + (squares ? " has no tables with squares" : " has no table");
    return whose + " can have " + (squares ? "sums and squares of " : "sums of ") + known;
}

/// normal_shape(), without copying one more.
void set_normal(view_shape& to, const view_shape& shape) {
    to = shape;
    if (shape.col_stride != packed_pixels && has_packed_pixels(shape)) to.col_stride = packed_pixels;
}

/// Types and extents of shapes that are right by themselves.
problem problem_of_checked(const view_shape& image, const view_shape& sums, const std::optional<view_shape>& squares,
                           const table_form& form) {
    problem p;
    set_normal(p.image, image);
    set_normal(p.table, sums);
    if (squares) set_normal(p.squares.emplace(), *squares);
    p.form = form;
    if (squares ? !contains(all_squares_triples{}, p.triple()) : !contains(all_type_pairs{}, p.types()))
        throw unsupported((squares ? "type triple " + name_of(p.triple()) : "type pair " + name_of(p.types())) +
                          " is not in the closed list: " + tables_of(image.type, squares.has_value()));
    check_table_shape("sums", image, sums, form);
    check_form("sums", form, sums);
    if (squares) check_table_shape("squares", image, *squares, form);
    return p;
}

}  // namespace

problem make_problem(const view_shape& image, const view_shape& sums, const std::optional<view_shape>& squares,
                     const table_form& form) {
    check_layout("sums", form.layout);
    checked_reach("image", image, access::read);
    checked_reach("sums", sums, access::write);
    if (squares) checked_reach("squares", *squares, access::write);
    return problem_of_checked(image, sums, squares, form);
}

problem make_problem(const sat_inputs& inputs, const sat_outputs& outputs) {
    const const_any_view& image = inputs.image;
    const any_table_view& sums = outputs.sums;
    const any_table_view& squares = outputs.squares;
    const bool with_squares = squares.entries.data != nullptr;
    const byte_reach image_reach = check_read("image", image);
    const byte_reach sums_reach = check_written("sums", sums.entries);
    if (with_squares) check_written("squares", squares.entries);
    check_layout("sums", sums.form.layout);
    if (with_squares) {
        check_layout("squares", squares.form.layout);
        if (squares.form != sums.form)
            throw invalid_argument("squares: its form is " + text_of(squares.form) + ", but that of sums is " +
                                   text_of(sums.form));
    }

    problem p =
        problem_of_checked(image.shape, sums.entries.shape,
                           with_squares ? std::optional<view_shape>(squares.entries.shape) : std::nullopt, sums.form);
    const auto* const pixels = static_cast<const std::byte*>(image.data);
    const auto* const entries = static_cast<const std::byte*>(sums.entries.data);
    const bool apart = pixels + image_reach.end <= entries + sums_reach.first ||
                       entries + sums_reach.end <= pixels + image_reach.first;
    p.in_place = !apart && sums.form.border() == 0 && same_place(image, sums.entries);
    if (!apart && !p.in_place && overlap(image, sums.entries))
        throw invalid_argument(
            "sums: overlaps image (in place needs the same pointer, element size and strides, and layout inclusive)");
    if (with_squares && overlap(image, squares.entries)) throw invalid_argument("squares: overlaps image");
    if (with_squares && overlap(sums.entries, squares.entries)) throw invalid_argument("squares: overlaps sums");

    const auto given = [](const table_carries& c) { return c.above.data != nullptr || c.left.data != nullptr; };
    if (!given(inputs.carries) && !given(inputs.squares_carries)) return p;
    check_plain_form("sums", sums.form, "a part of a larger table");
    set_carries(p, "carries", inputs.carries);
    set_carries(p, "squares_carries", inputs.squares_carries, true);
    check_carries_apart("carries", inputs.carries, "sums", sums, true);
    check_carries_apart("squares_carries", inputs.squares_carries, "sums", sums, false);
    if (with_squares) {
        check_carries_apart("carries", inputs.carries, "squares", squares, false);
        check_carries_apart("squares_carries", inputs.squares_carries, "squares", squares, true);
    }
    return p;
}

refused_pixels::refused_pixels(dtype image, nan_mode of_nan, const std::optional<double>& value)
    : nan(of_nan), nodata(value) {
    if (!nodata || !std::isnan(*nodata) || !is_floating(image)) return;
    nan = nan_mode::omit;
    nodata.reset();
}

sat_shapes shapes_of(const sat_inputs& inputs, const sat_outputs& outputs) {
    const any_view& sums = outputs.sums.entries;
    sat_shapes shapes{inputs.image.shape, sums.shape};
    shapes.form = outputs.sums.form;
    shapes.in_place = inputs.image.data != nullptr && same_place(inputs.image, sums);
    shapes.carries = carry_shapes_of(inputs.carries);
    shapes.squares_carries = carry_shapes_of(inputs.squares_carries);
    if (is_given(inputs.mask)) shapes.mask = inputs.mask.shape;
    if (is_given(inputs.weights)) shapes.weights = inputs.weights.shape;
    const refused_pixels refused(inputs.image.shape.type, inputs.nan, inputs.nodata);
    shapes.nan = refused.nan;
    shapes.nodata = refused.nodata;
    const auto shape_of = [&](const char* argument, const any_table_view& table) -> std::optional<view_shape> {
        if (table.entries.data == nullptr) return std::nullopt;
        if (table.form != outputs.sums.form)
            throw invalid_argument(std::string(argument) + ": its form is " + text_of(table.form) +
                                   ", but that of sums is " + text_of(outputs.sums.form));
        return table.entries.shape;
    };
    shapes.squares = shape_of("squares", outputs.squares);
    shapes.counts = shape_of("counts", outputs.counts);
    return shapes;
}

void check_all_count(const sat_shapes& shapes, std::string_view who) {
    const char* argument = shapes.mask                         ? "mask"
                           : shapes.weights                    ? "weights"
                           : shapes.nan != nan_mode::propagate ? "nan, or a nodata that is NaN"
                           : shapes.nodata                     ? "nodata"
                           : shapes.counts                     ? "counts"
                                                               : nullptr;
    if (argument == nullptr) return;
    throw unsupported(std::string(argument) + ": given, but " + std::string(who) + " counts every pixel");
}

void check_no_counts(std::string_view argument, const moment_views& tables, std::string_view who) {
    if (tables.counts.entries.data == nullptr && tables.min_count == 0) return;
    throw unsupported(std::string(argument) + (tables.counts.entries.data != nullptr ? "counts" : "min_count") +
                      ": given, but " + std::string(who) + " counts every pixel");
}

buffers memory_of(const sat_inputs& inputs, const sat_outputs& outputs) {
    const auto data_of = [](const table_carries& c) -> carry_data { return {c.above.data, c.left.data}; };
    buffers memory;
    memory.image = inputs.image.data;
    memory.table = outputs.sums.entries.data;
    memory.squares = outputs.squares.entries.data;
    memory.carries = data_of(inputs.carries);
    memory.squares_carries = data_of(inputs.squares_carries);
    return memory;
}

}  // namespace boxsum
