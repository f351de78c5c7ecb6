#include "histograms.hpp"

#include "devices.hpp"
#include "module.hpp"
#include "tables.hpp"

#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/error.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/histogram_tasks.hpp>
#include <boxsum/integral_histogram.hpp>

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace boxsum::python {
namespace {

out_of_range outside_argument(nb::handle outside) {
    const std::string_view word = text_argument(outside, "outside");
    if (word == "ignore") return out_of_range::ignored;
    if (word == "clamp") return out_of_range::clamped;
    refuse_word("outside", word, "'ignore', 'clamp'");
}

}  // namespace

binning binning_argument(nb::handle given) {
    const nb::object rule_word = given[0], outside = given[4];
    const std::string_view rule = text_argument(rule_word, "bins");
    const std::int64_t bins = integer_argument(nb::object(given[1]), "bins");
    if (rule == "lookup") {
        const number_argument numbers(nb::object(given[5]), "table");
        if (numbers.floating || numbers.shape.size() != 1)
            throw unsupported("table: has " + std::to_string(numbers.shape.size()) + " axes of " +
                              (numbers.floating ? "floating numbers" : "integers") + ", must be one of integers");
        const auto* const entries = static_cast<const std::int64_t*>(numbers.data);
        std::vector<std::uint16_t> table;
        for (std::int64_t i = 0; i < numbers.count(); ++i) {
            if (entries[i] < 0 || entries[i] > 65535)
                throw invalid_argument("table[" + std::to_string(i) + "]: is " + std::to_string(entries[i]) +
                                       ", must be 0 to 65535");
            table.push_back(static_cast<std::uint16_t>(entries[i]));
        }
        return binning::lookup(bins, table);
    }
    if (rule == "indices") return binning::indices(bins, outside_argument(outside));
    return binning::uniform(bins, real_argument(nb::object(given[2]), "range"),
                            real_argument(nb::object(given[3]), "range"), outside_argument(outside));
}

element histogram_reading(const strided& image) {
    switch (image.type) {
        case element::boolean:
            return element::u8;
        case element::s8:
        case element::s16:
            return element::s32;
        case element::f16:
            return element::f32;
        case element::u8:
        case element::u16:
        case element::s32:
        case element::f32:
            return image.type;
        default:
            break;
    }
    throw unsupported(std::string(image.name).append(": its dtype is ").append(name_of(image.type)) +
                      ", histograms take bool, int8, uint8, int16, uint16, int32, float16 and float32");
}

window_grid grid_argument(nb::handle grid) {
    const auto at = [&](std::size_t i) { return integer_argument(nb::object(grid[i]), i < 2 ? "size" : "step"); };
    window_grid result{at(0), at(1), at(2), at(3), {}};
    const nb::object region = grid[4];
    if (!region.is_none()) {
        const auto part = [&](std::size_t i) { return integer_argument(nb::object(region[i]), "within"); };
        result.region = box{part(0), part(1), part(2), part(3)};
    }
    return result;
}

histogram_distance distance_argument(nb::handle distance) {
    const std::string_view word = text_argument(distance, "distance");
    if (const auto known = histogram_distance_from_name(word)) return *known;
    refuse_word("distance", word, "'l1', 'l2', 'chi-square', 'intersection', 'bhattacharyya'");
}

std::vector<double> doubles_argument(nb::handle given, std::string_view name) {
    const number_argument numbers(given, name);
    if (numbers.shape.size() != 1)
        throw invalid_argument(std::string(name) + ": has " + std::to_string(numbers.shape.size()) +
                               " axes, must have one, of a number for each bin");
    const auto copied = [&](const auto* first) { return std::vector<double>(first, first + numbers.count()); };
    return numbers.floating ? copied(static_cast<const double*>(numbers.data))
                            : copied(static_cast<const std::int64_t*>(numbers.data));
}

namespace {

/// Axes of an array as a tensor of planes x bins x rows x cols, which must be packed by axes.
struct histogram_argument {
    strided array;
    const_any_histogram_view view;
    extents batch;

    histogram_argument(nb::handle values, nb::handle layout) : array(open_array(values, "values")) {
        if (array.axes < 3)
            throw invalid_argument("values: their shape is " + text_of_extents(array) +
                                   ", must have bins, rows and columns");
        if (array.type != element::u32 && array.type != element::u16 && array.type != element::f32)
            throw unsupported("values: their dtype is " + std::string(name_of(array.type)) +
                              ", histograms are uint16, uint32 or float32");
        const auto last = static_cast<std::size_t>(array.axes);
        tensor_shape s;
        s.type = *dtype_of_element(array.type);
        s.bins = array.extent[last - 3];
        s.rows = array.extent[last - 2];
        s.cols = array.extent[last - 1];
        s.bin_stride = array.stride[last - 3];
        s.row_stride = array.stride[last - 2];
        bool packed =
            array.behaved && !array.empty && array.stride[last - 1] == static_cast<std::int64_t>(size_of(s.type));
        for (std::size_t i = last - 3; i-- > 0;) {
            if (array.extent[i] == 1) continue;
            if (s.planes == 1)
                s.plane_stride = array.stride[i];
            else
                packed = packed && array.stride[i] == s.planes * s.plane_stride;
            s.planes *= array.extent[i];
        }
        for (std::size_t i = 0; i + 3 < last; ++i) batch.push_back(array.extent[i]);
        if (!packed)
            throw invalid_argument("values: their shape is " + text_of_extents(array) +
                                   " with strides that histograms do not have; numpy.ascontiguousarray copies them");
        view = {{array.data, s}, layout_argument(layout)};
    }

    template <typename F>
    void visit(F&& f) const {
        switch (view.entries.shape.type) {
            case dtype::u16:
                return f(std::uint16_t{});
            case dtype::u32:
                return f(std::uint32_t{});
            default:
                return f(float{});
        }
    }
};

/// What the two functions that make an integral histogram have in common.
struct histogram_call {
    image_argument in;
    std::optional<companion_argument> weighing;
    std::optional<binning> rule;
    std::optional<packed_result> result;
    histogram_inputs inputs;
    histogram_outputs outputs;
    histogram_options options;

    histogram_call(nb::handle image, nb::handle bins, nb::handle weights, nb::handle layout, nb::handle dtype,
                   nb::handle out, nb::handle threads, nb::handle algorithm)
        : in(image, "image", nb::none(), {.may_swap = false}) {
        in.read_as(histogram_reading(in.array));
        if (in.empty) throw invalid_argument("image: its shape is " + text_of_extents(in.array) + ", it has no pixels");
        rule = binning_argument(bins);
        inputs.image = in.view;
        if (!weights.is_none()) {
            weighing.emplace(weights, "weights", in);
            if (weighing->array.type != element::f32)
                throw unsupported("weights: their dtype is " + std::string(name_of(weighing->array.type)) +
                                  ", must be float32");
            inputs.weights = weighing->view;
            view_shape& w = inputs.weights.shape;
            if (w.planes == 1 && in.view.shape.planes > 1) {  // the same of every image
                w.planes = in.view.shape.planes;
                w.plane_stride = 0;
            }
        }
        const table_form form = layout_argument(layout);
        if (form.layout == table_layout::exclusive)  // a wrong value in Python, where `unsupported` is a wrong type
            throw invalid_argument("layout: is 'exclusive', histograms are 'inclusive' or 'padded'");
        const element type = element_argument(dtype, weighing ? element::f32 : element::u32);
        if (type != element::u32 && type != element::u16 && type != element::f32)
            throw unsupported("dtype: is " + std::string(name_of(type)) +
                              ", must be uint32 or uint16, with weights float32");
        extents shape(in.array.extent.begin(), in.array.extent.begin() + in.array.axes - 2);
        const view_shape& s = in.view.shape;
        shape.insert(shape.end(), {rule->bins(), form.table_extent(s.rows), form.table_extent(s.cols)});
        result.emplace(out, "out", shape, type, in.array);
        tensor_shape t{*dtype_of_element(type), s.planes, rule->bins(), form.table_extent(s.rows),
                       form.table_extent(s.cols)};
        t.row_stride = t.cols * static_cast<std::int64_t>(size_of(t.type));
        t.bin_stride = t.rows * t.row_stride;
        t.plane_stride = t.bins * t.bin_stride;
        options.threads = threads_argument(threads);
        options.algorithm = text_argument(algorithm, "algorithm");
        outputs = {{{result->data, t}, form}};
    }
};

nb::object py_integral_histogram(nb::handle image, nb::handle bins, nb::handle weights, nb::handle layout,
                                 nb::handle dtype, nb::handle out, nb::handle threads, nb::handle algorithm) {
    const histogram_call call(image, bins, weights, layout, dtype, out, threads, algorithm);
    compute(
        call.in, [&] { integral_histogram(call.inputs, *call.rule, call.outputs, call.options); },
        [&](cuda::workspace& workspace, cuda::stream_ref stream) {
            cuda::integral_histogram_async(call.inputs, *call.rule, call.outputs, workspace, stream, call.options);
        });
    return call.result->finish(call.in.array);
}

/// The histogram, and what the workers did: (tasks, bins_per_task, seconds, pinning_seconds, pinned_bytes, [(name,
/// tasks, seconds, upload_seconds, failure)]).
nb::object py_histogram_tasks(nb::handle image, nb::handle bins, nb::handle weights, nb::handle layout,
                              nb::handle dtype, nb::handle out, nb::handle threads, nb::handle algorithm,
                              nb::handle devices, nb::handle cpu_workers, nb::handle bins_per_task) {
    const histogram_call call(image, bins, weights, layout, dtype, out, threads, algorithm);
    if (call.in.array.device) throw unsupported("image: is on a GPU, tasks are made of images in host memory");
    const auto small = [](nb::handle given, std::string_view name) {
        const std::int64_t number = integer_argument(given, name);
        if (number < 0 || number > std::numeric_limits<int>::max())
            throw invalid_argument(std::string(name) + ": is " + std::to_string(number) + ", must be 0 to " +
                                   std::to_string(std::numeric_limits<int>::max()));
        return static_cast<int>(number);
    };
    histogram_tasks_options options;
    for (const nb::handle one : nb::iter(devices)) options.devices.push_back(small(one, "devices"));
    options.cpu_workers = small(cpu_workers, "cpu_workers");
    options.bins_per_task = integer_argument(bins_per_task, "bins_per_task");
    options.histogram = call.options;
    histogram_tasks_report report;
    {
        nb::gil_scoped_release released;
        histogram_tasks tasks(options);
        report = tasks.run(call.inputs, *call.rule, call.outputs);
    }
    nb::list workers;
    for (const task_worker_report& one : report.workers)
        workers.append(nb::make_tuple(nb::str(one.name.c_str(), one.name.size()), one.tasks, one.seconds,
                                      one.upload_seconds, nb::str(one.failure.c_str(), one.failure.size())));
    const nb::object told = nb::make_tuple(report.tasks, report.bins_per_task, report.seconds, report.pinning_seconds,
                                           report.pinned_bytes, workers);
    return nb::make_tuple(call.result->finish(call.in.array), told);
}

/// For every plane what `enqueue(plane, span)` writes: so many histograms.
template <typename F>
void enqueue_planes(const histogram_argument& in, const packed_result& result, std::int64_t count, F&& enqueue) {
    const tensor_shape& s = in.view.entries.shape;
    const std::int64_t values = count * s.bins;
    if (values == 0) return;
    nb::gil_scoped_release released;
    const device_turn turn(in.array);
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        enqueue(plane, cuda::any_device_span(result.data + plane * values * static_cast<std::int64_t>(size_of(s.type)),
                                             s.type, values));
}

nb::object device_box_histograms(const histogram_argument& in, nb::handle boxes) {
    const std::int64_t rows = in.view.shape().image_rows(), cols = in.view.shape().image_cols();
    const device_box_list list(boxes, "rchw", in.array, false, true, [&](std::int64_t i, const auto& one) {
        try {
            if constexpr (std::is_same_v<decltype(one), const box&>) check_box(one, rows, cols);
        } catch (const invalid_argument& e) {
            throw invalid_argument("boxes[" + std::to_string(i) + "]: " + e.what());
        }
    });
    extents shape = in.batch;
    shape.insert(shape.end(), list.leading.begin(), list.leading.end());
    shape.push_back(in.view.entries.shape.bins);
    const packed_result result(nb::none(), "out", shape, in.array.type, in.array);
    enqueue_planes(in, result, list.count, [&](std::int64_t plane, const cuda::any_device_span& to) {
        cuda::box_histograms_async(in.view, list.boxes(), to, in.array.device->stream, plane);
    });
    return result.finish(in.array);
}

/// The histograms of boxes given as (count, 4) integers, rows first: batch x count x bins.
nb::object py_box_histograms(nb::handle values, nb::handle layout, nb::handle boxes) {
    const histogram_argument in(values, layout);
    if (in.array.device) return device_box_histograms(in, boxes);
    const number_argument list(boxes, "boxes");
    if (list.floating) throw unsupported("boxes: are floating numbers; histograms count whole pixels");
    if (list.shape.empty() || list.shape.back() != 4) throw invalid_argument("boxes: their last extent must be 4");
    static_assert(sizeof(box) == 4 * sizeof(std::int64_t));
    const std::span<const box> whole(static_cast<const box*>(list.data), static_cast<std::size_t>(list.count() / 4));
    extents shape = in.batch;
    shape.insert(shape.end(), list.shape.begin(), list.shape.end() - 1);
    shape.push_back(in.view.entries.shape.bins);
    const packed_result result(nb::none(), "out", shape, in.array.type, in.array);
    const auto per_plane = whole.size() * static_cast<std::size_t>(in.view.entries.shape.bins);
    {
        nb::gil_scoped_release released;
        in.visit([&]<typename T>(T) {
            for (std::int64_t plane = 0; plane < in.view.entries.shape.planes; ++plane)
                box_histograms<T>(
                    in.view, whole,
                    {reinterpret_cast<T*>(result.data) + static_cast<std::size_t>(plane) * per_plane, per_plane},
                    plane);
        });
    }
    return result.finish(in.array);
}

nb::object py_window_histograms(nb::handle values, nb::handle layout, nb::handle grid) {
    const histogram_argument in(values, layout);
    const window_grid windows = grid_argument(grid);
    const std::int64_t rows = in.view.shape().image_rows(), cols = in.view.shape().image_cols();
    const std::int64_t count = window_count(windows, rows, cols);
    const std::int64_t across = (windows.region ? windows.region->cols : cols) - windows.cols;
    const std::int64_t per_row = across < 0 ? 0 : across / windows.col_step + 1;
    extents shape = in.batch;
    shape.insert(shape.end(), {per_row == 0 ? 0 : count / per_row, per_row, in.view.entries.shape.bins});
    const packed_result result(nb::none(), "out", shape, in.array.type, in.array);
    if (in.array.device) {
        enqueue_planes(in, result, count, [&](std::int64_t plane, const cuda::any_device_span& to) {
            cuda::window_histograms_async(in.view, windows, to, in.array.device->stream, plane);
        });
        return result.finish(in.array);
    }
    const auto per_plane = static_cast<std::size_t>(count * in.view.entries.shape.bins);
    {
        nb::gil_scoped_release released;
        in.visit([&]<typename T>(T) {
            for (std::int64_t plane = 0; plane < in.view.entries.shape.planes; ++plane)
                window_histograms<T>(
                    in.view, windows,
                    {reinterpret_cast<T*>(result.data) + static_cast<std::size_t>(plane) * per_plane, per_plane},
                    plane);
        });
    }
    return result.finish(in.array);
}

/// A list of (row, col, rows, cols, distance).
nb::object py_best_windows(nb::handle values, nb::handle layout, nb::handle grids, nb::handle target,
                           nb::handle distance, nb::handle count, nb::handle plane, nb::handle largest_overlap) {
    const histogram_argument in(values, layout);
    std::vector<window_grid> list;
    for (nb::handle grid : nb::iter(grids)) list.push_back(grid_argument(grid));
    const std::vector<double> wanted = doubles_argument(target, "target");
    const histogram_distance measure = distance_argument(distance);
    const std::int64_t best = integer_argument(count, "count"), of_plane = integer_argument(plane, "plane");
    const double overlap = real_argument(largest_overlap, "largest_overlap");
    if (in.array.device && overlap < 1)
        throw unsupported("largest_overlap: is " + std::to_string(overlap) + ", on a device windows may overlap: 1");
    std::vector<histogram_match> found;
    {
        nb::gil_scoped_release released;
        if (in.array.device) {
            const device_turn turn(in.array);
            found = cuda::best_windows(in.view, list, wanted, measure, best, in.array.device->stream, of_plane);
        } else {
            found = best_windows(in.view, list, wanted, measure, best, of_plane, overlap);
        }
    }
    nb::list result;
    for (const histogram_match& one : found)
        result.append(nb::make_tuple(one.where.row, one.where.col, one.where.rows, one.where.cols, one.distance));
    return result;
}

double py_histogram_distance(nb::handle a, nb::handle b, nb::handle distance) {
    return distance_between(distance_argument(distance), doubles_argument(a, "a"), doubles_argument(b, "b"));
}

}  // namespace

void bind_histograms(nb::module_& module) {
    define(module, "integral_histogram", py_integral_histogram);
    define(module, "histogram_tasks", py_histogram_tasks);
    define(module, "box_histograms", py_box_histograms);
    define(module, "window_histograms", py_window_histograms);
    define(module, "best_windows", py_best_windows);
    define(module, "histogram_distance", py_histogram_distance);
}

}  // namespace boxsum::python
