#include "filter_options.hpp"

#include "colour.hpp"
#include "compute.hpp"
#include "cuda_device.hpp"
#include "device.hpp"
#include "errors.hpp"
#include "machine_info.hpp"
#include "option_types.hpp"
#include "pixels.hpp"

#include <boxsum/cuda/device.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace boxsum::cli {
namespace {

std::optional<window_size> parse_window(std::string_view text) {
    const auto v = parse_integers(text);
    if (!v || v->size() > 2) return {};
    for (const std::int64_t n : *v)
        if (n < 1) return {};
    return window_size{v->front(), v->back()};
}

std::optional<origin> parse_origin(std::string_view text) {
    const auto v = parse_integers(text);
    if (!v || v->size() > 2) return {};
    return origin{v->front(), v->back()};
}

void check_origin(std::int64_t moved, std::int64_t extent, const char* what) {
    const std::int64_t least = -(extent / 2), most = (extent - 1) / 2;
    if (moved < least || moved > most)
        throw usage_error("--origin: is " + std::to_string(moved) + ", must be " + std::to_string(least) + " to " +
                          std::to_string(most) + " for a window of " + std::to_string(extent) + " " + what);
}

/// A message of the library, which calls its arguments by their names in the API.
std::string in_words_of_options(std::string_view message, std::string_view window_option) {
    const std::pair<std::string_view, std::string_view> names[] = {
        {"window: ", window_option},        {"radius: ", window_option}, {"border_value: ", "--border-value: "},
        {"nodata: ", "--nodata: "},         {"fill: ", "--fill: "},      {"min_count: ", "--min-count: "},
        {"min_weight: ", "--min-weight: "}, {"kernel: ", "--kernel: "},  {"patch: ", "--patch: "},
        {"inputs.mask: ", "--mask: "},      {"mask: ", "--mask: "},      {"inputs.weights: ", "--weights: "},
        {"weights: ", "--weights: "},       {"sum: ", "--sum: "},        {"count: ", "--count: "},
    };
    for (const auto& [argument, option] : names)
        if (message.starts_with(argument)) return std::string(option).append(message.substr(argument.size()));
    return std::string(message);
}

/// A number of a file as a value that pixels of a type can have; nothing for another text or number.
std::optional<double> value_of_type(std::string_view text, dtype type) {
    text = text.substr(0, text.find_last_not_of(" \n") + 1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    if (type == dtype::f32 && std::isfinite(value)) return static_cast<double>(static_cast<float>(value));
    if (is_floating(type)) return value;
    const double most = type == dtype::u8 ? 255 : type == dtype::u16 ? 65535 : 32767;
    const double least = type == dtype::s16 ? -32768 : 0;
    if (value < least || value > most || value != std::floor(value)) return {};
    return value;
}

/// A copy as 32f.
image as_floats(const image& source) {
    const view_shape& s = source.view.shape;
    const writable_image result = allocate_like(s, dtype::f32);
    visit_type(s.type, [&]<typename T>(std::type_identity<T>) {
        for (std::int64_t r = 0; r < s.rows; ++r) {
            const T* const from = row_as<T>(source.view, r);
            std::transform(from, from + s.cols * s.channels, row_as<float>(result.view, r),
                           [](T value) { return static_cast<float>(number_of(value)); });
        }
    });
    return result;
}

template <typename T>
void quantise_as(const writable_image& source, const any_view& result, double scale, double offset,
                 std::int64_t maxval) {
    constexpr double least = std::numeric_limits<T>::min();
    const double most = maxval > 0 ? static_cast<double>(maxval) : double{std::numeric_limits<T>::max()};
    const auto* from = static_cast<const float*>(source.view.data);
    auto* to = static_cast<T*>(result.data);
    const std::int64_t count = source.view.shape.plane_stride / static_cast<std::int64_t>(sizeof(float));
    for (std::int64_t i = 0; i < count; ++i) {
        const double value = std::floor(scale * static_cast<double>(from[i]) + offset + 0.5);
        to[i] = std::isnan(value) ? T{0} : static_cast<T>(std::clamp(value, least, most));
    }
}

}  // namespace

void add_filter_options(CLI::App& command, filter_options& options) {
    add_parsed(command, "--border", options.border, border_from_name,
               "is none of shrink, reflect, replicate, constant, mirror, wrap",
               "what lies beyond the border: shrink (nothing, windows are cut off),\nreflect (cba|abcd|dcb), "
               "replicate (aaa|abcd|ddd), constant (--border-value),\nmirror (dcb|abcd|cba), wrap (bcd|abcd|abc)")
        ->default_str("shrink");
    command.add_option("--border-value", options.border_value, "the value, with --border constant (default: 0)")
        ->check(finite_number);
    command.add_option("--nodata", options.nodata,
                       "pixels of this value do not count (default: what GeoTIFF or FITS says)");
    command.add_flag("--ignore-nan", options.ignore_nan, "nor do pixels that are NaN");
    command.add_option("--mask", options.mask, "image file: pixels where it is 0 do not count")->check(some_text);
    CLI::Option* weights =
        command
            .add_option("--weights", options.weights, "image file: how much each pixel counts, none where not above 0")
            ->check(some_text);
    command
        .add_option("--min-weight", options.min_weight, "weight that must count in a window for a result (default: 0)")
        ->check(finite_number)
        ->check(number_from_0)
        ->needs(weights);
    command
        .add_option("--min-count", options.min_count, "pixels that must count in a window for a result (default: 1)")
        ->check(positive_number);
    command.add_option("--fill", options.fill, "the result where fewer do (default: nodata, NaN or 0)");
    add_device_options(command, options.device, options.threads);
}

void run_filter(const filter_options& options, std::string_view window_option, const std::function<void()>& on_cpu,
                const std::function<void(cuda::stream_ref)>& on_gpu) {
    try {
        const std::string device = chosen_device(options.device);
        if (device == "cpu") return on_cpu();
        cuda::set_device(device_from_text(device));
        const cuda::stream stream;
        on_gpu(stream);
    } catch (const unsupported& e) {
        throw unsupported(in_words_of_options(e.what(), window_option));
    } catch (const invalid_argument& e) {
        throw invalid_argument(in_words_of_options(e.what(), window_option));
    }
}

void add_window_options(CLI::App& command, window_choice& window) {
    add_parsed(
        command, "-w,--window", window.size, parse_window, "is not N or N,M with N and M at least 1",
        "rows and columns of the window, N or N,M; its pixel is the middle\none, of an even number that behind the "
        "middle")
        ->default_str("15");
    add_parsed(command, "--origin", window.moved, parse_origin, "is not N or N,M with N and M integers",
               "pixels that the window is moved up and left, N or N,M")
        ->default_str("0");
}

window window_of(const window_choice& chosen) {
    const window_size& size = chosen.size;
    check_origin(chosen.moved.row, size.rows, "rows");
    check_origin(chosen.moved.col, size.cols, "columns");
    window moved = size;
    moved.above += chosen.moved.row;
    moved.below -= chosen.moved.row;
    moved.left += chosen.moved.col;
    moved.right -= chosen.moved.col;
    return moved;
}

boxsum::filter_options library_options(const filter_options& options) {
    if (options.border_value && options.border != border_mode::constant)
        throw usage_error("--border-value: needs --border constant, whose value it is");
    return {.border = options.border,
            .border_value = options.border_value.value_or(0),
            .nan = options.ignore_nan ? nan_mode::omit : nan_mode::propagate,
            .nodata = options.nodata,
            .min_count = options.min_count,
            .min_weight = options.min_weight,
            .fill = options.fill,
            .threads = bounded_threads(options.threads)};
}

boxsum::filter_options options_for(const image& source, boxsum::filter_options how) {
    const dtype type = source.view.shape.type;
    if (!how.nodata && source.metadata)
        for (const image_metadata::tiff_tag& tag : source.metadata->geo)
            if (tag.number == geo_tags::gdal_nodata) how.nodata = value_of_type(tag.text, type);
    return how;
}

boxsum::filter_options options_for(const image& source, boxsum::filter_options how, dtype result) {
    how = options_for(source, std::move(how));
    const dtype type = source.view.shape.type;
    if (!how.fill && (result == type || (is_floating(type) && is_floating(result)))) how.fill = how.nodata;
    return how;
}

boxsum::filter_options with_threads(boxsum::filter_options how, int threads) {
    how.threads = threads;
    return how;
}

filter_inputs inputs_of(const image& source, const sampling& samples) {
    return {.image = source.view, .mask = samples.mask.view, .weights = samples.weights.view};
}

sampling read_sampling(const filter_options& options, const source_options& source) {
    const auto read = [&](const std::string& path) -> image {
        if (path.empty()) return {};
        const image given = read_source(path, {.region = source.region, .grey = true});
        return given.alpha ? separate_alpha(given).colours : given;
    };
    sampling samples{read(options.mask), read(options.weights)};
    if (samples.weights.view.data != nullptr) samples.weights = as_floats(samples.weights);
    return samples;
}

bool integers_only(image_format format) noexcept {
    return format == image_format::png || format == image_format::jpeg || format == image_format::pnm;
}

dtype floating_result_type(dtype image, image_format format) noexcept {
    return image == dtype::f64 && format != image_format::pfm ? dtype::f64 : dtype::f32;
}

void quantise(const writable_image& source, const any_view& result, double scale, double offset, std::int64_t maxval) {
    if (result.shape.type == dtype::u8)
        quantise_as<std::uint8_t>(source, result, scale, offset, maxval);
    else if (result.shape.type == dtype::s16)
        quantise_as<std::int16_t>(source, result, scale, offset, maxval);
    else
        quantise_as<std::uint16_t>(source, result, scale, offset, maxval);
}

writable_image quantised(const writable_image& source, dtype type, double scale, double offset) {
    const writable_image result = allocate_like(source.view.shape, type);
    quantise(source, result.view, scale, offset);
    return result;
}

image read_filter_input(const std::string& path, const source_options& options, const filter_options& filter) {
    const image read = read_source(path, options);
    std::vector<double> values;
    for (const std::optional<double>& value : {filter.nodata, filter.border_value, filter.fill})
        if (value) values.push_back(*value);
    // Filters take integers of up to 16 bits: larger ones are computed in double where they do not fit.
    const image source = narrowed(read, 32, {dtype::u8, dtype::u16, dtype::s16, dtype::f64}, values);
    if (source.view.shape.type != dtype::f16) return source;
    image wide = widened(source);
    wide.alpha = source.alpha;
    return wide;
}

writable_image allocate_like(const view_shape& shape, dtype type) {
    return allocate_image(packed_shape(type, shape.rows, shape.cols, shape.channels));
}

}  // namespace boxsum::cli
