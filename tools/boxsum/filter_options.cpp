#include "filter_options.hpp"

#include "compute.hpp"
#include "cuda_device.hpp"
#include "device.hpp"
#include "errors.hpp"
#include "image_io/image_file.hpp"
#include "option_types.hpp"

#include <boxsum/cuda/device.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace boxsum::cli {
namespace {

std::string check_window(const std::string& text) {
    const auto v = parse_integers(text);
    if (!v || v->size() > 2) return "'" + text + "' is not N or N,M";
    for (const std::int64_t n : *v)
        if (n < 1 || n % 2 == 0) return "'" + text + "': a window has an odd number of rows and columns, at least 1";
    return {};
}

std::string chosen_device(const std::string& device) {
    if (device != "auto" && device != "cuda") return device;
    const std::string chosen = device_of_environment();
    return device == "cuda" ? device : chosen.empty() ? "cpu" : chosen;
}

/// A message of the library, which calls its arguments by their names in the API.
std::string in_words_of_options(std::string_view message, std::string_view window_option) {
    const std::pair<std::string_view, std::string_view> names[] = {
        {"window: ", window_option}, {"radius: ", window_option}, {"border_value: ", "--border-value: "}};
    for (const auto& [argument, option] : names)
        if (message.starts_with(argument)) return std::string(option).append(message.substr(argument.size()));
    return std::string(message);
}

template <typename T>
void quantise(const writable_image& source, const writable_image& result, double scale, double offset) {
    const auto* from = static_cast<const float*>(source.view.data);
    auto* to = static_cast<T*>(result.view.data);
    const std::int64_t count = source.view.shape.plane_stride / static_cast<std::int64_t>(sizeof(float));
    for (std::int64_t i = 0; i < count; ++i) {
        const double value = std::floor(scale * static_cast<double>(from[i]) + offset + 0.5);
        to[i] =
            std::isnan(value) ? T{0} : static_cast<T>(std::clamp(value, 0.0, double{std::numeric_limits<T>::max()}));
    }
}

}  // namespace

void add_filter_options(CLI::App& command, filter_options& options) {
    command
        .add_option("--border", options.border,
                    "what lies beyond the border: shrink, reflect, replicate, constant, mirror, wrap")
        ->capture_default_str()
        ->check(CLI::IsMember({"shrink", "reflect", "replicate", "constant", "mirror", "wrap"}));
    command.add_option("--border-value", options.border_value, "the value, with --border constant")
        ->capture_default_str()
        ->check(finite_number);
    command.add_option("--threads", options.threads, "CPU threads; 0 chooses by size")
        ->capture_default_str()
        ->check(CLI::Range(0, 4096));
    command.add_option("--device", options.device, "auto, cpu, cuda or cuda:N")
        ->capture_default_str()
        ->check(CLI::Validator(check_device, ""));
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

void add_window_option(CLI::App& command, std::string& window) {
    command.add_option("--window", window, "rows and columns of the window, N or N,M, odd")
        ->capture_default_str()
        ->check(CLI::Validator(check_window, ""));
}

boxsum::filter_options library_options(const filter_options& options) {
    return {
        .border = *border_from_name(options.border), .border_value = options.border_value, .threads = options.threads};
}

window_size window_of(const std::string& text) {
    const auto v = parse_integers(text);
    return {v->front(), v->back()};
}

window_radius radius_of(const std::string& text) {
    const auto v = parse_integers(text);
    if (!v || v->size() > 2 || *std::min_element(v->begin(), v->end()) < 0)
        throw usage_error("--radius: '" + text + "' is not R or R,C with R and C at least 0");
    return {v->front(), v->back()};
}

bool integers_only(image_format format) noexcept {
    return format == image_format::png || format == image_format::jpeg || format == image_format::pnm;
}

dtype floating_result_type(dtype image, image_format format) noexcept {
    return image == dtype::f64 && format != image_format::pfm ? dtype::f64 : dtype::f32;
}

writable_image quantised(const writable_image& source, dtype type, double scale, double offset) {
    const writable_image result = allocate_like(source.view.shape, type);
    if (type == dtype::u8)
        quantise<std::uint8_t>(source, result, scale, offset);
    else
        quantise<std::uint16_t>(source, result, scale, offset);
    return result;
}

image read_filter_input(const std::string& path) {
    const image source = read_image(path);
    return source.view.shape.type == dtype::f16 ? widened(source) : source;
}

writable_image allocate_like(const view_shape& shape, dtype type) {
    return allocate_image(packed_shape(type, shape.rows, shape.cols, shape.channels));
}

}  // namespace boxsum::cli
