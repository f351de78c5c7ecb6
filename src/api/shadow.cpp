#include "core/exhausted_memory.hpp"
#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "cpu/host.hpp"
#include "cpu/team.hpp"

#include <boxsum/error.hpp>
#include <boxsum/shadow.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace boxsum {
namespace {

/// A side of a rectangle: up to three runs of whole pixels with one weight each, the first and the last for pixels of
/// which it has a part.
struct side {
    int runs = 0;
    std::array<std::int64_t, 4> edge{};  ///< run i is the pixels edge[i] .. edge[i + 1] - 1
    std::array<double, 3> weight{};
    double length = 0;

    side(double first, double extent, std::int64_t pixels) {
        const double low = std::max(first, 0.0), high = std::min(first + extent, static_cast<double>(pixels));
        if (!(low < high)) return;
        length = high - low;
        const double whole_from = std::ceil(low), whole_to = std::floor(high);
        edge[0] = static_cast<std::int64_t>(std::floor(low));
        if (whole_from > whole_to) {  // within one pixel
            add(edge[0] + 1, length);
            return;
        }
        if (whole_from > low) add(static_cast<std::int64_t>(whole_from), whole_from - low);
        if (whole_to > whole_from) add(static_cast<std::int64_t>(whole_to), 1);
        if (high > whole_to) add(static_cast<std::int64_t>(whole_to) + 1, high - whole_to);
    }

  private:
    void add(std::int64_t end, double w) {
        weight[static_cast<std::size_t>(runs)] = w;
        edge[static_cast<std::size_t>(++runs)] = end;
    }
};

/// The sum over a rectangle of what a table of T has summed.
template <typename T>
double weighted_sum(const const_any_table_view& table, const side& rows, const side& cols) {
    const view_shape& s = table.entries.shape;
    const std::int64_t border = table.form.border();
    const auto entry = [&](std::int64_t r, std::int64_t c) {
        r += border - 1;
        c += border - 1;
        if (r < 0 || c < 0) return T{};
        return *reinterpret_cast<const T*>(static_cast<const std::byte*>(table.entries.data) + r * s.row_stride +
                                           c * s.pixel_stride());
    };
    using word = std::conditional_t<std::is_floating_point_v<T>, T,
                                    std::make_unsigned_t<std::conditional_t<std::is_floating_point_v<T>, int, T>>>;
    const auto between = [](T a, T b) { return static_cast<T>(static_cast<word>(a) - static_cast<word>(b)); };
    std::array<T, 4> above{};
    double sum = 0;
    for (int i = 0; i <= rows.runs; ++i) {
        std::array<T, 4> row{};
        for (int j = 0; j <= cols.runs; ++j)
            row[static_cast<std::size_t>(j)] =
                entry(rows.edge[static_cast<std::size_t>(i)], cols.edge[static_cast<std::size_t>(j)]);
        for (int j = 0; i > 0 && j < cols.runs; ++j) {
            const auto left = static_cast<std::size_t>(j), right = left + 1;
            sum += rows.weight[static_cast<std::size_t>(i - 1)] * cols.weight[left] *
                   static_cast<double>(between(between(row[right], above[right]), between(row[left], above[left])));
        }
        above = row;
    }
    return sum;
}

using sum_function = double (*)(const const_any_table_view&, const side&, const side&);
using table_types = type_list<u32, s32, u64, s64, f32, f64>;

sum_function sums_of(std::string_view argument, const const_any_table_view& table) {
    check_read(argument, table.entries);
    check_form(argument, table.form, table.entries.shape);
    if (table.form.layout == table_layout::exclusive)
        throw unsupported(std::string(argument) + ": an exclusive table lacks the sums up to the last row and column");
    if (table.entries.shape.planes != 1 || table.entries.shape.channels != 1)
        throw invalid_argument(std::string(argument) + ": has " + std::to_string(table.entries.shape.planes) +
                               " planes of " + std::to_string(table.entries.shape.channels) +
                               " channels, a shadow map has one of one");
    sum_function found = nullptr;
    visit_type(table_types{}, table.entries.shape.type, [&]<typename T>() { found = weighted_sum<T>; });
    if (found == nullptr)
        throw invalid_argument(std::string(argument) + ": type " + std::string(name_of(table.entries.shape.type)) +
                               " is no table type");
    return found;
}

void check_real(std::string_view argument, const view_shape& s, std::int64_t channels, const view_shape& receiver) {
    const auto same = [&](const char* what, std::int64_t value, std::int64_t wanted) {
        if (value != wanted)
            throw invalid_argument(std::string(argument) + ": " + what + " is " + std::to_string(value) + ", must be " +
                                   std::to_string(wanted));
    };
    if (s.type != dtype::f32 && s.type != dtype::f64)
        throw invalid_argument(std::string(argument) + ": type is " + std::string(name_of(s.type)) +
                               ", must be 32f or 64f");
    same("channels", s.channels, channels);
    same("planes", s.planes, 1);
    same("rows", s.rows, receiver.rows);
    same("cols", s.cols, receiver.cols);
}

double real_at(const const_any_view& view, std::int64_t r, std::int64_t c, int k) {
    const auto* const at = static_cast<const std::byte*>(view.data) + r * view.shape.row_stride +
                           c * view.shape.pixel_stride() + k * static_cast<std::int64_t>(size_of(view.shape.type));
    return view.shape.type == dtype::f32 ? static_cast<double>(*reinterpret_cast<const float*>(at))
                                         : *reinterpret_cast<const double*>(at);
}

struct shadows {
    const shadow_inputs& inputs;
    const any_view& out;
    const shadow_options& options;
    sum_function sums, squares;
    std::int64_t rows, cols;  ///< of the map
    double offset;

    double visibility(std::int64_t r, std::int64_t c) const {
        const const_any_view& box = inputs.rectangle;
        const side vertical(real_at(box, r, c, 0), real_at(box, r, c, 2), rows),
            horizontal(real_at(box, r, c, 1), real_at(box, r, c, 3), cols);
        if (vertical.runs == 0 || horizontal.runs == 0) return 1;
        const double area = vertical.length * horizontal.length;
        const double mean = sums(inputs.moments.sums, vertical, horizontal) / area;
        const double square = squares(inputs.moments.squares, vertical, horizontal) / area;
        const double behind = real_at(inputs.receiver, r, c, 0) - offset - mean;
        if (behind <= 0) return 1;
        const double variance = std::max(square - mean * mean, options.min_variance);
        const double lit = variance > 0 ? variance / (variance + behind * behind) : 0;
        return std::clamp((lit - options.bleeding) / (1 - options.bleeding), 0.0, 1.0);
    }

    void row(std::int64_t r) const {
        auto* const to = static_cast<std::byte*>(out.data) + r * out.shape.row_stride;
        for (std::int64_t c = 0; c < out.shape.cols; ++c) {
            const double v = visibility(r, c);
            if (out.shape.type == dtype::f32)
                *reinterpret_cast<float*>(to + c * out.shape.pixel_stride()) = static_cast<float>(v);
            else
                *reinterpret_cast<double*>(to + c * out.shape.pixel_stride()) = v;
        }
    }
};

}  // namespace

void variance_shadows(const shadow_inputs& inputs, const shadow_outputs& outputs, const shadow_options& options) try {
    const const_any_table_view &of_sums = inputs.moments.sums, &of_squares = inputs.moments.squares;
    const sum_function sums = sums_of("moments.sums", of_sums), squares = sums_of("moments.squares", of_squares);
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
        throw invalid_argument("min_variance: is " + std::to_string(options.min_variance) +
                               ", must be finite, not negative");
    if (!(options.bleeding >= 0 && options.bleeding < 1))
        throw invalid_argument("bleeding: is " + std::to_string(options.bleeding) + ", must be 0 or more, below 1");
    if (options.threads < 0)
        throw invalid_argument("threads: is " + std::to_string(options.threads) + ", must be 0 (automatic) or more");
    double offset = 0;
    visit_type(table_types{}, s.type,
               [&]<typename T>() { offset = static_cast<double>(static_cast<T>(of_sums.form.offset_of(0, 0, 1))); });
    shadows all{inputs,
                outputs.visibility,
                options,
                sums,
                squares,
                of_sums.form.image_extent(s.rows),
                of_sums.form.image_extent(s.cols),
                offset};
    const int threads = static_cast<int>(std::min<std::int64_t>(
        cpu::choose_threads(receiver.rows * receiver.cols * 256, options.threads), receiver.rows));
    cpu::run_team(
        threads,
        [](void* context, int thread, int team) {
            const shadows& one = *static_cast<const shadows*>(context);
            const std::int64_t rows = one.out.shape.rows;
            for (std::int64_t r = rows * thread / team; r < rows * (thread + 1) / team; ++r) one.row(r);
        },
        &all);
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
