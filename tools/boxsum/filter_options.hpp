#pragma once

#include "image_io/format.hpp"
#include "image_io/image.hpp"
#include "source.hpp"

#include <boxsum/cuda/stream.hpp>
#include <boxsum/filters.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace boxsum::cli {

/// What `blur`, `threshold`, `stats` and `normalize` share.
struct filter_options {
    std::string border = "shrink";
    std::optional<double> border_value;
    int threads = 0;
    std::string device = "auto";  ///< "auto", "cpu", "cuda", "cuda:N"
};

/// --border, --border-value, --threads, --device
void add_filter_options(CLI::App& command, filter_options& options);

/// Runs a filter where --device says: `on_cpu`, or `on_gpu` on a stream of that GPU. "auto" is the CPU, because an
/// image from a file travels to a GPU and back in longer than the CPU takes, unless BOXSUM_DEVICE names a GPU. Throws
/// `unsupported` for no such device. What the library refuses is said of the option that gave it: of `window_option`
/// ("--window: ") in place of its argument `window`.
void run_filter(const filter_options& options, std::string_view window_option, const std::function<void()>& on_cpu,
                const std::function<void(cuda::stream_ref)>& on_gpu);

/// --window N[,M]
void add_window_option(CLI::App& command, std::string& window);

/// The options as the library takes them, but for the window. Throws usage_error for a border's value without that
/// border.
boxsum::filter_options library_options(const filter_options& options);

/// "N" or "N,M" after the parser has checked it: odd, at least 1.
window_size window_of(const std::string& text);

/// "R" or "R,C", not negative. Throws usage_error.
window_radius radius_of(const std::string& text);

/// Whether a format holds integers only: PNG, JPEG, PGM, PPM.
bool integers_only(image_format format) noexcept;

/// The floating type for results of a filter on such an image: 64f for 64f, unless the format is PFM; else 32f.
dtype floating_result_type(dtype image, image_format format) noexcept;

/// A 32f image as integers: floor(scale * x + offset + 1/2), clamped to the type (8u or 16u). NaN becomes 0.
writable_image quantised(const writable_image& source, dtype type, double scale, double offset);

/// Reads an image for a filter; 16f is widened to 32f, which holds it exactly.
image read_filter_input(const std::string& path, const source_options& options);

/// An image of the same extents and another type.
writable_image allocate_like(const view_shape& shape, dtype type);

}  // namespace boxsum::cli
