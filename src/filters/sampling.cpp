#include "filters/sampling.hpp"

#include "core/rounding.hpp"
#include "core/view_checks.hpp"

#include <boxsum/error.hpp>

#include <string>
#include <tuple>

namespace boxsum::filters {

void check_value(std::string_view argument, double value, std::string_view whose, dtype type) {
    if (type == dtype::f64) return;
    if (is_floating(type)) {
        constexpr double largest_float16 = 65504;
        if (std::isfinite(value) &&
            std::abs(value) > (type == dtype::f16 ? largest_float16 : std::numeric_limits<float>::max()))
            throw invalid_argument(std::string(argument) + ": is " + text_of(value) + ", must be a number of " +
                                   std::string(whose) + " type " + std::string(name_of(type)));
        return;
    }
    const int bits = 8 * static_cast<int>(size_of(type)) - (is_signed(type) ? 1 : 0);
    const double end = std::ldexp(1.0, bits), low = is_signed(type) ? -end : 0;
    if (!(value >= low && value < end) || std::floor(value) != value)
        throw invalid_argument(std::string(argument) + ": is " + text_of(value) + ", must be an integer of " +
                               std::string(whose) + " type " + std::string(name_of(type)));
}

double as_pixel(double value, dtype image) {
    if (image == dtype::f16) return static_cast<double>(to_float(nearest_float16(value)));
    return image == dtype::f32 ? static_cast<double>(static_cast<float>(value)) : value;
}

namespace {

void check_sample_shape(std::string_view argument, const view_shape& given, dtype type, const view_shape& image) {
    if (given.type != type)
        throw unsupported(std::string(argument) + ": type is " + std::string(name_of(given.type)) + ", must be " +
                          std::string(name_of(type)));
    if (given.rows != image.rows || given.cols != image.cols)
        throw invalid_argument(std::string(argument) + ": rows x cols are " + std::to_string(given.rows) + " x " +
                               std::to_string(given.cols) + ", must be the image's " + std::to_string(image.rows) +
                               " x " + std::to_string(image.cols));
    for (const auto& [what, value, of_image] :
         {std::tuple{"planes", given.planes, image.planes}, {"channels", given.channels, image.channels}})
        if (value != 1 && value != of_image)
            throw invalid_argument(std::string(argument) + ": " + what + " is " + std::to_string(value) +
                                   ", must be 1 or the image's " + std::to_string(of_image));
}

}  // namespace

void check_samples(const view_shape& image, const std::optional<view_shape>& mask,
                   const std::optional<view_shape>& weights, nan_mode nan, const std::optional<double>& nodata) {
    if (mask) check_sample_shape("mask", *mask, dtype::u8, image);
    if (weights) check_sample_shape("weights", *weights, dtype::f32, image);
    if (nan != nan_mode::propagate && nan != nan_mode::omit)
        throw invalid_argument("nan: is " + std::to_string(static_cast<int>(nan)) + ", not a nan_mode");
    if (nodata) check_value("nodata", *nodata, "the image's", image.type);
}

}  // namespace boxsum::filters
