#include "convolve/job.hpp"

#include "core/view_checks.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace boxsum::convolution {
namespace {

constexpr std::int64_t most = 64;

bool has_type(const view_shape& shape, std::initializer_list<dtype> types) {
    return std::find(types.begin(), types.end(), shape.type) != types.end();
}

void require_equal(const char* what, std::int64_t result, std::int64_t image) {
    if (result != image)
        throw invalid_argument("result: has " + std::to_string(result) + " " + what + ", but the image has " +
                               std::to_string(image));
}

std::vector<double> weights_of(const image_view<const double>& kernel, kernel_direction direction) {
    std::vector<double> weights;
    for (std::int64_t r = 0; r < kernel.rows(); ++r)
        for (std::int64_t c = 0; c < kernel.cols(); ++c) {
            if (!std::isfinite(kernel(r, c)))
                throw invalid_argument("kernel: the weight at row " + std::to_string(r) + ", column " +
                                       std::to_string(c) + " is not finite");
            weights.push_back(kernel(r, c));
        }
    if (direction == kernel_direction::convolution) std::reverse(weights.begin(), weights.end());
    return weights;
}

}  // namespace

job make_job(const view_shape& image, const image_view<const double>& kernel, const view_shape& result,
             const convolve_options& options) {
    (void)checked_span_bytes("image", image);
    (void)check_read("kernel", kernel);
    (void)checked_span_bytes("result", result);
    if (!has_type(image, {dtype::u8, dtype::u16, dtype::s16, dtype::f32, dtype::f64}))
        throw unsupported("image: of " + std::string(name_of(image.type)) + "; must be 8u, 16u, 16s, 32f or 64f");
    if (!has_type(result, {dtype::f32, dtype::f64}))
        throw unsupported("result: of " + std::string(name_of(result.type)) + "; must be 32f or 64f");
    if (image.type == dtype::f64 && result.type != dtype::f64)
        throw unsupported("result: of 32f for an image of 64f; must be 64f");
    require_equal("planes", result.planes, image.planes);
    require_equal("rows", result.rows, image.rows);
    require_equal("columns", result.cols, image.cols);
    require_equal("channels", result.channels, image.channels);
    if (kernel.planes() != 1 || kernel.channels() != 1)
        throw invalid_argument("kernel: has " + std::to_string(kernel.planes()) + " planes and " +
                               std::to_string(kernel.channels()) + " channels; must have one of each");
    if (kernel.rows() > most || kernel.cols() > most)
        throw unsupported("kernel: is " + std::to_string(kernel.rows()) + " x " + std::to_string(kernel.cols()) +
                          "; must be at most 64 x 64");
    const bool known_border = options.border == border_mode::constant || options.border == border_mode::replicate ||
                              options.border == border_mode::reflect;
    if (!known_border)
        throw invalid_argument("border: is " +
                               (options.border == border_mode::shrink
                                    ? std::string("shrink")
                                    : std::to_string(static_cast<int>(options.border))) +
                               "; must be constant, replicate or reflect");
    if (options.direction != kernel_direction::correlation && options.direction != kernel_direction::convolution)
        throw invalid_argument("direction: is " + std::to_string(static_cast<int>(options.direction)) +
                               "; must be correlation or convolution");
    if (!std::isfinite(options.border_value))
        throw invalid_argument("border_value: is " + text_of(options.border_value) + "; must be finite");
    check_threads(options.threads);
    const bool turned = options.direction == kernel_direction::convolution;
    const auto before = [&](std::int64_t extent) { return static_cast<int>((extent - (turned ? 1 : 0)) / 2); };
    return {image,
            result,
            static_cast<int>(kernel.rows()),
            static_cast<int>(kernel.cols()),
            before(kernel.rows()),
            before(kernel.cols()),
            weights_of(kernel, options.direction),
            options.border,
            options.border_value};
}

}  // namespace boxsum::convolution
