#include "cmd_threshold.hpp"

#include "option_types.hpp"
#include "pixels.hpp"
#include "text_output.hpp"

#include <boxsum/cuda/filters.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* threshold_footer =
    R"(A pixel becomes 255 where it exceeds the threshold T of its window, else 0. With mean m and standard deviation s:
  bradley  T = m (1 - k)                            k =  0.15
  niblack  T = m + k s                              k = -0.2
  sauvola  T = m (1 + k (s / R - 1))                k =  0.2, R half the range of the type; of
                                                              floats 0.5 for values from 0 to 1, else
                                                              half the range of the image's values
  wolf     T = m - k (1 - s / s_max) (m - I_min)    k =  0.5
  nick     T = m + k sqrt(s^2 + m^2)                k = -0.2
  singh    T = m (1 + k (d / (2 R - d) - 1))        k =  0.2, d = |x - m|, R as of sauvola
  phansalkar  T = m (1 + p exp(-q m / (2 R)) + k (s / R - 1))   k = 0.25, p = 2, q = 10, R as of sauvola
Colours become one brightness first (--luma); with --channels each every channel gets a threshold of its own. Opacity is
kept.

Examples:
  boxsum threshold page.png text.png --method sauvola --window 31
  boxsum threshold page.png text.png --method bradley --window 61 --k 0.1
  boxsum threshold scans/1.png scans/2.png -o text/{name}.png)";

/// R of a floating image: the library's, which is of images in 0..1, where all values are in 0..1; else half the range
/// of its finite values, as its white may be 255. `nodata` is no value.
double range_of(const image& source, std::optional<double> nodata) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    const view_shape& s = source.view.shape;
    visit_type(s.type, [&]<typename T>(std::type_identity<T>) {
        for (std::int64_t r = 0; r < s.rows; ++r) {
            const T* const row = row_as<T>(source.view, r);
            for (std::int64_t i = 0; i < s.cols * s.channels; ++i) {
                const auto value = static_cast<double>(number_of(row[i]));
                if (!std::isfinite(value) || value == nodata) continue;
                low = std::min(low, value);
                high = std::max(high, value);
            }
        }
    });
    if (low >= 0 && high <= 1) return default_range(s.type);
    return high > low ? high / 2 - low / 2 : default_range(s.type);
}

}  // namespace

void setup_threshold(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<threshold_command_options>();
    CLI::App* command = app.add_subcommand("threshold", "Adaptive threshold");
    add_parsed(*command, "--method", options->method, threshold_from_name,
               "is none of bradley, niblack, sauvola, wolf, nick, singh, phansalkar",
               "bradley, niblack, sauvola, wolf, nick, singh or phansalkar")
        ->default_str("sauvola");
    add_window_options(*command, options->window);
    command->add_option("--k", options->k, "the method's k")->check(finite_number);
    command->add_option("--range", options->range, "R of sauvola, singh and phansalkar, above 0")
        ->check(positive_number);
    add_parsed(*command, "--channels", options->each_channel, one_of<bool>({{"grey", false}, {"each", true}}),
               "is neither grey nor each", "of colour images: grey (their brightness) or each")
        ->default_str("grey");
    add_filter_command_options(*command, options->common, "png, jpeg, tiff, pnm, npy");
    command->footer(threshold_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_threshold(*options); }; });
}

exit_code run_threshold(const threshold_command_options& options) {
    const threshold_method method = options.method;
    const std::string name(name_of(method));
    const bool has_range = method == threshold_method::sauvola || method == threshold_method::singh ||
                           method == threshold_method::phansalkar;
    if (options.range && !has_range) throw usage_error("--range: the method " + name + " has no R");
    filter_command_options common = options.common;
    if (!options.each_channel) common.source.grey = true;
    boxsum::filter_options how = library_options(common.filter);
    how.window = window_of(options.window);
    const sampling samples = read_sampling(common.filter, common.source);
    const auto shape = [](const image& colours, image_format) {
        const view_shape& s = colours.view.shape;
        return packed_shape(dtype::u8, s.rows, s.cols, s.channels);
    };
    const auto rule_for = [&](const image& source) {
        threshold_rule rule{.method = method, .k = options.k, .range = options.range};
        if (!has_range || options.range || !is_floating(source.view.shape.type)) return rule;
        rule.range = range_of(source, options_for(source, how).nodata);
        if (!common.report.quiet)
            print_note("--range: " + text_of(*rule.range) +
                       (*rule.range == default_range(source.view.shape.type)
                            ? ", as of images whose values are from 0 to 1"
                            : ", half the range of the image's values"));
        return rule;
    };
    const auto thresholded = [&](const separated_image& parts, image_format) -> image {
        const image& source = parts.colours;
        const threshold_rule rule = rule_for(source);
        const writable_image result = allocate_like(source.view.shape, dtype::u8);
        run_filter(
            common.filter, "--window: ",
            [&] {
                adaptive_threshold(inputs_of(source, samples), {.result = result.view}, rule, options_for(source, how));
            },
            [&](cuda::stream_ref stream) {
                cuda::adaptive_threshold(inputs_of(source, samples), {.result = result.view}, stream, rule,
                                         options_for(source, how));
            });
        return result;
    };
    filter_command command{"computing thresholds", shape, thresholded, {{"method", name}}};
    if (method != threshold_method::wolf) {  // which looks at all windows before it decides
        command.rows = [&](const image& source, image_format) -> strip_work {
            return [&, rule = rule_for(source), how = options_for(source, how)](const strip& part,
                                                                                const any_view& result) {
                run_filter(
                    common.filter, "--window: ",
                    [&] { adaptive_threshold(part.inputs, {.result = result}, rule, with_threads(how, part.threads)); },
                    [](cuda::stream_ref) {});
            };
        };
        command.reach = how.window;
        command.samples = samples;
    }
    return run_filter_command(common, command);
}

}  // namespace boxsum::cli
