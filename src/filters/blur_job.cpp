#include "filters/blur_job.hpp"

#include "core/blur_terms.hpp"
#include "core/view_checks.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/error.hpp>

#include <cmath>
#include <limits>
#include <string>

namespace boxsum::filters {
namespace {

__extension__ using uint128 = unsigned __int128;

[[noreturn]] void refuse_type(const char* argument, dtype type, const char* allowed) {
    throw invalid_argument(std::string(argument) + ": type is " + std::string(name_of(type)) + ", must be " + allowed);
}

void require_same(const char* argument, const char* what, std::int64_t value, std::int64_t wanted,
                  const char* other = "image") {
    if (value != wanted)
        throw invalid_argument(std::string(argument) + ": " + what + " is " + std::to_string(value) +
                               ", but that of the " + other + " is " + std::to_string(wanted));
}

/// The widest window whose weights, times the largest pixel, fit 64 bits.
std::int64_t largest_exact_radius(dtype image, int order) {
    const uint128 most = std::numeric_limits<std::uint64_t>::max() / (image == dtype::u8 ? 255 : 65535);
    const auto fits = [&](std::int64_t radius) {
        uint128 weights = 1;
        for (int i = 0; i < 2 * order; ++i) {
            weights *= static_cast<std::uint64_t>(2 * radius + 1);
            if (weights > most) return false;
        }
        return true;
    };
    std::int64_t low = 0, high = std::int64_t{1} << 30;
    while (high - low > 1) {
        const std::int64_t middle = (low + high) / 2;
        (fits(middle) ? low : high) = middle;
    }
    return low;
}

}  // namespace

void check_blur(const variable_inputs& inputs, const filter_outputs& outputs, const variable_blur_options& options) {
    const view_shape &image = inputs.image.shape, &radius = inputs.radius.shape, &result = outputs.result.shape;
    (void)checked_reach("image", image, access::read);
    if (image.type != dtype::u8 && image.type != dtype::u16)
        throw unsupported("image: type is " + std::string(name_of(image.type)) + ", must be 8u or 16u");
    (void)checked_reach("radius", radius, access::read);
    if (radius.type != dtype::u8 && radius.type != dtype::u16 && radius.type != dtype::u32 && radius.type != dtype::s32)
        refuse_type("radius", radius.type, "8u, 16u, 32u or 32s");
    require_same("radius", "rows", radius.rows, image.rows);
    require_same("radius", "cols", radius.cols, image.cols);
    require_same("radius", "channels", radius.channels, 1, "map of radii");
    if (radius.planes != 1) require_same("radius", "planes", radius.planes, image.planes);
    (void)checked_reach("result", result, access::write);
    if (result.type != image.type && result.type != dtype::f32 && result.type != dtype::f64)
        refuse_type("result", result.type, "the image's, 32f or 64f");
    require_same("result", "rows", result.rows, image.rows);
    require_same("result", "cols", result.cols, image.cols);
    require_same("result", "channels", result.channels, image.channels);
    require_same("result", "planes", result.planes, image.planes);
    if (outputs.count.data != nullptr || outputs.count.shape.rows != 0)
        throw unsupported("count: a blur of weighted pixels counts none");
    refuse_samples(inputs.mask, inputs.weights, "a blur of weighted pixels");
    if (inputs.at != origin{} || (inputs.whole != extent{} && inputs.whole != extent{image.rows, image.cols}))
        throw unsupported("at and whole: the image must be the whole");
    if (options.order < 1 || options.order > highest_blur_order)
        throw invalid_argument("order: is " + std::to_string(options.order) + ", must be 1 to 3");
    check_threads(options.threads);
    if (options.rounding != rounding_mode::half_up && options.rounding != rounding_mode::floor)
        throw invalid_argument("rounding: is " + std::to_string(static_cast<int>(options.rounding)) +
                               ", not a rounding_mode");
}

void check_blur_memory(const variable_inputs& inputs, const filter_outputs& outputs) {
    check_read("image", inputs.image);
    check_read("radius", inputs.radius);
    check_written("result", outputs.result);
    if (overlap(outputs.result, inputs.image)) throw invalid_argument("result: overlaps image");
    if (overlap(outputs.result, inputs.radius)) throw invalid_argument("result: overlaps radius");
}

void require_exact_blur(dtype image, int order, std::int64_t largest_radius) {
    const std::int64_t exact = largest_exact_radius(image, order);
    if (largest_radius > exact)
        throw unsupported("radius: the largest is " + std::to_string(largest_radius) + "; sums of order " +
                          std::to_string(order) + " are exact up to " + std::to_string(exact));
}

void check_lens(const const_any_view& depth, const any_view& radii, const thin_lens& lens) {
    check_read("depth", depth);
    check_written("radii", radii);
    const view_shape &d = depth.shape, &s = radii.shape;
    if (d.type != dtype::u8 && d.type != dtype::u16 && d.type != dtype::f32 && d.type != dtype::f64)
        refuse_type("depth", d.type, "8u, 16u, 32f or 64f");
    if (s.type != dtype::u8 && s.type != dtype::u16 && s.type != dtype::u32)
        refuse_type("radii", s.type, "8u, 16u or 32u");
    require_same("depth", "channels", d.channels, 1, "map of radii");
    require_same("radii", "rows", s.rows, d.rows, "depth");
    require_same("radii", "cols", s.cols, d.cols, "depth");
    require_same("radii", "channels", s.channels, 1, "depth");
    require_same("radii", "planes", s.planes, d.planes, "depth");
    if (overlap(radii, depth)) throw invalid_argument("radii: overlaps depth");
    if (!(lens.focus > 0) || !std::isfinite(lens.focus))
        throw invalid_argument("focus: is " + text_of(lens.focus) + ", must be above 0 and finite");
    if (!(lens.aperture >= 0) || !std::isfinite(lens.aperture))
        throw invalid_argument("aperture: is " + text_of(lens.aperture) + ", must be finite, not negative");
    const std::int64_t most = s.type == dtype::u8 ? 255 : s.type == dtype::u16 ? 65535 : std::int64_t{UINT32_MAX};
    if (lens.largest_radius < 0 || lens.largest_radius > most)
        throw invalid_argument("largest_radius: is " + std::to_string(lens.largest_radius) + ", radii of " +
                               std::string(name_of(s.type)) + " are 0 to " + std::to_string(most));
}

}  // namespace boxsum::filters
