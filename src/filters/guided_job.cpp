#include "filters/guided_job.hpp"

#include "core/view_checks.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace boxsum::filters {
namespace {

void check_pixels(const char* argument, dtype type) {
    if (type != dtype::u8 && type != dtype::u16 && type != dtype::f32 && type != dtype::f64)
        throw unsupported(std::string(argument) + ": type is " + std::string(name_of(type)) +
                          ", must be 8u, 16u, 32f or 64f");
}

void require_same(const char* argument, const char* what, std::int64_t value, std::int64_t wanted) {
    if (value != wanted)
        throw invalid_argument(std::string(argument) + ": " + what + " is " + std::to_string(value) +
                               ", but that of the image is " + std::to_string(wanted));
}

/// Of an image that is `taken` with what says which of its pixels count.
guided_job checked_job(const guided_shapes& given, const part& taken, const guided_rule& rule,
                       const filter_options& options) {
    const view_shape &image = given.image, &result = given.result;
    check_pixels("image", image.type);
    if (given.guide) {
        const view_shape& guide = *given.guide;
        check_pixels("guide", guide.type);
        require_same("guide", "rows", guide.rows, image.rows);
        require_same("guide", "cols", guide.cols, image.cols);
        if (guide.planes != 1) require_same("guide", "planes", guide.planes, image.planes);
    }
    if (options.border == border_mode::constant)
        throw unsupported("border: is constant, but what a guided filter has beyond the image are its fits there");
    windows_of(taken, options);
    const double range = 2 * default_range(given.guide ? given.guide->type : image.type);
    const double epsilon = rule.epsilon.value_or(range * range / 100);
    if (!std::isfinite(epsilon) || epsilon <= 0)
        throw invalid_argument("epsilon: is " + text_of(epsilon) + ", must be finite and above 0");
    if (result.type != image.type && result.type != dtype::f32 && result.type != dtype::f64)
        throw unsupported("result: type is " + std::string(name_of(result.type)) + ", must be the image's, 32f or 64f");
    require_same("result", "planes", result.planes, image.planes);
    require_same("result", "rows", result.rows, image.rows);
    require_same("result", "cols", result.cols, image.cols);
    require_same("result", "channels", result.channels, image.channels);

    const window& w = options.window;
    guided_job job{
        epsilon,        w, window_extents{w.below, w.above, w.right, w.left}, options.border, options.rounding,
        options.threads};
    // A window's rows are computed again with the next strip, twice, so that none is shorter than the others.
    constexpr std::int64_t least = 128, windows = 8;
    const std::int64_t reach = std::min(w.above, image.rows) + std::min(w.below, image.rows) + 1;
    const bool whole = options.border == border_mode::wrap;
    const std::int64_t strips = whole ? 1 : std::max<std::int64_t>(image.rows / std::max(least, windows * reach), 1);
    job.strip = (image.rows + strips - 1) / strips;
    return job;
}

}  // namespace

bool has_guide(const guided_inputs& inputs) noexcept {
    return inputs.guide.data != nullptr || inputs.guide.shape.rows != 0;
}

guided_shapes::guided_shapes(const guided_inputs& inputs, const filter_outputs& outputs)
    : image(inputs.image.shape), result(outputs.result.shape) {
    const auto shape = [](const const_any_view& v) {
        return v.shape.rows != 0 ? std::optional(v.shape) : std::nullopt;
    };
    if (has_guide(inputs)) guide = inputs.guide.shape;
    mask = shape(inputs.mask);
    weights = shape(inputs.weights);
    count = shape(outputs.count);
}

guided_call guided_call_of(const guided_shapes& given, const guided_rule& rule, const filter_options& options) {
    const part taken{.image = given.image, .mask = given.mask, .weights = given.weights};
    guided_call call{checked_job(given, taken, rule, options),
                     box_filter_job(taken, {given.result, given.count}, options)};
    call.sampled =
        call.samples.sampled() || (given.guide && is_floating(given.guide->type) && options.nan == nan_mode::omit);
    return call;
}

void check_memory(const guided_inputs& inputs, const filter_outputs& outputs) {
    check_read("image", inputs.image);
    if (has_guide(inputs)) check_read("guide", inputs.guide);
    check_inputs({.image = inputs.image, .mask = inputs.mask, .weights = inputs.weights});
    check_results(
        {{"image", inputs.image}, {"guide", inputs.guide}, {"mask", inputs.mask}, {"weights", inputs.weights}},
        {{"result", outputs.result}, {"count", outputs.count}});
}

guided_call make_guided_call(const guided_inputs& inputs, const filter_outputs& outputs, const guided_rule& rule,
                             const filter_options& options) {
    check_memory(inputs, {outputs.result});
    guided_shapes given(inputs, outputs);
    if (outputs.count.data == nullptr) given.count.reset();
    const guided_call call = guided_call_of(given, rule, options);
    check_memory(inputs, outputs);
    return call;
}

}  // namespace boxsum::filters
