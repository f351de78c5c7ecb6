#include "cpu/filters/filters.hpp"

#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "core/view_checks.hpp"
#include "filters/filter_jobs.hpp"
#include "filters/radius_map.hpp"

#include <boxsum/filters.hpp>

namespace boxsum {
namespace {

std::optional<view_shape> shape_of(const any_view& result) {
    if (result.data == nullptr) return {};
    return result.shape;
}

filters::result_shapes shapes_of(const filter_outputs& outputs) {
    return {outputs.result.shape, shape_of(outputs.count)};
}

void check_memory(const filter_inputs& inputs, const filter_outputs& outputs) {
    filters::check_results({{"image", inputs.image}, {"mask", inputs.mask}, {"weights", inputs.weights}},
                           {{"result", outputs.result}, {"count", outputs.count}});
}

/// Inputs and results as kernels take them: plain, where they are not by copies.
struct packed_inputs {
    packed_input image, mask, weights;
    filter_inputs inputs;

    explicit packed_inputs(const filter_inputs& given)
        : image(given.image, is_plain),
          mask(given.mask, is_plain),
          weights(given.weights, is_plain),
          inputs{image.view(), given.at, given.whole, mask.view(), weights.view()} {}
};

struct packed_outputs {
    packed_output result, count;
    filter_outputs outputs;

    explicit packed_outputs(const filter_outputs& given)
        : result(given.result, is_plain), count(given.count, is_plain), outputs{result.view(), count.view()} {}

    void unpack() const {
        result.unpack();
        count.unpack();
    }
};

}  // namespace

void box_filter(const filter_inputs& inputs, const filter_outputs& outputs, const filter_options& options) try {
    filters::check_inputs(inputs);
    const filters::window_job job = filters::box_filter_job(filters::part_of(inputs), shapes_of(outputs), options);
    check_memory(inputs, outputs);
    const packed_inputs in(inputs);
    const packed_outputs out(outputs);
    filters::box_filter({job, in.inputs}, out.outputs);
    out.unpack();
} catch (...) {
    rethrow_as_ours();
}

void local_statistics(const filter_inputs& inputs, const window_outputs& outputs, const filter_options& options) try {
    filters::check_inputs(inputs);
    const filters::window_job job =
        filters::statistics_job(filters::part_of(inputs),
                                {shape_of(outputs.mean), shape_of(outputs.variance), shape_of(outputs.deviation),
                                 shape_of(outputs.sum), shape_of(outputs.count)},
                                options);
    filters::check_results({{"image", inputs.image}, {"mask", inputs.mask}, {"weights", inputs.weights}},
                           {{"mean", outputs.mean},
                            {"variance", outputs.variance},
                            {"deviation", outputs.deviation},
                            {"sum", outputs.sum},
                            {"count", outputs.count}});
    const packed_inputs in(inputs);
    const packed_output mean(outputs.mean, is_plain), variance(outputs.variance, is_plain),
        deviation(outputs.deviation, is_plain), sum(outputs.sum, is_plain), count(outputs.count, is_plain);
    filters::local_statistics({job, in.inputs}, {.mean = mean.view(),
                                                 .variance = variance.view(),
                                                 .deviation = deviation.view(),
                                                 .sum = sum.view(),
                                                 .count = count.view()});
    for (const packed_output* result : {&mean, &variance, &deviation, &sum, &count}) result->unpack();
} catch (...) {
    rethrow_as_ours();
}

void adaptive_threshold(const filter_inputs& inputs, const filter_outputs& outputs, const threshold_rule& rule,
                        const filter_options& options) try {
    filters::check_inputs(inputs);
    const filters::threshold_job job =
        filters::make_threshold_job(filters::part_of(inputs), shapes_of(outputs), rule, options);
    check_memory(inputs, outputs);
    const packed_inputs in(inputs);
    const packed_outputs out(outputs);
    filters::adaptive_threshold({job.windows, in.inputs}, job, out.outputs);
    out.unpack();
} catch (...) {
    rethrow_as_ours();
}

void local_contrast(const filter_inputs& inputs, const filter_outputs& outputs, const contrast_rule& rule,
                    const filter_options& options) try {
    filters::check_inputs(inputs);
    const filters::contrast_job job =
        filters::make_contrast_job(filters::part_of(inputs), shapes_of(outputs), rule, options);
    check_memory(inputs, outputs);
    const packed_inputs in(inputs);
    const packed_outputs out(outputs);
    filters::local_contrast({job.windows, in.inputs}, job.epsilon, out.outputs);
    out.unpack();
} catch (...) {
    rethrow_as_ours();
}

void variable_box_filter(const variable_inputs& inputs, const filter_outputs& outputs,
                         const filter_options& options) try {
    check_read("image", inputs.image);
    check_read("radius", inputs.radius);
    if (inputs.mask.shape.rows != 0) check_read("mask", inputs.mask);
    if (inputs.weights.shape.rows != 0) check_read("weights", inputs.weights);
    const filters::part given = filters::part_of(inputs);
    filters::check_radius_map(inputs.radius.shape, given, inputs.largest_radius);
    const packed_input radius(inputs.radius, is_plain);
    const std::int64_t found = filters::check_radii(radius.view(), inputs.largest_radius);
    const filters::window_job job = filters::variable_job(given, inputs.radius.shape, shapes_of(outputs),
                                                          inputs.largest_radius.value_or(found), options);
    filters::check_results(
        {{"image", inputs.image}, {"radius", inputs.radius}, {"mask", inputs.mask}, {"weights", inputs.weights}},
        {{"result", outputs.result}, {"count", outputs.count}});
    const packed_input image(inputs.image, is_plain), mask(inputs.mask, is_plain), weights(inputs.weights, is_plain);
    const packed_outputs out(outputs);
    filters::variable_box_filter(
        job, {.image = image.view(), .radius = radius.view(), .mask = mask.view(), .weights = weights.view()},
        out.outputs);
    out.unpack();
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
