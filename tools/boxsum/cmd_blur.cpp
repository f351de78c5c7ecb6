#include "cmd_blur.hpp"

#include "errors.hpp"
#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "option_types.hpp"

#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/variable_blur.hpp>
#include <boxsum/variable_blur.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* blur_footer =
    R"(The mean of the window of 2R+1 rows and 2C+1 columns around every pixel; its cost does not depend on the radius.
Integer results are rounded half up. Colour channels are blurred each by itself, those of transparent images weighted by
their opacity, so that what cannot be seen does not bleed into what can. With --radius-map every pixel has its
own radius: the value of that pixel in a grey image of 8u, 16u, 32u or 32s and of the same size.

With --depth the image is blurred as by a lens: what has depth z by A |z - F| / z pixels to each side, with the --aperture A
and the --focus F, and no more than 4 A. Depths are the values of a grey image of 8u, 16u, 32f or 64f and of the same size,
greater ones farther away, and F is one of them. Images are of 8u or 16u; --order 1 is a box, 2 a tent, 3 smoother still.

Examples:
  boxsum blur photo.png blurred.png -r 12
  boxsum blur photo.png blurred.png --radius 0,40 --border reflect
  boxsum blur photo.png means.tif --radius 3 --type 32f
  boxsum blur photo.png depth-of-field.png --radius-map radii.png
  boxsum blur photo.png focused.png --depth depth.png --focus 90 --aperture 20
  boxsum blur photos/a.png photos/b.png -r 5 -o blurred/{name}.png)";

/// The mean by one radius or by a map of radii, in the type of `result`.
class mean_filter {
  public:
    explicit mean_filter(const blur_options& options)
        : options_(options), how_(library_options(options.common.filter)) {
        if (options.radius) how_.window = *options.radius;
        samples_ = read_sampling(options.common.filter, options.common.source);
        if (samples_.given() && !options.depth.empty())
            throw usage_error("--mask and --weights: mean nothing with --depth");
        const filter_options& given = options.common.filter;
        if (!options.depth.empty() && (given.nodata || given.ignore_nan || given.min_count != 1 || given.fill))
            throw usage_error("--nodata, --ignore-nan, --min-count and --fill: mean nothing with --depth");
        if (!options.depth.empty() && how_.border != border_mode::shrink)
            throw usage_error("--border: blur by --depth cuts windows off at the border");
    }

    void operator()(const image& source, const any_view& result) const {
        filter_outputs to;
        to.result = result;
        const filter_options& filter = options_.common.filter;
        if (!options_.depth.empty()) return by_depth(source, to);
        const boxsum::filter_options how = options_for(source, how_, result.shape.type);
        if (options_.radius_map.empty())
            return run_filter(
                filter, "--radius: the window ", [&] { box_filter(inputs_of(source, samples_), to, how); },
                [&](cuda::stream_ref stream) { cuda::box_filter(inputs_of(source, samples_), to, stream, how); });
        const image radii = read_source(options_.radius_map, {.region = options_.common.source.region});
        variable_inputs from;
        from.image = source.view;
        from.radius = radii.view;
        from.mask = samples_.mask.view;
        from.weights = samples_.weights.view;
        run_filter(
            filter,
            "--radius-map: '" + input_name(options_.radius_map) + "': ", [&] { variable_box_filter(from, to, how); },
            [&](cuda::stream_ref stream) { cuda::variable_box_filter(from, to, stream, how); });
    }

    /// The same strip by strip, with the radius that is one for all.
    strip_work in_strips_of(const image& source) const {
        const dtype type = options_.type.value_or(source.view.shape.type);
        return [this, how = options_for(source, how_, type)](const strip& part, const any_view& result) {
            run_filter(
                options_.common.filter, "--radius: the window ",
                [&] { box_filter(part.inputs, {.result = result}, with_threads(how, part.threads)); },
                [](cuda::stream_ref) {});
        };
    }

    const boxsum::window& window() const { return how_.window; }
    const sampling& samples() const { return samples_; }

  private:
    /// As a lens does it. The window of an order is as many boxes wide. Radii are the host's, where the depths were
    /// read.
    void by_depth(const image& source, const filter_outputs& to) const {
        const image depth = read_source(options_.depth, {.region = options_.common.source.region});
        const view_shape& s = depth.view.shape;
        const writable_image radii = allocate_like(packed_shape(dtype::u16, s.rows, s.cols, 1), dtype::u16);
        const double aperture = options_.aperture / options_.order;
        const std::string prefix = "--depth: '" + input_name(options_.depth) + "': ";
        const auto inputs = [&]() -> variable_inputs {
            circles_of_confusion(
                depth.view, radii.view,
                {options_.focus, aperture, static_cast<std::int64_t>(std::min(std::ceil(4 * aperture), 65535.0))});
            return {.image = source.view, .radius = radii.view};
        };
        const variable_blur_options how{.order = options_.order};
        run_filter(
            options_.common.filter, prefix, [&] { variable_blur(inputs(), to, how); },
            [&](cuda::stream_ref stream) { cuda::variable_blur(inputs(), to, stream, how); });
    }

    const blur_options& options_;
    boxsum::filter_options how_;
    sampling samples_;
};

/// What has a value for colours and opacity alike, or takes pixels out by their colours, would be read off products.
void check_transparent(const filter_options& given) {
    if (given.nodata || given.ignore_nan || given.min_count != 1 || given.fill || given.border_value.value_or(0) != 0)
        throw input_error(
            "--nodata, --ignore-nan, --min-count, --fill and --border-value: mean nothing for a transparent image, "
            "whose colours are weighted by their opacity; --mask and --weights take pixels out");
}

/// Colours weighted by opacity: the mean of their products over the mean of the opacity.
image blur_transparent(const mean_filter& mean, const separated_image& source, dtype type) {
    const writable_image products = premultiplied(source);
    const writable_image colours = allocate_like(products.view.shape, products.view.shape.type);
    mean(products, colours.view);
    const writable_image alpha = allocate_like(source.alpha.view.shape, products.view.shape.type);
    mean(source.alpha, alpha.view);
    return divided_by_alpha(colours, alpha, source, type);
}

}  // namespace

void setup_blur(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<blur_options>();
    CLI::App* command = app.add_subcommand("blur", "Box mean of any radius");
    CLI::Option* radius = add_parsed(*command, "-r,--radius", options->radius, parse_radius,
                                     "is not R or R,C with R and C at least 0", "R, or rows and columns R,C");
    command->add_option("--radius-map", options->radius_map, "image of radii, one per pixel: grey, 8u, 16u, 32u or 32s")
        ->check(some_text)
        ->excludes(radius);
    CLI::Option* depth = command->add_option("--depth", options->depth, "image of depths: blur as a lens does")
                             ->check(some_text)
                             ->excludes(radius)
                             ->excludes("--radius-map");
    CLI::Option* focus = command->add_option("--focus", options->focus, "depth that is sharp, as in --depth")
                             ->check(positive_number)
                             ->needs(depth);
    depth->needs(focus);
    command->add_option("--aperture", options->aperture, "radius in pixels of the blur of what is infinitely far away")
        ->check(CLI::Range(0.0, 16000.0))
        ->needs(depth)
        ->capture_default_str();
    command->add_option("--order", options->order, "of --depth: boxes in a row, 1 to 3")
        ->check(CLI::Range(1, 3))
        ->needs(depth)
        ->capture_default_str();
    add_type(*command, "--type", options->type, "type of the result: the image's (default), 32f or 64f");
    add_filter_command_options(*command, options->common, "png, jpeg, tiff, webp, pnm, pfm, npy");
    command->footer(blur_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_blur(*options); }; });
}

exit_code run_blur(const blur_options& options) {
    if (!options.radius && !options.radius_is_per_pixel())
        throw usage_error("--radius, --radius-map or --depth: give one");
    if ((options.radius_map == "-" || options.depth == "-") && options.common.files.files.front() == "-")
        throw usage_error("standard input can be only one of the inputs");
    const mean_filter mean(options);
    const auto type = [&](const view_shape& s) { return options.type.value_or(s.type); };
    const auto shape = [&](const image& colours, image_format) {
        const view_shape& s = colours.view.shape;
        return packed_shape(type(s), s.rows, s.cols, s.channels);
    };
    const auto blurred = [&](const separated_image& source, image_format) -> image {
        const view_shape& s = source.colours.view.shape;
        if (source.has_alpha()) {
            check_transparent(options.common.filter);
            return blur_transparent(mean, source, type(s));
        }
        const writable_image out = allocate_like(s, type(s));
        mean(source.colours, out.view);
        image result = out;
        result.maxval = source.colours.maxval;
        return result;
    };
    filter_command command{"blurring", shape, blurred};
    if (!options.radius_is_per_pixel()) {
        command.rows = [&](const image& source, image_format) { return mean.in_strips_of(source); };
        command.reach = mean.window();
        command.samples = mean.samples();
    }
    return run_filter_command(options.common, command);
}

}  // namespace boxsum::cli
