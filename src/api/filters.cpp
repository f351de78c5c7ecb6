#include "cpu/filters/filters.hpp"

#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "core/view_checks.hpp"
#include "filters/filter_jobs.hpp"
#include "filters/radius_map.hpp"

#include <boxsum/filters.hpp>

namespace boxsum {
namespace {

filters::part part_of(const filter_inputs& inputs) {
    return {inputs.image.shape, inputs.at, inputs.whole};
}

std::optional<view_shape> shape_of(const any_view& result) {
    if (result.data == nullptr) return {};
    return result.shape;
}

}  // namespace

void box_filter(const filter_inputs& inputs, const filter_outputs& outputs, const filter_options& options) try {
    check_read("image", inputs.image);
    const filters::window_job job = filters::box_filter_job(part_of(inputs), outputs.result.shape, options);
    filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    const packed_input image(inputs.image, is_plain);
    const packed_output result(outputs.result, is_plain);
    filters::box_filter({job, image.view()}, result.view());
    result.unpack();
} catch (...) {
    rethrow_as_ours();
}

void local_statistics(const filter_inputs& inputs, const window_outputs& outputs, const filter_options& options) try {
    check_read("image", inputs.image);
    const filters::window_job job = filters::statistics_job(
        part_of(inputs), {shape_of(outputs.mean), shape_of(outputs.variance), shape_of(outputs.deviation)}, options);
    filters::check_results({{"image", inputs.image}},
                           {{"mean", outputs.mean}, {"variance", outputs.variance}, {"deviation", outputs.deviation}});
    const packed_input image(inputs.image, is_plain);
    const packed_output mean(outputs.mean, is_plain), variance(outputs.variance, is_plain),
        deviation(outputs.deviation, is_plain);
    filters::local_statistics({job, image.view()}, {mean.view(), variance.view(), deviation.view()});
    for (const packed_output* result : {&mean, &variance, &deviation}) result->unpack();
} catch (...) {
    rethrow_as_ours();
}

void adaptive_threshold(const filter_inputs& inputs, const filter_outputs& outputs, const threshold_rule& rule,
                        const filter_options& options) try {
    check_read("image", inputs.image);
    const filters::threshold_job job =
        filters::make_threshold_job(part_of(inputs), outputs.result.shape, rule, options);
    filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    const packed_input image(inputs.image, is_plain);
    const packed_output result(outputs.result, is_plain);
    filters::adaptive_threshold({job.windows, image.view()}, job, result.view());
    result.unpack();
} catch (...) {
    rethrow_as_ours();
}

void local_contrast(const filter_inputs& inputs, const filter_outputs& outputs, const contrast_rule& rule,
                    const filter_options& options) try {
    check_read("image", inputs.image);
    const filters::contrast_job job = filters::make_contrast_job(part_of(inputs), outputs.result.shape, rule, options);
    filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    const packed_input image(inputs.image, is_plain);
    const packed_output result(outputs.result, is_plain);
    filters::local_contrast({job.windows, image.view()}, job.epsilon, result.view());
    result.unpack();
} catch (...) {
    rethrow_as_ours();
}

void variable_box_filter(const variable_inputs& inputs, const filter_outputs& outputs,
                         const filter_options& options) try {
    check_read("image", inputs.image);
    check_read("radius", inputs.radius);
    const filters::part given{inputs.image.shape, inputs.at, inputs.whole};
    filters::check_radius_map(inputs.radius.shape, given, inputs.largest_radius);
    const packed_input image(inputs.image, is_plain), radius(inputs.radius, is_plain);
    const std::int64_t found = filters::check_radii(radius.view(), inputs.largest_radius);
    const filters::window_job job = filters::variable_job(given, inputs.radius.shape, outputs.result.shape,
                                                          inputs.largest_radius.value_or(found), options);
    filters::check_results({{"image", inputs.image}, {"radius", inputs.radius}}, {{"result", outputs.result}});
    const packed_output result(outputs.result, is_plain);
    filters::variable_box_filter(job, image.view(), radius.view(), result.view());
    result.unpack();
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
