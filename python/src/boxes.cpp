#include "devices.hpp"
#include "module.hpp"
#include "tables.hpp"

#include <boxsum/box.hpp>
#include <boxsum/cuda/box.hpp>
#include <boxsum/error.hpp>

#include <span>
#include <type_traits>

namespace boxsum::python {
namespace {

/// The four numbers of a box in the order of a format, as row, column, rows and columns.
std::array<std::int64_t, 4> in_order(std::string_view format, const std::int64_t* four) {
    // Hostile numbers wrap and are refused as what they then are: no box inside an image.
    const auto less = [](std::int64_t x, std::int64_t y) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y));
    };
    const auto [a, b, c, d] = std::array<std::int64_t, 4>{four[0], four[1], four[2], four[3]};
    if (format == "rchw") return {a, b, c, d};
    if (format == "yxyx") return {a, b, less(c, a), less(d, b)};
    if (format == "xyxy") return {b, a, less(d, b), less(c, a)};
    return {b, a, d, c};  // xywh
}

void check_format(std::string_view format) {
    if (format != "rchw" && format != "yxyx" && format != "xyxy" && format != "xywh")
        refuse_word("format", format, "'rchw', 'yxyx', 'xyxy', 'xywh'");
}

template <typename Box>
void check_box_of(std::int64_t index, const Box& one, const const_any_table_view& table) {
    try {
        check_box(one, table);
    } catch (const invalid_argument& e) {
        throw invalid_argument("boxes[" + std::to_string(index) + "]: " + e.what());
    }
}

box transposed(const box& b, bool swapped) {
    return swapped ? box{b.col, b.row, b.cols, b.rows} : b;
}

fractional_box transposed(const fractional_box& b, bool swapped) {
    return swapped ? fractional_box{b.left, b.top, b.right, b.bottom} : b;
}

/// Boxes (..., 4) of a caller.
struct boxes_argument {
    number_argument numbers;
    std::string_view format;
    std::int64_t count = 0;

    boxes_argument(nb::handle boxes, nb::handle given_format)
        : numbers(boxes, "boxes"), format(text_argument(given_format, "format")) {
        check_format(format);
        if (numbers.shape.empty() || numbers.shape.back() != 4) {
            std::string text;
            for (const std::int64_t extent : numbers.shape)
                text.append(text.empty() ? "" : ", ").append(std::to_string(extent));
            throw invalid_argument("boxes: their shape is (" + text + (numbers.shape.size() == 1 ? ",)" : ")") +
                                   ", the last extent must be 4");
        }
        count = numbers.count() / 4;
    }

    /// Checked in the caller's order of rows and columns, returned in the table's.
    std::vector<box> integers(const_any_table_view table, bool swapped) const {
        if (swapped) std::swap(table.entries.shape.rows, table.entries.shape.cols);
        std::vector<box> list(static_cast<std::size_t>(count));
        const auto* values = static_cast<const std::int64_t*>(numbers.data);
        for (std::size_t i = 0; i < list.size(); ++i) {
            const auto [row, col, rows, cols] = in_order(format, values + 4 * i);
            const box one{row, col, rows, cols};
            check_box_of(static_cast<std::int64_t>(i), one, table);
            list[i] = transposed(one, swapped);
        }
        return list;
    }

    std::vector<fractional_box> edges(const_any_table_view table, bool swapped) const {
        if (swapped) std::swap(table.entries.shape.rows, table.entries.shape.cols);
        std::vector<fractional_box> list(static_cast<std::size_t>(count));
        const auto* values = static_cast<const double*>(numbers.data);
        for (std::size_t i = 0; i < list.size(); ++i, values += 4) {
            fractional_box b{values[0], values[1], values[2], values[3]};
            if (format == "xyxy" || format == "xywh") b = transposed(b, true);
            if (format == "rchw" || format == "xywh") {
                b.bottom += b.top;
                b.right += b.left;
            }
            check_box_of(static_cast<std::int64_t>(i), b, table);
            list[i] = transposed(b, swapped);
        }
        return list;
    }
};

template <typename T>
table_view<const T> typed(const const_any_table_view& table) {
    const view_shape& s = table.entries.shape;
    return {
        {static_cast<const T*>(table.entries.data), s.rows, s.cols, s.row_stride, s.channels, s.planes, s.plane_stride},
        table.form};
}

/// Calls f with the table as a view of its element type, which table_argument has checked.
template <typename F>
void visit_table(const const_any_table_view& table, F&& f) {
    switch (table.entries.shape.type) {
        case dtype::u32:
            return f(typed<std::uint32_t>(table));
        case dtype::s32:
            return f(typed<std::int32_t>(table));
        case dtype::u64:
            return f(typed<std::uint64_t>(table));
        case dtype::s64:
            return f(typed<std::int64_t>(table));
        case dtype::f32:
            return f(typed<float>(table));
        default:
            return f(typed<double>(table));
    }
}

enum class question { sum, mean, variance, variance_bound };

question question_argument(nb::handle what) {
    const std::string_view word = text_argument(what, "stat");
    if (word == "sum") return question::sum;
    if (word == "mean") return question::mean;
    if (word == "var") return question::variance;
    if (word == "var_bound") return question::variance_bound;
    refuse_word("stat", word, "'sum', 'mean', 'var'");
}

/// Of tables with counts.
void refuse_fractional(bool fractional) {
    if (fractional) throw unsupported("boxes: have fractional edges, but the pixels that count are counted as a whole");
}

/// The same on a device: each channel of each image has its boxes one after the other, which is turned for the caller
/// where channels come last.
nb::object device_box_query(question what, const table_argument& sums, const std::optional<table_argument>& second,
                            const std::optional<table_argument>& counts, const moment_views& moments, nb::handle boxes,
                            nb::handle format, nb::handle out) {
    const axis_roles& roles = sums.image.roles;
    const strided& table = sums.image.array;
    const std::string_view word = text_argument(format, "format");
    check_format(word);
    const_any_table_view upright = sums.view;
    if (roles.swapped) std::swap(upright.entries.shape.rows, upright.entries.shape.cols);
    const device_box_list list(boxes, word, table, roles.swapped, false, [&](std::int64_t i, const auto& one) {
        check_box_of(i, transposed(one, roles.swapped), upright);
    });
    if (counts) refuse_fractional(list.fractional());
    extents shape;
    for (std::size_t i = 0; i < static_cast<std::size_t>(roles.batch); ++i)
        shape.push_back(table.extent[static_cast<std::size_t>(roles.order[i])]);
    const view_shape& s = sums.view.entries.shape;
    if (roles.interleaved) shape.push_back(s.channels);
    const auto channel_axis = static_cast<int>(shape.size()) - 1;
    shape.insert(shape.end(), list.leading.begin(), list.leading.end());
    const bool turned = roles.interleaved || roles.planar;
    const element type = what == question::sum && !list.fractional() ? table.type : element::f64;
    const packed_result result(turned ? nb::handle(Py_None) : out, "out", shape, type, table);
    result.require_apart(table);
    result.require_apart(list.array);
    if (second) result.require_apart(second->image.array);
    if (counts) result.require_apart(counts->image.array);
    const boxsum::dtype values = *dtype_of_element(type);
    if (list.count > 0) {
        nb::gil_scoped_release released;
        const device_turn turn(table);
        const cuda::stream_ref stream = table.device->stream;
        const cuda::device_boxes at = list.boxes();
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (std::int64_t ch = 0; ch < s.channels; ++ch) {
                const std::int64_t first = (plane * s.channels + ch) * list.count;
                const cuda::any_device_span to(result.data + first * static_cast<std::int64_t>(size_of(values)), values,
                                               list.count);
                if (what == question::sum)
                    cuda::box_sums_async(sums.view, at, to, stream, ch, plane);
                else if (what == question::mean)
                    cuda::box_means_async(moments, at, to, stream, ch, plane);
                else
                    cuda::box_variances_async(moments, at, to, stream, ch, plane);
            }
    }
    if (!turned) return result.finish(table);
    const nb::object moved = nb::module_::import_("boxsum._devices").attr("moved");
    return table.in_its_library(moved(result.array, channel_axis, -1, out));
}

/// A table that is read beside another.
void check_beside(const char* name, const table_argument& table, const table_argument& sums) {
    if (table.image.roles.order != sums.image.roles.order || table.image.array.extent != sums.image.array.extent)
        throw invalid_argument(std::string(name) + ": their shape is " + text_of_extents(table.image.array) +
                               ", must be that of the table, " + text_of_extents(sums.image.array) +
                               ", in the same order of axes");
    require_same_place(table.image.array, sums.image.array, "table");
}

/// `counting`: None, or (counts, min_count, fill), which means and variances take.
nb::object py_box_query(nb::handle stat, nb::handle table, nb::handle squares, nb::handle boxes, nb::handle layout,
                        nb::handle format, nb::handle channel_axis, nb::handle out, nb::handle counting) {
    const question what = question_argument(stat);
    const table_argument sums(table, "table", layout, channel_axis);
    std::optional<table_argument> second, counts;
    moment_views moments{sums.view};
    const bool of_squares = what == question::variance || what == question::variance_bound;
    if (of_squares) {
        second.emplace(squares, "squares", layout, channel_axis);
        check_beside("squares", *second, sums);
        moments.squares = second->view;
    }
    if (!counting.is_none()) {
        const nb::object table_of = counting[0], least = counting[1], fill = counting[2];
        counts.emplace(table_of, "counts", layout, channel_axis);
        check_beside("counts", *counts, sums);
        moments.counts = counts->view;
        moments.min_count = real_argument(least, "min_count");
        moments.fill = real_argument(fill, "fill");
    }
    if (what == question::variance_bound && sums.image.array.device)
        throw unsupported("table: is on a GPU, bounds are of tables in host memory");
    if (sums.image.array.device) return device_box_query(what, sums, second, counts, moments, boxes, format, out);
    const boxes_argument list(boxes, format);
    const bool swapped = sums.image.roles.swapped, fractional = list.numbers.floating;
    if (counts) refuse_fractional(fractional);
    if (what == question::variance_bound && fractional)
        throw unsupported("boxes: have fractional edges, but bounds are of whole pixels");
    const view_shape& s = sums.view.entries.shape;

    // Batch, boxes, channels; where channels are planes, those of one image follow each other.
    const axis_roles& roles = sums.image.roles;
    extents shape;
    for (std::size_t i = 0; i < static_cast<std::size_t>(roles.batch); ++i)
        shape.push_back(sums.image.array.extent[static_cast<std::size_t>(roles.order[i])]);
    const auto channels = static_cast<std::size_t>(roles.planar ? shape.back() : s.channels);
    if (roles.planar) shape.pop_back();
    shape.insert(shape.end(), list.numbers.shape.begin(), list.numbers.shape.end() - 1);
    if (roles.planar || roles.interleaved) shape.push_back(static_cast<std::int64_t>(channels));
    const element type = what == question::sum && !fractional ? sums.image.array.type : element::f64;

    const std::vector<box> whole = fractional ? std::vector<box>() : list.integers(sums.view, swapped);
    const std::vector<fractional_box> parts =
        fractional ? list.edges(sums.view, swapped) : std::vector<fractional_box>();
    packed_result result(out, "out", shape, type, sums.image.array);
    result.require_apart(sums.image.array);
    if (second) result.require_apart(second->image.array);
    if (counts) result.require_apart(counts->image.array);

    const auto count = static_cast<std::size_t>(list.count);
    {
        nb::gil_scoped_release released;
        std::vector<double> values(what != question::sum || fractional ? count : 0);
        auto* const doubles = reinterpret_cast<double*>(result.data);
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (std::int64_t ch = 0; ch < s.channels; ++ch) {
                const auto image =
                    static_cast<std::size_t>(roles.planar ? plane / static_cast<std::int64_t>(channels) : plane);
                const auto channel =
                    static_cast<std::size_t>(roles.planar ? plane % static_cast<std::int64_t>(channels) : ch);
                const std::size_t first = image * count * channels + channel;
                if (what == question::sum && !fractional) {
                    visit_table(sums.view, [&](const auto& view) {
                        using entry = std::remove_const_t<typename std::decay_t<decltype(view)>::element>;
                        auto* const typed_out = reinterpret_cast<entry*>(result.data);
                        for (std::size_t i = 0; i < count; ++i)
                            typed_out[first + i * channels] = detail::sum_of_checked_box(view, whole[i], ch, plane);
                    });
                } else {
                    const auto answer = [&](const auto& boxes_of) {
                        if (what == question::variance)
                            box_variances(moments, boxes_of, values, ch, plane);
                        else if constexpr (std::is_same_v<decltype(boxes_of), const std::vector<box>&>) {
                            if (what == question::mean)
                                box_means(moments, boxes_of, values, ch, plane);
                            else
                                for (std::size_t i = 0; i < count; ++i)
                                    values[i] = box_variance_bound(moments, boxes_of[i], ch, plane);
                        } else if (what == question::mean)
                            box_means(sums.view, boxes_of, values, ch, plane);
                        else
                            box_sums(sums.view, boxes_of, values, ch, plane);
                    };
                    if (fractional)
                        answer(parts);
                    else
                        answer(whole);
                    for (std::size_t i = 0; i < count; ++i) doubles[first + i * channels] = values[i];
                }
            }
    }
    return result.finish(sums.image.array);
}

/// Of types that the library has; the Python function knows bool and int8.
std::int64_t py_largest_safe_box(nb::handle image, nb::handle table, bool squares) {
    const auto from = dtype_of_element(element_argument(image, element::other, "image_dtype"));
    const auto to = dtype_of_element(element_argument(table, element::other, "table_dtype"));
    if (!from || !to) throw unsupported(from ? "table_dtype: is none of tables" : "image_dtype: is none of images");
    return squares ? largest_safe_box_of_squares(*from, *to) : largest_safe_box(*from, *to);
}

/// Any array or nested list as an array of 64-bit integers or doubles.
nb::object py_numbers(nb::handle given, nb::handle name) {
    return number_argument(given, text_argument(name, "name")).array;
}

}  // namespace

void bind_boxes(nb::module_& module) {
    define(module, "numbers", py_numbers);
    define(module, "box_query", py_box_query);
    define(module, "largest_safe_box", py_largest_safe_box);
}

}  // namespace boxsum::python
