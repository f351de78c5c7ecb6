#include "core/shadow_job.hpp"

#include "core/table_types.hpp"
#include "core/validate.hpp"
#include "core/view_checks.hpp"

#include <boxsum/error.hpp>

#include <cmath>
#include <string>
#include <string_view>

namespace boxsum {
namespace {

void check_table(std::string_view argument, const const_any_table_view& table) {
    check_read(argument, table.entries);
    check_form(argument, table.form, table.entries.shape);
    if (table.form.layout == table_layout::exclusive)
        throw unsupported(std::string(argument) + ": an exclusive table lacks the sums up to the last row and column");
    if (table.entries.shape.planes != 1 || table.entries.shape.channels != 1)
        throw invalid_argument(std::string(argument) + ": has " + std::to_string(table.entries.shape.planes) +
                               " planes of " + std::to_string(table.entries.shape.channels) +
                               " channels, a shadow map has one of one");
    check_table_type(argument, table.entries.shape.type);
}

void check_real(std::string_view argument, const view_shape& s, std::int64_t channels, const view_shape& receiver) {
    const auto same = [&](const char* what, std::int64_t value, std::int64_t wanted) {
        if (value != wanted)
            throw invalid_argument(std::string(argument) + ": " + what + " is " + std::to_string(value) + ", must be " +
                                   std::to_string(wanted));
    };
    if (s.type != dtype::f32 && s.type != dtype::f64)
        throw unsupported(std::string(argument) + ": type is " + std::string(name_of(s.type)) + ", must be 32f or 64f");
    same("channels", s.channels, channels);
    same("planes", s.planes, 1);
    same("rows", s.rows, receiver.rows);
    same("cols", s.cols, receiver.cols);
}

}  // namespace

shadow_job checked_shadows(const shadow_inputs& inputs, const shadow_outputs& outputs, const shadow_options& options) {
    const const_any_table_view &of_sums = inputs.moments.sums, &of_squares = inputs.moments.squares;
    check_no_counts("moments.", inputs.moments, "a shadow");
    check_table("moments.sums", of_sums);
    check_table("moments.squares", of_squares);
    const view_shape &s = of_sums.entries.shape, &q = of_squares.entries.shape;
    if (of_squares.form != of_sums.form)
        throw invalid_argument("moments.squares: its form is " + text_of(of_squares.form) + ", but that of sums is " +
                               text_of(of_sums.form));
    if (s.rows != q.rows || s.cols != q.cols)
        throw invalid_argument("moments.squares: extents are " + std::to_string(q.rows) + " x " +
                               std::to_string(q.cols) + ", but those of sums are " + std::to_string(s.rows) + " x " +
                               std::to_string(s.cols));
    const view_shape& receiver = inputs.receiver.shape;
    check_read("receiver", inputs.receiver);
    check_real("receiver", receiver, 1, receiver);
    check_read("rectangle", inputs.rectangle);
    check_real("rectangle", inputs.rectangle.shape, 4, receiver);
    check_written("visibility", outputs.visibility);
    check_real("visibility", outputs.visibility.shape, 1, receiver);
    const auto apart = [&](const char* other, const const_any_view& view) {
        if (overlap(outputs.visibility, view)) throw invalid_argument(std::string("visibility: overlaps ") + other);
    };
    apart("receiver", inputs.receiver);
    apart("rectangle", inputs.rectangle);
    apart("moments.sums", of_sums.entries);
    apart("moments.squares", of_squares.entries);
    if (!(options.min_variance >= 0) || !std::isfinite(options.min_variance))
        throw invalid_argument("min_variance: is " + text_of(options.min_variance) + ", must be finite, not negative");
    if (!(options.bleeding >= 0 && options.bleeding < 1))
        throw invalid_argument("bleeding: is " + text_of(options.bleeding) + ", must be 0 or more, below 1");
    check_threads(options.threads);
    double offset = 0;
    visit_type(table_types{}, s.type,
               [&]<typename T>() { offset = static_cast<double>(static_cast<T>(of_sums.form.offset_of(0, 0, 1))); });
    return {of_sums.form.image_extent(s.rows), of_sums.form.image_extent(s.cols), offset};
}

}  // namespace boxsum
