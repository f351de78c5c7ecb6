#include "core/validate.hpp"

#include "core/view_checks.hpp"
#include "core/visit_types.hpp"

#include <boxsum/error.hpp>
#include <boxsum/table.hpp>

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
                       table_layout layout) {
    require_same(argument, "planes", table.planes, "image", image.planes);
    require_same(argument, "channels", table.channels, "image", image.channels);
    if (table.rows != table_rows(image.rows, layout) || table.cols != table_cols(image.cols, layout))
        throw invalid_argument(std::string(argument) + ": extents are " + extents(table) + ", but the " +
                               std::string(name_of(layout)) + " table of an image of " + extents(image) + " has " +
                               std::to_string(table_rows(image.rows, layout)) + " x " +
                               std::to_string(table_cols(image.cols, layout)));
}

void check_carry_shape(const std::string& argument, const view_shape& s, const view_shape& table, std::int64_t rows,
                       std::int64_t cols, std::int64_t or_cols) {
    checked_span_bytes(argument, s);
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
    (squares ? p.squares_carries : p.carries) = shapes;
}

void set_carries(problem& p, std::string_view argument, const table_carries& carries, bool squares) {
    set_carries(p, argument, carry_shapes_of(carries), squares);
    const std::string name(argument);
    if (carries.above.data != nullptr) check_view(name + ".above", carries.above);
    if (carries.left.data != nullptr) check_view(name + ".left", carries.left);
}

void check_carries_apart(std::string_view argument, const table_carries& carries, std::string_view output,
                         const any_view& table, table_layout layout, bool own) {
    const bool has_border = own && layout != table_layout::inclusive;
    const view_shape& s = table.shape;
    const auto refuse = [&](const char* which) {
        throw invalid_argument(std::string(argument) + "." + which + ": overlaps " + std::string(output));
    };
    const auto same_planes = [&](const view_shape& carry) {
        return s.planes == 1 || carry.plane_stride == s.plane_stride;
    };
    if (carries.above.data != nullptr && overlap(carries.above, table) &&
        !(has_border && carries.above.data == table.data && same_planes(carries.above.shape)))
        refuse("above");
    if (carries.left.data != nullptr && overlap(carries.left, table) &&
        !(has_border && carries.left.data == static_cast<const std::byte*>(table.data) + s.row_stride &&
          carries.left.shape.row_stride == s.row_stride && same_planes(carries.left.shape)))
        refuse("left");
}

bool same_place(const const_any_view& a, const const_any_view& b) {
    return a.data == b.data && same_place(a.shape, b.shape);
}

bool same_place(const view_shape& a, const view_shape& b) {
    return size_of(a.type) == size_of(b.type) && a.row_stride == b.row_stride &&
           (a.planes == 1 || a.plane_stride == b.plane_stride) && a.rows == b.rows && a.cols == b.cols;
}

problem make_problem(const view_shape& image, const view_shape& table, const std::optional<view_shape>& squares,
                     table_layout layout) {
    check_layout(layout);
    checked_span_bytes("image", image);
    checked_span_bytes("table", table);
    if (squares) checked_span_bytes("squares", *squares);

    problem p;
    p.image = image;
    p.table = table;
    p.squares = squares;
    p.layout = layout;
    if (squares ? !contains(all_squares_triples{}, p.triple()) : !contains(all_type_pairs{}, p.types()))
        throw unsupported((squares ? "type triple " + name_of(p.triple()) : "type pair " + name_of(p.types())) +
                          " is not in the closed list (image " + std::string(name_of(image.type)) + ", table " +
                          std::string(name_of(table.type)) +
                          (squares ? ", squares " + std::string(name_of(squares->type)) : "") + ")");
    check_table_shape("table", image, table, layout);
    if (squares) check_table_shape("squares", image, *squares, layout);
    return p;
}

problem make_problem(const const_any_view& image, const any_view& table, const std::optional<any_view>& squares,
                     table_layout layout) {
    check_view("image", image);
    check_view("table", table);
    if (squares) check_view("squares", *squares);

    problem p = make_problem(image.shape, table.shape,
                             squares ? std::optional<view_shape>(squares->shape) : std::nullopt, layout);
    p.in_place = layout == table_layout::inclusive && same_place(image, table);
    if (!p.in_place && overlap(image, table))
        throw invalid_argument(
            "table: overlaps image (in place needs the same pointer, element size and strides, and layout inclusive)");
    if (squares && overlap(image, *squares)) throw invalid_argument("squares: overlaps image");
    if (squares && overlap(table, *squares)) throw invalid_argument("squares: overlaps table");
    return p;
}

}  // namespace boxsum
