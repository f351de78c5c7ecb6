#include "arrays.hpp"
#include "devices.hpp"
#include "module.hpp"
#include "samples.hpp"
#include "windows.hpp"

#include <boxsum/convolve.hpp>
#include <boxsum/cuda/convolve.hpp>
#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/guided_filter.hpp>
#include <boxsum/cuda/non_local_means.hpp>
#include <boxsum/cuda/variable_blur.hpp>
#include <boxsum/error.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/guided_filter.hpp>
#include <boxsum/non_local_means.hpp>
#include <boxsum/variable_blur.hpp>

#include <algorithm>
#include <limits>
#include <list>
#include <mutex>
#include <vector>

namespace boxsum::python {
namespace {

void set_border(filter_options& options, nb::handle border, nb::handle cval) {
    const std::string_view word = text_argument(border, "border");
    const auto known = border_from_name(word);
    if (!known) refuse_word("border", word, "'shrink', 'reflect', 'replicate', 'constant', 'mirror', 'wrap'");
    options.border = *known;
    options.border_value = real_argument(cval, "cval");
}

/// Which rows of a larger image the image is: None, or (first row, rows of the whole[, first result, end of results]).
struct part_argument {
    origin at;
    extent whole;
    row_range results;

    bool given() const noexcept { return whole.rows > 0; }

    /// `sampling`: None, or a tuple whose last element says it.
    explicit part_argument(nb::handle sampling) {
        if (sampling.is_none()) return;
        const nb::object part = sampling[6];
        if (part.is_none()) return;
        const auto number = [&](std::size_t i) { return integer_argument(nb::object(part[i]), "part"); };
        if (length_of(part) != 2 && length_of(part) != 4)
            throw unsupported("part: is " + std::string(nb::repr(part).c_str()) +
                              ", must be the first row and the number of rows of the whole image");
        at = {number(0), 0};
        whole.rows = number(1);
        if (nb::len(part) == 4) results = {number(2), number(3)};
        if (at.row < 0 || whole.rows < 1 || at.row >= whole.rows)
            throw invalid_argument("part: begins at row " + std::to_string(at.row) + " of " +
                                   std::to_string(whole.rows));
    }
};

/// Which pixels count: None, or (mask, weights, nan, nodata, min_count, fill, part).
struct sampling_argument : samples_argument {
    bool all_have_results = true;  ///< every pixel counts, in windows of any number of pixels

    sampling_argument(nb::handle given, const image_argument& image, filter_options& options)
        : samples_argument(given, image) {
        if (given.is_none()) return;
        const nb::object least = given[4], fill = given[5];
        options.nan = nan;
        options.nodata = nodata;
        options.fill = optional_real(fill, "fill");
        all_have_results = !mask && !weights && nan == nan_mode::propagate && !nodata && least.is_none();
        if (!least.is_none()) {
            if (weights)
                options.min_weight = real_argument(least, "min_count");
            else
                options.min_count = integer_argument(least, "min_count");
        }
    }

    template <typename Inputs>
    void add_to(Inputs& inputs) const {
        if (mask) inputs.mask = mask->view;
        if (weights) inputs.weights = weights->view;
    }
};

/// What every filter is told, in this order.
struct filter_arguments {
    part_argument part;
    image_argument in;
    filter_options options;
    sampling_argument sampling;

    filter_arguments(nb::handle image, nb::handle size, nb::handle border, nb::handle cval, nb::handle origin,
                     nb::handle given_sampling, nb::handle channel_axis, nb::handle threads,
                     const role_rules& rules = {})
        : part(given_sampling),
          in(image, "image", channel_axis,
             {.may_swap = rules.may_swap && !part.given(), .interleave = rules.interleave}),
          options(common(size, border, cval, origin, threads)),
          sampling(given_sampling, in, options) {
        const element type = in.array.type;
        if (type == element::s8 || type == element::u64 || type == element::s64 || type == element::other)
            throw unsupported("image: its dtype is " + std::string(name_of(type)) +
                              ", filters take bool, uint8, uint16, int16, uint32, int32, float16, float32 and float64; "
                              "image.astype() makes one of these");
        in.read_as(type == element::boolean ? element::u8 : type);
    }

    filter_inputs inputs() const {
        filter_inputs result{in.view};
        sampling.add_to(result);
        if (part.given()) {
            result.at = part.at;
            result.whole = {part.whole.rows, in.view.shape.cols};
            result.results = part.results;
        }
        return result;
    }

    /// The row of the whole image that the first row of results is of.
    std::int64_t first_result() const {
        const std::int64_t first = part.at.row == 0 ? 0 : part.at.row + options.window.above;
        return part.results.end > 0 ? std::max(first, part.results.first) : first;
    }

    result_shape shape(element type) const {
        std::int64_t rows = in.array.extent[static_cast<std::size_t>(in.roles.rows())];
        if (part.given()) {
            const std::int64_t end = part.at.row + rows;
            const std::int64_t last = end == part.whole.rows ? end : end - options.window.below;
            rows = (part.results.end > 0 ? std::min(last, part.results.end) : last) - first_result();
            if (rows < 1)
                throw invalid_argument("part: rows " + std::to_string(part.at.row) + " to " + std::to_string(end - 1) +
                                       " have no row whose window lies in them");
        }
        return {type, rows, in.array.extent[static_cast<std::size_t>(in.roles.cols())]};
    }

    bool floating() const {
        const element type = in.array.type;
        return type == element::f16 || type == element::f32 || type == element::f64;
    }

    /// A result's type that is the image's, float32 or float64; bool images have means between 0 and 1.
    element mean_type(nb::handle dtype) const {
        const element own = in.array.type == element::boolean ? element::f64 : in.array.type;
        const element type = element_argument(dtype, own);
        if (type != own && type != element::f32 && type != element::f64)
            throw unsupported("dtype: is " + std::string(name_of(type)) + ", must be " +
                              (own == element::f32 || own == element::f64
                                   ? "float32 or float64"
                                   : std::string(name_of(own)) + ", float32 or float64"));
        return type;
    }

    /// Sums of integer images are exact in int64, of others in float64.
    element sum_type(nb::handle dtype) const {
        const element type = element_argument(dtype, floating() || sampling.weights ? element::f64 : element::s64);
        if (type != element::s32 && type != element::s64 && type != element::f32 && type != element::f64)
            throw unsupported("dtype: is " + std::string(name_of(type)) +
                              ", sums are int32, int64, float32 or float64");
        return type;
    }

    element count_type() const { return sampling.weights ? element::f64 : element::u32; }

  private:
    filter_options common(nb::handle size, nb::handle border, nb::handle cval, nb::handle origin,
                          nb::handle threads) const {
        filter_options result;
        if (!size.is_none()) result.window = window_argument(size, origin, in.roles.swapped);
        set_border(result, border, cval);
        result.threads = threads_argument(threads);
        return result;
    }
};

/// What counted in each window, where the caller has an array for it.
struct count_argument {
    std::optional<result_argument> array;
    any_view view;  ///< as of filter_outputs

    count_argument(nb::handle count, const filter_arguments& given) {
        if (count.is_none()) return;
        array.emplace(count, "count", given.in, given.shape(given.count_type()));
        view = array->view;
    }
};

/// Computes window statistics of which the one called `statistic` is the caller's `out`; errors of memory that is given
/// twice call it so.
template <typename Compute>
void with_out(std::string_view statistic, Compute&& statistics) {
    try {
        statistics();
    } catch (const invalid_argument& e) {
        static constexpr std::string_view overlaps = ": overlaps ";
        std::string message = e.what();
        if (message.starts_with(std::string(statistic).append(overlaps)))
            message.replace(0, statistic.size(), "out");
        else if (message.ends_with(std::string(overlaps).append(statistic)))
            message.replace(message.size() - statistic.size(), statistic.size(), "out");
        else
            throw;
        throw invalid_argument(message);
    }
}

rounding_mode rounding_argument(nb::handle rounding) {
    const std::string_view word = text_argument(rounding, "rounding");
    if (word != "half_up" && word != "floor") refuse_word("rounding", word, "'half_up', 'floor'");
    return word == "floor" ? rounding_mode::floor : rounding_mode::half_up;
}

nb::object py_box_filter(nb::handle image, nb::handle size, nb::handle stat, nb::handle border, nb::handle cval,
                         nb::handle origin, nb::handle sampling, nb::handle rounding, nb::handle dtype,
                         nb::handle channel_axis, nb::handle out, nb::handle count, nb::handle threads) {
    filter_arguments given(image, size, border, cval, origin, sampling, channel_axis, threads);
    const std::string_view word = text_argument(stat, "stat");
    if (word != "mean" && word != "sum") refuse_word("stat", word, "'mean', 'sum'");
    given.options.rounding = rounding_argument(rounding);
    const bool sums = word == "sum";
    const result_argument result(out, "out", given.in,
                                 given.shape(sums ? given.sum_type(dtype) : given.mean_type(dtype)));
    const count_argument counts(count, given);
    const filter_inputs inputs = given.inputs();
    const window_outputs of_sums{.sum = result.view, .count = counts.view};
    const filter_outputs of_means{result.view, counts.view};
    if (sums)
        with_out("sum", [&] {
            compute(
                given.in, [&] { local_statistics(inputs, of_sums, given.options); },
                [&](cuda::workspace& workspace, cuda::stream_ref stream) {
                    cuda::local_statistics_async(inputs, of_sums, workspace, stream, given.options);
                });
        });
    else
        compute(
            given.in, [&] { box_filter(inputs, of_means, given.options); },
            [&](cuda::workspace& workspace, cuda::stream_ref stream) {
                cuda::box_filter_async(inputs, of_means, workspace, stream, given.options);
            });
    return result.finish(given.in);
}

nb::object py_variable_box_filter(nb::handle image, nb::handle radius, nb::handle largest_radius, nb::handle border,
                                  nb::handle cval, nb::handle sampling, nb::handle rounding, nb::handle dtype,
                                  nb::handle channel_axis, nb::handle out, nb::handle count, nb::handle threads) {
    filter_arguments given(image, nb::none(), border, cval, nb::int_(0), sampling, channel_axis, threads);
    given.options.rounding = rounding_argument(rounding);
    const companion_argument radii(radius, "radius", given.in);
    const result_argument result(out, "out", given.in, given.shape(given.mean_type(dtype)));
    variable_inputs inputs{given.in.view, radii.view};
    if (!largest_radius.is_none()) inputs.largest_radius = integer_argument(largest_radius, "largest_radius");
    given.sampling.add_to(inputs);
    const count_argument counts(count, given);
    const filter_outputs outputs{result.view, counts.view};
    compute(
        given.in, [&] { variable_box_filter(inputs, outputs, given.options); },
        [&](cuda::workspace& workspace, cuda::stream_ref stream) {
            cuda::variable_box_filter_async(inputs, outputs, workspace, stream, given.options);
        });
    return result.finish(given.in);
}

nb::object py_variable_blur(nb::handle image, nb::handle radius, nb::handle order, nb::handle largest_radius,
                            nb::handle rounding, nb::handle dtype, nb::handle channel_axis, nb::handle out,
                            nb::handle threads) {
    const filter_arguments given(image, nb::none(), nb::str("shrink"), nb::int_(0), nb::int_(0), nb::none(),
                                 channel_axis, threads);
    const companion_argument radii(radius, "radius", given.in);
    const std::int64_t boxes = integer_argument(order, "order");
    if (boxes < 1 || boxes > 3) throw invalid_argument("order: is " + std::to_string(boxes) + ", must be 1 to 3");
    const variable_blur_options options{static_cast<int>(boxes), rounding_argument(rounding), given.options.threads};
    const result_argument result(out, "out", given.in, given.shape(given.mean_type(dtype)));
    variable_inputs inputs{given.in.view, radii.view};
    if (!largest_radius.is_none()) inputs.largest_radius = integer_argument(largest_radius, "largest_radius");
    compute(
        given.in, [&] { variable_blur(inputs, {result.view}, options); },
        [&](cuda::workspace& workspace, cuda::stream_ref stream) {
            cuda::variable_blur_async(inputs, {result.view}, workspace, stream, options);
        });
    return result.finish(given.in);
}

/// `outs`: None, or one array for each result.
nb::object py_local_statistics(nb::handle image, nb::handle size, nb::handle results, nb::handle border,
                               nb::handle cval, nb::handle origin, nb::handle sampling, nb::handle dtype,
                               nb::handle channel_axis, nb::handle outs, nb::handle threads) {
    const filter_arguments given(image, size, border, cval, origin, sampling, channel_axis, threads);
    const element type = element_argument(dtype, given.in.array.type == element::f32 ? element::f32 : element::f64);
    if (type != element::f32 && type != element::f64)
        throw unsupported("dtype: is " + std::string(name_of(type)) + ", must be float32 or float64");
    if (length_of(results) < 0)
        throw unsupported("results: is " + std::string(nb::repr(results).c_str()) + ", must be a sequence of words");
    if (!outs.is_none() && length_of(outs) < 0)
        throw unsupported("out: is of type " + std::string(nb::repr(outs.type()).c_str()) +
                          ", must be a sequence of arrays, one for each of the results");
    const std::size_t count = nb::len(results);
    if (count == 0)
        throw invalid_argument("results: is empty, must name at least one of 'mean', 'var', 'std', 'sum', 'count'");
    if (!outs.is_none() && nb::len(outs) != count)
        throw invalid_argument("out: has " + std::to_string(nb::len(outs)) + " arrays, must have one for each of the " +
                               std::to_string(count) + " results");
    window_outputs outputs;
    std::vector<result_argument> made;
    for (std::size_t i = 0; i < count; ++i) {
        const nb::object word = results[i];
        const std::string_view name = text_argument(word, "results");
        any_view* const view = name == "mean"    ? &outputs.mean
                               : name == "var"   ? &outputs.variance
                               : name == "std"   ? &outputs.deviation
                               : name == "sum"   ? &outputs.sum
                               : name == "count" ? &outputs.count
                                                 : nullptr;
        if (view == nullptr) refuse_word("results", name, "'mean', 'var', 'std', 'sum', 'count'");
        if (view->data != nullptr) throw invalid_argument("results: '" + std::string(name) + "' is named twice");
        const std::string out_name = "out[" + std::to_string(i) + "]";
        const nb::object out = outs.is_none() ? nb::object(nb::none()) : nb::object(outs[i]);
        const element own = name == "sum" ? given.sum_type(nb::none()) : name == "count" ? given.count_type() : type;
        made.emplace_back(out, out_name, given.in, given.shape(own));
        *view = made.back().view;
    }
    const filter_inputs inputs = given.inputs();
    compute(
        given.in, [&] { local_statistics(inputs, outputs, given.options); },
        [&](cuda::workspace& workspace, cuda::stream_ref stream) {
            cuda::local_statistics_async(inputs, outputs, workspace, stream, given.options);
        });
    nb::list list;
    for (const result_argument& one : made) list.append(one.finish(given.in));
    return nb::tuple(list);
}

threshold_output output_argument(nb::handle result) {
    const std::string_view word = text_argument(result, "result");
    if (word == "mask") return threshold_output::zero_one;
    if (word == "binary") return threshold_output::zero_255;
    if (word == "threshold") return threshold_output::threshold;
    refuse_word("result", word, "'mask', 'binary', 'threshold'");
}

/// `parameters`: (k, r, p, q), each None or a number.
nb::object py_threshold(nb::handle image, nb::handle size, nb::handle method, nb::handle parameters, nb::handle border,
                        nb::handle cval, nb::handle origin, nb::handle sampling, nb::handle result_kind,
                        nb::handle dtype, nb::handle channel_axis, nb::handle out, nb::handle count,
                        nb::handle threads) {
    const filter_arguments given(image, size, border, cval, origin, sampling, channel_axis, threads);
    const std::string_view word = text_argument(method, "method");
    const auto known = threshold_from_name(word);
    if (!known) refuse_word("method", word, "'bradley', 'niblack', 'sauvola', 'wolf', 'nick', 'singh', 'phansalkar'");
    const auto parameter = [&](std::size_t i, std::string_view name) {
        return optional_real(nb::object(parameters[i]), name);
    };
    threshold_rule rule{*known,
                        parameter(0, "k"),
                        parameter(1, "r"),
                        parameter(2, "p"),
                        parameter(3, "q"),
                        output_argument(result_kind)};
    const bool of_range = rule.method == threshold_method::sauvola || rule.method == threshold_method::singh ||
                          rule.method == threshold_method::phansalkar;
    if (given.in.array.type == element::boolean && of_range && !rule.range) rule.range = 0.5;  // of values from 0 to 1
    if (const auto& fill = given.options.fill; fill && rule.output == threshold_output::zero_one)
        if (*fill != 0 && *fill != 1)  // what else a byte holds is no bool of NumPy's
            throw invalid_argument(std::string("fill: is ") + nb::repr(nb::object(sampling[5])).c_str() +
                                   ", must be 0 or 1, as the result is of bool");
    const bool itself = rule.output == threshold_output::threshold;
    if (!itself && !dtype.is_none()) throw invalid_argument("dtype: has a meaning for result='threshold' only");
    const element real = element_argument(dtype, given.in.array.type == element::f32 ? element::f32 : element::f64);
    if (real != element::f32 && real != element::f64)
        throw unsupported("dtype: is " + std::string(name_of(real)) + ", must be float32 or float64");
    const element type = itself ? real : rule.output == threshold_output::zero_one ? element::boolean : element::u8;
    const result_argument result(out, "out", given.in, given.shape(type));
    const count_argument counts(count, given);
    const filter_inputs inputs = given.inputs();
    const filter_outputs outputs{result.view, counts.view};
    compute(
        given.in, [&] { adaptive_threshold(inputs, outputs, rule, given.options); },
        [&](cuda::workspace& workspace, cuda::stream_ref stream) {
            cuda::adaptive_threshold_async(inputs, outputs, workspace, stream, rule, given.options);
        });
    return result.finish(given.in);
}

nb::object py_local_contrast(nb::handle image, nb::handle size, nb::handle epsilon, nb::handle border, nb::handle cval,
                             nb::handle origin, nb::handle sampling, nb::handle channel_axis, nb::handle out,
                             nb::handle count, nb::handle threads) {
    const filter_arguments given(image, size, border, cval, origin, sampling, channel_axis, threads);
    const result_argument result(out, "out", given.in, given.shape(element::f32));
    const count_argument counts(count, given);
    const double smallest = real_argument(epsilon, "epsilon");
    const filter_inputs inputs = given.inputs();
    const filter_outputs outputs{result.view, counts.view};
    compute(
        given.in, [&] { local_contrast(inputs, outputs, {smallest}, given.options); },
        [&](cuda::workspace& workspace, cuda::stream_ref stream) {
            cuda::local_contrast_async(inputs, outputs, workspace, stream, {smallest}, given.options);
        });
    return result.finish(given.in);
}

/// What contrasts in float64 are made of: (means, in `out` where that is given; deviations; marks in float32, which are
/// -inf where there is no contrast and nowhere else, or None where every pixel has one; the axis of rows; the image's
/// row that the first result is of).
nb::object py_contrast_terms(nb::handle image, nb::handle size, nb::handle border, nb::handle cval, nb::handle origin,
                             nb::handle sampling, nb::handle channel_axis, nb::handle out, nb::handle count,
                             nb::handle threads) {
    filter_arguments given(image, size, border, cval, origin, sampling, channel_axis, threads);
    const result_argument mean(out, "out", given.in, given.shape(element::f64));
    const result_argument deviation(nb::none(), "deviation", given.in, given.shape(element::f64));
    const count_argument counts(count, given);
    std::optional<result_argument> marked;
    if (!given.sampling.all_have_results) marked.emplace(nb::none(), "marked", given.in, given.shape(element::f32));
    // Which pixels have a contrast does not depend on epsilon, and marks are of one that makes no -inf: any finite
    // difference divided by the large one is finite in float32. Those of integers are small, and devices compute a
    // contrast of bytes twice where the deviation is below epsilon.
    const contrast_rule mark = given.floating() ? contrast_rule{1e300} : contrast_rule{};
    filter_options marking = given.options;
    marking.fill = -std::numeric_limits<double>::infinity();
    given.options.fill.reset();
    const filter_inputs inputs = given.inputs();
    const window_outputs moments{.mean = mean.view, .deviation = deviation.view, .count = counts.view};
    with_out("mean", [&] {
        compute(
            given.in,
            [&] {
                local_statistics(inputs, moments, given.options);
                if (marked) local_contrast(inputs, {marked->view}, mark, marking);
            },
            [&](cuda::workspace& workspace, cuda::stream_ref stream) {
                cuda::local_statistics_async(inputs, moments, workspace, stream, given.options);
                if (marked) cuda::local_contrast_async(inputs, {marked->view}, workspace, stream, mark, marking);
            });
    });
    return nb::make_tuple(mean.finish(given.in), deviation.finish(given.in),
                          marked ? marked->finish(given.in) : nb::object(nb::none()), given.in.roles.rows(),
                          given.first_result() - given.part.at.row);
}

/// Of an image whose channels are looked at together.
void require_few_channels(const image_argument& in) {
    if (in.roles.planar)
        throw unsupported(std::string(in.array.name) + ": has " +
                          std::to_string(in.array.extent[static_cast<std::size_t>(
                              in.roles.order[static_cast<std::size_t>(in.roles.batch) - 1])]) +
                          " channels, must have 1 to 4");
}

nb::object py_guided_filter(nb::handle image, nb::handle size, nb::handle guide, nb::handle epsilon, nb::handle border,
                            nb::handle origin, nb::handle sampling, nb::handle rounding, nb::handle dtype,
                            nb::handle channel_axis, nb::handle guide_channel_axis, nb::handle out, nb::handle count,
                            nb::handle threads) {
    // Rows of both are rows.
    constexpr role_rules in_order{.may_swap = false};
    filter_arguments given(image, size, border, nb::int_(0), origin, sampling, channel_axis, threads, in_order);
    given.options.rounding = rounding_argument(rounding);
    std::optional<image_argument> by;
    if (!guide.is_none()) {
        by.emplace(guide, "guide", guide_channel_axis, role_rules{.may_swap = false, .interleave = true});
        const strided &theirs = by->array, &own = given.in.array;
        if (guide_channel_axis.is_none() && channel_axis.is_none() && theirs.axes == own.axes + 1 &&
            std::equal(own.extent.begin(), own.extent.begin() + own.axes, theirs.extent.begin()))
            throw invalid_argument("guide: its shape is " + text_of_extents(theirs) + ", that of the image " +
                                   text_of_extents(own) + "; guide_channel_axis=-1 takes its last axis for channels");
        require_few_channels(*by);
        by->match_planes(given.in);
        by->read_as(by->array.type == element::boolean ? element::u8 : by->array.type);
    }
    const result_argument result(out, "out", given.in, given.shape(given.mean_type(dtype)));
    guided_inputs inputs{given.in.view, by ? by->view : const_any_view{}};
    given.sampling.add_to(inputs);
    guided_rule rule{optional_real(epsilon, "epsilon")};
    const element guiding = by ? by->array.type : given.in.array.type;
    if (guiding == element::boolean && !rule.epsilon) rule.epsilon = 0.01;  // of values from 0 to 1
    if (by) require_same_place(by->array, given.in.array);
    if (by && by->empty && !given.in.empty) throw invalid_argument("guide: has no pixels, but the image has");
    const count_argument counts(count, given);
    const filter_outputs outputs{result.view, counts.view};
    compute(
        given.in, [&] { guided_filter(inputs, outputs, rule, given.options); },
        [&](cuda::workspace& workspace, cuda::stream_ref stream) {
            cuda::guided_filter_async(inputs, outputs, workspace, stream, rule, given.options);
        });
    return result.finish(given.in);
}

nb::object py_non_local_means(nb::handle image, nb::handle size, nb::handle patch, nb::handle strength,
                              nb::handle noise, nb::handle border, nb::handle cval, nb::handle origin,
                              nb::handle sampling, nb::handle rounding, nb::handle dtype, nb::handle channel_axis,
                              nb::handle out, nb::handle count, nb::handle threads) {
    // Channels have one weight, wherever they lie.
    filter_arguments given(image, size, border, cval, origin, sampling, channel_axis, threads, {.interleave = true});
    require_few_channels(given.in);
    given.options.rounding = rounding_argument(rounding);
    const auto [rows, cols] = rows_and_cols(patch, "patch");
    if (rows < 1 || cols < 1)
        throw invalid_argument("patch: is " + std::to_string(rows < 1 ? rows : cols) + ", must be at least 1");
    const result_argument result(out, "out", given.in, given.shape(given.mean_type(dtype)));
    non_local_rule rule{.patch = given.in.roles.swapped ? window_size(cols, rows) : window_size(rows, cols),
                        .strength = optional_real(strength, "strength"),
                        .noise = real_argument(noise, "noise")};
    if (given.in.array.type == element::boolean && !rule.strength) rule.strength = 10. / 255;
    non_local_inputs inputs{given.in.view};
    given.sampling.add_to(inputs);
    const count_argument counts(count, given);
    const filter_outputs outputs{result.view, counts.view};
    compute(
        given.in, [&] { non_local_means(inputs, outputs, rule, given.options); },
        [&](cuda::workspace& workspace, cuda::stream_ref stream) {
            cuda::non_local_means_async(inputs, outputs, workspace, stream, rule, given.options);
        });
    return result.finish(given.in);
}

/// The plan of a convolution on the current device, made once: it keeps its weights there. Plans are kept for the life
/// of the process, because graphs may run them; there are as many as kernels times shapes.
const cuda::convolve_plan& plan_of(int device, const convolve_inputs& inputs, const std::vector<double>& weights,
                                   const convolve_outputs& outputs, const convolve_options& options) {
    struct kept_plan {
        int device;
        view_shape image, result;
        std::int64_t rows, cols;
        std::vector<double> weights;
        border_mode border;
        double border_value;
        kernel_direction direction;
        std::string algorithm;
        cuda::convolve_plan plan;
    };
    static std::mutex mutex;
    static auto* const plans = new std::list<kept_plan>;
    const std::lock_guard lock(mutex);
    const std::int64_t rows = inputs.kernel.rows(), cols = inputs.kernel.cols();
    for (const kept_plan& one : *plans)
        if (one.device == device && one.image == inputs.image.shape && one.result == outputs.result.shape &&
            one.rows == rows && one.cols == cols && one.weights == weights && one.border == options.border &&
            one.border_value == options.border_value && one.direction == options.direction &&
            one.algorithm == options.algorithm)
            return one.plan;
    plans->push_front({device, inputs.image.shape, outputs.result.shape, rows, cols, weights, options.border,
                       options.border_value, options.direction, options.algorithm,
                       cuda::convolve_plan(inputs, outputs, options)});
    return plans->front().plan;
}

nb::object py_convolve(nb::handle image, nb::handle kernel, nb::handle direction, nb::handle border, nb::handle cval,
                       nb::handle dtype, nb::handle channel_axis, nb::handle out, nb::handle threads,
                       nb::handle algorithm) {
    image_argument in(image, "image", channel_axis);
    const number_argument given(kernel, "kernel");
    if (given.shape.size() != 2)
        throw invalid_argument("kernel: has " + std::to_string(given.shape.size()) +
                               " axes, must have rows and columns");
    std::int64_t rows = given.shape[0], cols = given.shape[1];
    std::vector<double> weights(static_cast<std::size_t>(given.count()));
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            const auto from = static_cast<std::size_t>(r * cols + c);
            weights[in.roles.swapped ? static_cast<std::size_t>(c * rows + r) : from] =
                given.floating ? static_cast<const double*>(given.data)[from]
                               : static_cast<double>(static_cast<const std::int64_t*>(given.data)[from]);
        }
    if (in.roles.swapped) std::swap(rows, cols);
    filter_options edges;
    set_border(edges, border, cval);
    convolve_options options{.border = edges.border, .border_value = edges.border_value};
    const std::string_view word = text_argument(direction, "direction");
    if (word != "correlation" && word != "convolution") refuse_word("direction", word, "'correlation', 'convolution'");
    options.direction = word == "convolution" ? kernel_direction::convolution : kernel_direction::correlation;
    options.threads = threads_argument(threads);
    options.algorithm = text_argument(algorithm, "algorithm");
    const element from = in.array.type;
    if (from != element::u8 && from != element::u16 && from != element::s16 && from != element::f32 &&
        from != element::f64 && from != element::boolean)
        throw unsupported("image: its dtype is " + std::string(name_of(from)) +
                          ", convolutions take bool, uint8, uint16, int16, float32 and float64");
    const element type = element_argument(dtype, from == element::f32 ? element::f32 : element::f64);
    if (type != element::f64 && (type != element::f32 || from == element::f64))
        throw unsupported("dtype: is " + std::string(name_of(type)) + ", must be " +
                          (from == element::f64 ? "float64" : "float32 or float64"));
    // Devices have fewer pairs of types; a copy holds the same numbers.
    const bool copied = in.array.device && (type == element::f64 || from == element::s16);
    in.read_as(copied ? type : from == element::boolean ? element::u8 : from);
    const result_argument result(out, "out", in,
                                 {type, in.array.extent[static_cast<std::size_t>(in.roles.rows())],
                                  in.array.extent[static_cast<std::size_t>(in.roles.cols())]});
    const convolve_inputs inputs{in.view, {weights.data(), rows, cols}};
    compute(
        in, [&] { convolve(inputs, {result.view}, options); },
        [&](cuda::workspace& workspace, cuda::stream_ref stream) {
            const cuda::convolve_plan& plan = plan_of(in.array.device->number, inputs, weights, {result.view}, options);
            workspace.reserve(plan.workspace_bytes(), stream);
            plan.run_async({in.view}, {result.view}, workspace, stream);
        });
    return result.finish(in);
}

}  // namespace

void bind_filters(nb::module_& module) {
    define(module, "box_filter", py_box_filter);
    define(module, "variable_box_filter", py_variable_box_filter);
    define(module, "variable_blur", py_variable_blur);
    define(module, "local_statistics", py_local_statistics);
    define(module, "threshold", py_threshold);
    define(module, "local_contrast", py_local_contrast);
    define(module, "contrast_terms", py_contrast_terms);
    define(module, "guided_filter", py_guided_filter);
    define(module, "non_local_means", py_non_local_means);
    define(module, "convolve", py_convolve);
}

}  // namespace boxsum::python
