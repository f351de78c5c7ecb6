#include "core/view_checks.hpp"
#include "filters/filter_jobs.hpp"
#include "filters/non_local_call.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

namespace boxsum::filters {
namespace {

constexpr std::int64_t farthest_search = 512, farthest_of_patch = 64;  // tiles hold what these reach

void check_reach(const char* argument, const window& w, std::int64_t most) {
    for (const auto& [name, reach] :
         {std::pair{"above", w.above}, {"below", w.below}, {"left", w.left}, {"right", w.right}}) {
        if (reach < 0)
            throw invalid_argument(std::string(argument) + ": " + name + " is " + std::to_string(reach) +
                                   ", must not be negative");
        if (reach > most)
            throw unsupported(std::string(argument) + ": " + name + " is " + std::to_string(reach) + ", at most " +
                              std::to_string(most) + " is supported");
    }
}

window within_image(window w, const view_shape& image) {
    w.above = std::min(w.above, image.rows - 1);
    w.below = std::min(w.below, image.rows - 1);
    w.left = std::min(w.left, image.cols - 1);
    w.right = std::min(w.right, image.cols - 1);
    return w;
}

/// Of an image that is `taken` with what says which of its pixels count.
non_local_job checked_job(const part& taken, const view_shape& result, const non_local_rule& rule,
                          const filter_options& options) {
    const view_shape& image = taken.image;
    if (image.type != dtype::u8 && image.type != dtype::u16 && image.type != dtype::f32 && image.type != dtype::f64)
        throw unsupported("image: type is " + std::string(name_of(image.type)) + ", must be 8u, 16u, 32f or 64f");
    const window_job windows = windows_of(taken, options);
    non_local_job job{.search = options.window, .patch = rule.patch};
    if (options.border == border_mode::shrink) job.search = within_image(job.search, image);
    check_reach("window", job.search, farthest_search);
    check_reach("patch", job.patch, farthest_of_patch);
    const double strength = rule.strength.value_or(2 * default_range(image.type) * 10 / 255);
    if (!(strength > 0) || !std::isfinite(strength) || !std::isfinite(strength * strength) ||
        !std::isfinite(1 / (strength * strength)))
        throw invalid_argument("strength: is " + text_of(strength) +
                               ", must be finite and above 0, and so must its square and the inverse of that");
    if (!(rule.noise >= 0) || !std::isfinite(rule.noise))
        throw invalid_argument("noise: is " + text_of(rule.noise) + ", must be finite and not negative");
    if (result.type != image.type && result.type != dtype::f32 && result.type != dtype::f64)
        throw unsupported("result: type is " + std::string(name_of(result.type)) + ", must be the image's, 32f or 64f");
    for (const auto& [what, found, wanted] : {std::tuple{"planes", result.planes, image.planes},
                                              {"rows", result.rows, image.rows},
                                              {"cols", result.cols, image.cols},
                                              {"channels", result.channels, image.channels}})
        if (found != wanted)
            throw invalid_argument(std::string("result: ") + what + " is " + std::to_string(found) +
                                   ", but that of the image is " + std::to_string(wanted));
    job.border = options.border;
    job.border_value = windows.border_value;
    job.rounding = options.rounding;
    job.scale = 1 / (strength * strength);
    job.noise = 2 * rule.noise * rule.noise;
    job.threads = options.threads;
    return job;
}

}  // namespace

part part_of(const non_local_inputs& inputs) {
    return part_of(filter_inputs{.image = inputs.image, .mask = inputs.mask, .weights = inputs.weights});
}

non_local_call non_local_call_of(const part& given, const result_shapes& results, const non_local_rule& rule,
                                 const filter_options& options) {
    for (const auto& [argument, shape] : {std::pair{"mask", given.mask}, {"weights", given.weights}})
        if (shape && shape->channels != 1)
            throw invalid_argument(std::string(argument) + ": channels is " + std::to_string(shape->channels) +
                                   ", must be 1: the channels of a pixel count together");
    non_local_call call{checked_job(given, results.result, rule, options), box_filter_job(given, results, options)};
    call.sampled = call.samples.sampled() || results.count;
    return call;
}

void check_memory(const non_local_inputs& inputs, const filter_outputs& outputs) {
    check_inputs({.image = inputs.image, .mask = inputs.mask, .weights = inputs.weights});
    check_results({{"image", inputs.image}, {"mask", inputs.mask}, {"weights", inputs.weights}},
                  {{"result", outputs.result}, {"count", outputs.count}});
}

non_local_call make_non_local_call(const non_local_inputs& inputs, const filter_outputs& outputs,
                                   const non_local_rule& rule, const filter_options& options) {
    check_inputs({.image = inputs.image, .mask = inputs.mask, .weights = inputs.weights});
    const auto count = outputs.count.data != nullptr ? std::optional(outputs.count.shape) : std::nullopt;
    const non_local_call call = non_local_call_of(part_of(inputs), {outputs.result.shape, count}, rule, options);
    check_memory(inputs, outputs);
    return call;
}

}  // namespace boxsum::filters
