#include "cpu/filters/filters.hpp"

#include "core/exhausted_memory.hpp"
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

}  // namespace

void box_filter(const filter_inputs& inputs, const filter_outputs& outputs, const filter_options& options) try {
    filters::check_inputs(inputs);
    const filters::window_job job = filters::box_filter_job(filters::part_of(inputs), shapes_of(outputs), options);
    check_memory(inputs, outputs);
    filters::box_filter({job, inputs}, outputs);
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
    filters::local_statistics({job, inputs}, outputs);
} catch (...) {
    rethrow_as_ours();
}

void adaptive_threshold(const filter_inputs& inputs, const filter_outputs& outputs, const threshold_rule& rule,
                        const filter_options& options) try {
    filters::check_inputs(inputs);
    const filters::threshold_job job =
        filters::make_threshold_job(filters::part_of(inputs), shapes_of(outputs), rule, options);
    check_memory(inputs, outputs);
    filters::adaptive_threshold({job.windows, inputs}, job, outputs);
} catch (...) {
    rethrow_as_ours();
}

void local_contrast(const filter_inputs& inputs, const filter_outputs& outputs, const contrast_rule& rule,
                    const filter_options& options) try {
    filters::check_inputs(inputs);
    const filters::contrast_job job =
        filters::make_contrast_job(filters::part_of(inputs), shapes_of(outputs), rule, options);
    check_memory(inputs, outputs);
    filters::local_contrast({job.windows, inputs}, job.epsilon, outputs);
} catch (...) {
    rethrow_as_ours();
}

void variable_box_filter(const variable_inputs& inputs, const filter_outputs& outputs,
                         const filter_options& options) try {
    check_view("image", inputs.image);
    check_view("radius", inputs.radius);
    const filters::part given = filters::part_of(inputs);
    filters::check_radius_map(inputs.radius.shape, given, inputs.largest_radius);
    const std::int64_t found = filters::check_radii(inputs.radius, inputs.largest_radius);
    const filters::window_job job = filters::variable_job(given, inputs.radius.shape, shapes_of(outputs),
                                                          inputs.largest_radius.value_or(found), options);
    filters::check_results({{"image", inputs.image}, {"radius", inputs.radius}},
                           {{"result", outputs.result}, {"count", outputs.count}});
    filters::variable_box_filter(job, inputs.image, inputs.radius, outputs);
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
