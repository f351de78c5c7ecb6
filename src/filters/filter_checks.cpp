#include "filters/filter_checks.hpp"

#include "core/checked_size.hpp"
#include "core/view_checks.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

namespace boxsum::filters {
namespace {

constexpr std::int64_t largest_supported_window = std::int64_t{1} << 46;        // times 65535 fits 62 bits
constexpr std::int64_t largest_16_bit_variance_window = std::int64_t{1} << 32;  // times 65535^2 fits 64 bits

std::string text(double value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

std::string extents(const view_shape& s) {
    return std::to_string(s.planes) + " x " + std::to_string(s.rows) + " x " + std::to_string(s.cols) + " x " +
           std::to_string(s.channels);
}

/// Samples of the largest window along one axis; nothing when that does not fit 64 bits.
std::optional<std::int64_t> axis_pixels(std::int64_t radius, border_mode border, std::int64_t extent) {
    const auto twice = checked_multiply(radius, 2);
    const auto width = twice ? checked_add(*twice, 1) : twice;
    if (border != border_mode::shrink) return width;
    return width ? std::min(*width, extent) : extent;
}

std::optional<std::int64_t> window_pixels(window_radius radius, border_mode border, const view_shape& image) {
    const auto rows = axis_pixels(radius.rows, border, image.rows);
    const auto cols = axis_pixels(radius.cols, border, image.cols);
    return rows && cols ? checked_multiply(*rows, *cols) : std::nullopt;
}

void check_extent(std::string_view what, std::int64_t value) {
    if (value < 1 || value % 2 == 0)
        throw invalid_argument("window: " + std::string(what) + " is " + std::to_string(value) +
                               ", must be odd and at least 1");
}

}  // namespace

void check_image(const const_any_view& image) {
    check_view("image", image);
    switch (image.shape.type) {
        case dtype::u8:
        case dtype::u16:
        case dtype::s16:
        case dtype::f32:
        case dtype::f64:
            return;
        default:
            throw unsupported("image: type is " + std::string(name_of(image.shape.type)) +
                              ", filters take 8u, 16u, 16s, 32f and 64f");
    }
}

void check_disjoint(std::string_view first_name, const const_any_view& first, std::string_view second_name,
                    const const_any_view& second) {
    if (overlap(first, second))
        throw invalid_argument(std::string(first_name) + ": overlaps " + std::string(second_name));
}

void check_result(std::string_view argument, const any_view& result, const const_any_view& image,
                  std::initializer_list<dtype> types) {
    check_view(argument, result);
    const view_shape &a = result.shape, &b = image.shape;
    if (a.planes != b.planes || a.rows != b.rows || a.cols != b.cols || a.channels != b.channels)
        throw invalid_argument(std::string(argument) + ": planes x rows x cols x channels are " + extents(a) +
                               ", must be the image's " + extents(b));
    if (std::find(types.begin(), types.end(), a.type) == types.end()) {
        std::string allowed;
        for (const dtype type : types)
            if (allowed.find(name_of(type)) == std::string::npos)
                allowed += (allowed.empty() ? "" : ", ") + std::string(name_of(type));
        throw unsupported(std::string(argument) + ": type is " + std::string(name_of(a.type)) + ", must be one of " +
                          allowed);
    }
    check_disjoint(argument, result, "image", image);
}

window_radius check_window(window_size window) {
    check_extent("rows", window.rows);
    check_extent("cols", window.cols);
    return {window.rows / 2, window.cols / 2};
}

void check_radius(window_radius radius, border_mode border, const view_shape& image) {
    if (radius.rows < 0)
        throw invalid_argument("radius: rows is " + std::to_string(radius.rows) + ", must not be negative");
    if (radius.cols < 0)
        throw invalid_argument("radius: cols is " + std::to_string(radius.cols) + ", must not be negative");
    const auto pixels = window_pixels(radius, border, image);
    if (!pixels || *pixels > largest_supported_window)
        throw unsupported("radius: is " + std::to_string(radius.rows) + ", " + std::to_string(radius.cols) +
                          ": windows of more than 2^46 pixels are not supported");
}

std::int64_t largest_window(window_radius radius, border_mode border, const view_shape& image) {
    return *window_pixels(radius, border, image);
}

void check_variance_window(window_radius radius, border_mode border, const view_shape& image) {
    if (is_floating(image.type) || image.type == dtype::u8) return;
    const std::int64_t pixels = largest_window(radius, border, image);
    if (pixels > largest_16_bit_variance_window)
        throw unsupported("window: has " + std::to_string(pixels) +
                          " pixels, variances of 16-bit images are supported up to 2^32");
}

void check_border(border_mode border, double border_value, dtype image) {
    if (name_of(border).empty())
        throw invalid_argument("border: is " + std::to_string(static_cast<int>(border)) + ", not a border_mode");
    if (border != border_mode::constant || image == dtype::f64) return;
    if (image == dtype::f32) {  // infinities and NaN are values, too
        if (std::isfinite(border_value) && std::abs(border_value) > std::numeric_limits<float>::max())
            throw invalid_argument("border_value: is " + text(border_value) +
                                   ", must be a number of the image's type 32f");
        return;
    }
    const double low = image == dtype::s16 ? -32768 : 0;
    const double high = image == dtype::u8 ? 255 : image == dtype::u16 ? 65535 : 32767;
    if (!(border_value >= low && border_value <= high) || std::floor(border_value) != border_value)
        throw invalid_argument("border_value: is " + text(border_value) + ", must be an integer of the image's type " +
                               std::string(name_of(image)));
}

void check_statistics_results(const const_any_view& image, const local_statistics_results& results) {
    if (!results.mean && !results.variance && !results.deviation)
        throw invalid_argument("results: none of mean, variance and deviation is given");
    if (results.mean) check_result("mean", *results.mean, image, {image.shape.type, dtype::f32, dtype::f64});
    if (results.variance) check_result("variance", *results.variance, image, {dtype::f32, dtype::f64});
    if (results.deviation) check_result("deviation", *results.deviation, image, {dtype::f32, dtype::f64});
    if (results.mean && results.variance) check_disjoint("variance", *results.variance, "mean", *results.mean);
    if (results.mean && results.deviation) check_disjoint("deviation", *results.deviation, "mean", *results.mean);
    if (results.variance && results.deviation)
        check_disjoint("deviation", *results.deviation, "variance", *results.variance);
}

threshold_values check_threshold(const const_any_view& image, const any_view& result,
                                 const threshold_options& options) {
    check_image(image);
    const window_radius radius = check_window(options.window);
    if (name_of(options.method).empty())
        throw invalid_argument("method: is " + std::to_string(static_cast<int>(options.method)) +
                               ", not a threshold_method");
    const double k = options.k.value_or(default_k(options.method));
    check_finite("k", k);
    if (options.sauvola_range) {
        check_positive("sauvola_range", *options.sauvola_range);
        if (options.method != threshold_method::sauvola)
            throw invalid_argument("sauvola_range: has no meaning for the method " +
                                   std::string(name_of(options.method)));
    }
    check_border(options.border, options.border_value, image.shape.type);
    check_radius(radius, options.border, image.shape);
    check_variance_window(radius, options.border, image.shape);
    check_result("result", result, image, {dtype::u8});
    return {radius, k, options.sauvola_range.value_or(default_sauvola_range(image.shape.type))};
}

void check_threads(int threads) {
    if (threads < 0)
        throw invalid_argument("threads: is " + std::to_string(threads) + ", must be 0 (automatic) or more");
}

void check_finite(std::string_view argument, double value) {
    if (!std::isfinite(value))
        throw invalid_argument(std::string(argument) + ": is " + text(value) + ", must be finite");
}

void check_positive(std::string_view argument, double value) {
    if (!std::isfinite(value) || value <= 0)
        throw invalid_argument(std::string(argument) + ": is " + text(value) + ", must be finite and above 0");
}

}  // namespace boxsum::filters
