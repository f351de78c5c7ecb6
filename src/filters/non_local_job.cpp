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

non_local_job make_non_local_job(const view_shape& image, const view_shape& result, bool counts,
                                 const non_local_rule& rule, const filter_options& options) {
    refuse_sampling(options, non_local_on_devices);
    if (counts) throw unsupported("count: " + std::string(non_local_on_devices) + " count none");
    return checked_job({.image = image}, result, rule, options);
}

non_local_job make_non_local_job(const non_local_inputs& inputs, const filter_outputs& outputs,
                                 const non_local_rule& rule, const filter_options& options) {
    check_read("image", inputs.image);
    const non_local_job job =
        make_non_local_job(inputs.image.shape, outputs.result.shape, outputs.count.data != nullptr, rule, options);
    check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    return job;
}

non_local_call make_non_local_call(const non_local_inputs& inputs, const filter_outputs& outputs,
                                   const non_local_rule& rule, const filter_options& options) {
    const filter_inputs samples{.image = inputs.image, .mask = inputs.mask, .weights = inputs.weights};
    check_inputs(samples);
    const part given = part_of(samples);
    for (const auto& [argument, shape] : {std::pair{"mask", given.mask}, {"weights", given.weights}})
        if (shape && shape->channels != 1)
            throw invalid_argument(std::string(argument) + ": channels is " + std::to_string(shape->channels) +
                                   ", must be 1: the channels of a pixel count together");
    const auto count = outputs.count.data != nullptr ? std::optional(outputs.count.shape) : std::nullopt;
    non_local_call call{checked_job(given, outputs.result.shape, rule, options),
                        box_filter_job(given, {outputs.result.shape, count}, options)};
    check_results({{"image", inputs.image}, {"mask", inputs.mask}, {"weights", inputs.weights}},
                  {{"result", outputs.result}, {"count", outputs.count}});
    call.sampled = call.samples.sampled() || count;
    return call;
}

}  // namespace boxsum::filters
