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
    border_mode border = border_mode::shrink;
    std::optional<double> border_value;
    std::optional<double> nodata;     ///< pixels of this value do not count
    bool ignore_nan = false;          ///< nor do those that are NaN
    std::int64_t min_count = 1;       ///< of pixels that count, for a result
    std::optional<double> fill = {};  ///< the result where there are fewer
    std::string mask = {};            ///< an image file: pixels where it is 0 do not count
    std::string weights = {};         ///< an image file: how much each pixel counts
    double min_weight = 0;            ///< what must count, with weights
    int threads = 0;
    std::string device = "auto";  ///< "auto", "cpu", "cuda", "cuda:N"
};

/// --border, --border-value, --nodata, --ignore-nan, --min-count, --fill, --mask, --weights, --min-weight, --threads,
/// --device
void add_filter_options(CLI::App& command, filter_options& options);

/// Runs a filter where --device says: `on_cpu`, or `on_gpu` on a stream of that GPU. Throws `unsupported` for no such
/// device. What the library refuses is said of the option that gave it: of `window_option`
/// ("--window: ") in place of its argument `window`.
void run_filter(const filter_options& options, std::string_view window_option, const std::function<void()>& on_cpu,
                const std::function<void(cuda::stream_ref)>& on_gpu);

/// What --window and --origin say, which filters of one window take.
struct window_choice {
    window_size size{15, 15};
    origin moved = {};  ///< pixels up and left
};

/// --window N[,M], of 15 if it is not given, and --origin N[,M].
void add_window_options(CLI::App& command, window_choice& window);

/// Throws usage_error for an origin that takes the window off its pixel.
window window_of(const window_choice& chosen);

/// The options as the library takes them, but for the window. Throws usage_error for a border's value without that
/// border.
boxsum::filter_options library_options(const filter_options& options);

/// The same for an image whose file may say which value means no data (GDAL's tag): that value does not count.
boxsum::filter_options options_for(const image& source, boxsum::filter_options how);

/// The same, and that value is the result of this type where too little counts, if --fill says nothing else: of pixels
/// of the image's own type, and floating ones of floating images.
boxsum::filter_options options_for(const image& source, boxsum::filter_options how, dtype result);

/// The same with so many threads.
boxsum::filter_options with_threads(boxsum::filter_options how, int threads);

/// Which pixels count, and how much: images without data where all count alike.
struct sampling {
    image mask;
    image weights;

    bool given() const { return mask.view.data != nullptr || weights.view.data != nullptr; }
};

/// The image and what says how its pixels count.
filter_inputs inputs_of(const image& source, const sampling& samples);

/// The mask and the weights that the options name, of the region.
sampling read_sampling(const filter_options& options, const source_options& source);

/// Whether a format holds integers only: PNG, JPEG, PGM, PPM.
bool integers_only(image_format format) noexcept;

/// The floating type for results of a filter on such an image: 64f for 64f, unless the format is PFM; else 32f.
dtype floating_result_type(dtype image, image_format format) noexcept;

/// A 32f image as integers of the result's type (8u, 16u or 16s): floor(scale * x + offset + 1/2), clamped to the type
/// and, unless it is 0, to `maxval`. NaN becomes 0. Both are packed.
void quantise(const writable_image& source, const any_view& result, double scale, double offset,
              std::int64_t maxval = 0);
writable_image quantised(const writable_image& source, dtype type, double scale, double offset);

/// Reads an image for a filter; 16f is widened to 32f, integers of 32 and 64 bits become 8u, 16u, 16s or 64f, whichever
/// holds them and the values that `filter` has for pixels exactly.
image read_filter_input(const std::string& path, const source_options& options, const filter_options& filter = {});

/// An image of the same extents and another type.
writable_image allocate_like(const view_shape& shape, dtype type);

}  // namespace boxsum::cli
