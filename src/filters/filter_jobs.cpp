#include "filters/filter_jobs.hpp"

#include "core/checked_size.hpp"
#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "filters/sampling.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace boxsum::filters {
namespace {

constexpr std::int64_t largest_supported_window = std::int64_t{1} << 46;        // times 65535 fits 62 bits
constexpr std::int64_t largest_16_bit_variance_window = std::int64_t{1} << 32;  // times 65535^2 fits 64 bits
constexpr std::int64_t largest_32_bit_table_window = std::int64_t{1} << 30;     // times 2^32 fits 62 bits
constexpr std::int64_t most_rows = std::int64_t{1} << 46;                       // and cols: sums of a few fit

std::string extents(std::int64_t planes, std::int64_t rows, std::int64_t cols, std::int64_t channels) {
    return std::to_string(planes) + " x " + std::to_string(rows) + " x " + std::to_string(cols) + " x " +
           std::to_string(channels);
}

// ---- the image and its place ----------------------------------------------------------------------------------------

void check_map_extents(const view_shape& radius, std::int64_t rows, std::int64_t cols) {
    if (radius.rows != rows || radius.cols != cols)
        throw invalid_argument("radius: rows x cols are " + std::to_string(radius.rows) + " x " +
                               std::to_string(radius.cols) + ", must be the result's " + std::to_string(rows) + " x " +
                               std::to_string(cols));
}

void check_type(const view_shape& image) {
    if (!contains(filter_types{}, computed_as(image.type)))
        throw unsupported("image: type is " + std::string(name_of(image.type)) +
                          ", filters take 8u, 16u, 16s, 32u, 32s, 16f, 32f and 64f");
}

/// Rows of the whole image.
std::int64_t check_place(const part& given) {
    const view_shape& image = given.image;
    for (const auto& [what, value] : {std::pair{"rows", image.rows}, {"cols", image.cols}})
        if (value > most_rows)
            throw unsupported("image: " + std::string(what) + " is " + std::to_string(value) +
                              ", must be at most 2^46");
    if (given.whole == extent{}) {
        if (given.at != origin{})
            throw invalid_argument("at: is " + std::to_string(given.at.row) + ", " + std::to_string(given.at.col) +
                                   ", but whole does not say of what");
        return image.rows;
    }
    if (given.at.col != 0 || given.whole.cols != image.cols)
        throw unsupported("at: col is " + std::to_string(given.at.col) + " and the image has " +
                          std::to_string(image.cols) + " of " + std::to_string(given.whole.cols) +
                          " cols, parts must have whole rows");
    if (given.whole.rows > most_rows)
        throw unsupported("whole: rows is " + std::to_string(given.whole.rows) + ", must be at most 2^46");
    if (given.at.row < 0 || given.at.row > given.whole.rows - image.rows)
        throw invalid_argument("at: row is " + std::to_string(given.at.row) + ", but the image has " +
                               std::to_string(image.rows) + " of " + std::to_string(given.whole.rows) + " rows");
    return given.whole.rows;
}

// ---- windows --------------------------------------------------------------------------------------------------------

void check_extents(const char* what, std::int64_t before, const char* name_before, std::int64_t after,
                   const char* name_after) {
    if (before >= 0 && after >= 0) return;
    // A size that is not positive makes both, or their sum, too small: then say so.
    if (const auto sum = checked_add(before, after); sum && *sum < 0)
        throw invalid_argument("window: " + std::string(what) + " is " + std::to_string(*sum + 1) +
                               ", must be at least 1");
    throw invalid_argument("window: " + std::string(before < 0 ? name_before : name_after) + " is " +
                           std::to_string(before < 0 ? before : after) + ", must not be negative");
}

/// Samples of the largest window along one axis; nothing when that does not fit 64 bits.
std::optional<std::int64_t> axis_pixels(std::int64_t before, std::int64_t after, border_mode border,
                                        std::int64_t samples) {
    const auto reach = checked_add(before, after);
    const auto width = reach ? checked_add(*reach, 1) : reach;
    if (border != border_mode::shrink) return width;
    return width ? std::min(*width, samples) : samples;
}

std::string length(std::int64_t before, std::int64_t after) {
    return std::to_string(static_cast<std::uint64_t>(before) + static_cast<std::uint64_t>(after) + 1);
}

/// Pixels of the largest window.
std::int64_t check_window(const window& w, border_mode border, std::int64_t rows, std::int64_t cols) {
    check_extents("rows", w.above, "above", w.below, "below");
    check_extents("cols", w.left, "left", w.right, "right");
    const auto down = axis_pixels(w.above, w.below, border, rows), across = axis_pixels(w.left, w.right, border, cols);
    const auto pixels = down && across ? checked_multiply(*down, *across) : std::nullopt;
    if (!pixels || *pixels > largest_supported_window)
        throw unsupported("window: is " + length(w.above, w.below) + " x " + length(w.left, w.right) +
                          ", windows of more than 2^46 pixels are not supported");
    return *pixels;
}

/// border is an enumerator; with `constant`, border_value is a value of the image's type.
void check_border(border_mode border, double border_value, dtype image) {
    if (name_of(border).empty())
        throw invalid_argument("border: is " + std::to_string(static_cast<int>(border)) + ", not a border_mode");
    if (border == border_mode::constant) check_value("border_value", border_value, "the image's", image);
}

// ---- which samples count --------------------------------------------------------------------------------------------

void check_sampling(const part& given, const filter_options& options) {
    check_samples(given.image, given.mask, given.weights, options.nan, options.nodata);
    if (options.rounding != rounding_mode::half_up && options.rounding != rounding_mode::floor)
        throw invalid_argument("rounding: is " + std::to_string(static_cast<int>(options.rounding)) +
                               ", not a rounding_mode");
    if (options.min_count < 1)
        throw invalid_argument("min_count: is " + std::to_string(options.min_count) + ", must be at least 1");
    if (options.min_count > 1 && given.weights)
        throw invalid_argument("min_count: is " + std::to_string(options.min_count) +
                               ", but with weights min_weight says how much must count");
    if (!std::isfinite(options.min_weight) || options.min_weight < 0)
        throw invalid_argument("min_weight: is " + text_of(options.min_weight) + ", must be finite and not negative");
    if (options.min_weight > 0 && !given.weights)
        throw invalid_argument("min_weight: is " + text_of(options.min_weight) +
                               ", but without weights min_count says how much must count");
}

/// Which rows have results, from where the image lies in the whole and which of them are wanted.
void place_results(window_job& job, row_range wanted) {
    const std::int64_t end = job.part_row + job.shape.rows;
    const auto within = job.rows.windows_within(job.part_row, end);
    const row_range chosen = wanted == row_range{} ? row_range{within.first, within.end} : wanted;
    if (within.first < within.end &&
        (chosen.first < within.first || chosen.end > within.end || chosen.first >= chosen.end))
        throw invalid_argument("results: are rows " + std::to_string(chosen.first) + " to " +
                               std::to_string(chosen.end - 1) + ", but windows lie in the image around rows " +
                               std::to_string(within.first) + " to " + std::to_string(within.end - 1));
    const auto taken = job.rows.taken_by(chosen.first, chosen.end);
    if (within.first >= within.end || taken.first < job.part_row || taken.end > end)
        throw invalid_argument("image: has rows " + std::to_string(job.part_row) + " to " + std::to_string(end - 1) +
                               " of " + std::to_string(job.rows.extent) + ", too few for windows of " +
                               std::to_string(job.rows.full) + " rows");
    job.first_row = chosen.first;
    job.end_row = chosen.end;
    job.some_rows = chosen != row_range{within.first, within.end};
}

void check_variance_window(const window_job& job) {
    if (job.shape.type != dtype::u16 && job.shape.type != dtype::s16) return;
    if (job.largest_window > largest_16_bit_variance_window)
        throw unsupported("window: has " + std::to_string(job.largest_window) +
                          " pixels, variances of 16-bit images are supported up to 2^32");
}

// ---- results and numbers --------------------------------------------------------------------------------------------

void check_result(std::string_view argument, const view_shape& a, const window_job& job,
                  std::initializer_list<dtype> types) {
    const view_shape& b = job.shape;
    if (a.planes != b.planes || a.rows != job.result_rows() || a.cols != b.cols || a.channels != b.channels)
        throw invalid_argument(std::string(argument) + ": planes x rows x cols x channels are " +
                               extents(a.planes, a.rows, a.cols, a.channels) + ", must be " +
                               (job.result_rows() == b.rows ? "the image's " : "those of the windows' rows, ") +
                               extents(b.planes, job.result_rows(), b.cols, b.channels));
    if (std::find(types.begin(), types.end(), a.type) != types.end()) return;
    std::string allowed;
    for (const dtype type : types)
        if (allowed.find(name_of(type)) == std::string::npos)
            allowed += (allowed.empty() ? "" : ", ") + std::string(name_of(type));
    throw unsupported(std::string(argument) + ": type is " + std::string(name_of(a.type)) + ", must be one of " +
                      allowed);
}

/// Integer results of 32-bit images are exact, or not given.
void check_exact(std::string_view argument, dtype result, const window_job& job) {
    if (!is_32_bit_integer(job.shape.type) || is_floating(result)) return;
    if (job.largest_window > largest_exact_32_bit_window)
        throw unsupported(std::string(argument) + ": type is " + std::string(name_of(result)) +
                          ", but the window has " + std::to_string(job.largest_window) +
                          " pixels, and integer results of 32-bit images are supported up to 2^21");
}

/// A result that `fill` may be written to.
void check_filled_result(std::string_view argument, const view_shape& result, const window_job& job,
                         std::initializer_list<dtype> types) {
    check_result(argument, result, job, types);
    if (job.fill) check_value("fill", *job.fill, "the result's", result.type);
}

void check_count(const std::optional<view_shape>& count, const window_job& job) {
    if (!count) return;
    if (job.weighted) return check_result("count", *count, job, {dtype::f32, dtype::f64});
    check_result("count", *count, job, {dtype::u32, dtype::f32, dtype::f64});
    if (count->type == dtype::u32 && job.largest_window > std::numeric_limits<std::uint32_t>::max())
        throw unsupported("count: type is 32u, but windows have up to " + std::to_string(job.largest_window) +
                          " pixels");
}

void check_sum(const std::optional<view_shape>& sum, const window_job& job) {
    if (!sum) return;
    if (is_floating(job.shape.type) || job.weighted)
        return check_filled_result("sum", *sum, job, {dtype::f32, dtype::f64});
    check_filled_result("sum", *sum, job, {dtype::s32, dtype::s64, dtype::f32, dtype::f64});
    check_exact("sum", sum->type, job);
    const int bits = 8 * static_cast<int>(size_of(job.shape.type)) - (is_signed(job.shape.type) ? 1 : 0);
    const std::int64_t largest_pixel = (std::int64_t{1} << bits) - (is_signed(job.shape.type) ? 0 : 1);
    if (sum->type == dtype::s32 && job.largest_window > std::numeric_limits<std::int32_t>::max() / largest_pixel)
        throw unsupported("sum: type is 32s, too small for windows of " + std::to_string(job.largest_window) +
                          " pixels");
}

void check_finite(std::string_view argument, double value) {
    if (!std::isfinite(value))
        throw invalid_argument(std::string(argument) + ": is " + text_of(value) + ", must be finite");
}

void check_positive(std::string_view argument, double value) {
    if (!std::isfinite(value) || value <= 0)
        throw invalid_argument(std::string(argument) + ": is " + text_of(value) + ", must be finite and above 0");
}

std::optional<view_shape> shape_if_given(const const_any_view& v) {
    return v.shape.rows != 0 ? std::optional(v.shape) : std::nullopt;
}

}  // namespace

part part_of(const filter_inputs& inputs) {
    return {inputs.image.shape, inputs.at, inputs.whole, shape_if_given(inputs.mask), shape_if_given(inputs.weights),
            inputs.results};
}

part part_of(const variable_inputs& inputs) {
    return {inputs.image.shape, inputs.at, inputs.whole, shape_if_given(inputs.mask), shape_if_given(inputs.weights)};
}

window_job windows_of(const part& given, const filter_options& options) {
    check_type(given.image);
    check_border(options.border, options.border_value, given.image.type);
    const std::int64_t whole_rows = check_place(given);
    const window& w = options.window;
    window_job job;
    job.largest_window = check_window(w, options.border, whole_rows, given.image.cols);
    check_threads(options.threads);
    job.shape = given.image;
    job.rows = window_axis(whole_rows, w.above, w.below, options.border);
    job.cols = window_axis(given.image.cols, w.left, w.right, options.border);
    job.part_row = given.at.row;
    job.border_value = as_pixel(options.border_value, given.image.type);
    job.threads = options.threads;
    check_sampling(given, options);
    job.rounding = options.rounding;
    job.masked = given.mask.has_value();
    job.weighted = given.weights.has_value();
    job.nan = options.nan;
    if (options.nodata) job.nodata = as_pixel(*options.nodata, given.image.type);
    job.min_count = options.min_count;
    job.min_weight = options.min_weight;
    job.fill = options.fill;
    place_results(job, given.results);
    return job;
}

void refuse_samples(const const_any_view& mask, const const_any_view& weights, std::string_view filter) {
    for (const auto& [argument, view] : {std::pair{"mask", mask}, {"weights", weights}})
        if (view.data != nullptr || view.shape.rows != 0)
            throw unsupported(std::string(argument) + ": every pixel counts in " + std::string(filter));
}

window_job box_filter_job(const part& given, const result_shapes& results, const filter_options& options) {
    const window_job job = windows_of(given, options);
    check_filled_result("result", results.result, job, {given.image.type, dtype::f32, dtype::f64});
    check_exact("result", results.result.type, job);
    check_count(results.count, job);
    return job;
}

window_job statistics_job(const part& given, const statistics_shapes& results, const filter_options& options) {
    const window_job job = windows_of(given, options);
    if (!results.mean && !results.variance && !results.deviation && !results.sum && !results.count)
        throw invalid_argument("outputs: none of mean, variance, deviation, sum and count is given");
    if (results.mean) {
        check_filled_result("mean", *results.mean, job, {given.image.type, dtype::f32, dtype::f64});
        check_exact("mean", results.mean->type, job);
    }
    if (results.variance) check_filled_result("variance", *results.variance, job, {dtype::f32, dtype::f64});
    if (results.deviation) check_filled_result("deviation", *results.deviation, job, {dtype::f32, dtype::f64});
    check_sum(results.sum, job);
    check_count(results.count, job);
    if (results.variance || results.deviation) check_variance_window(job);
    return job;
}

threshold_job make_threshold_job(const part& given, const result_shapes& results, const threshold_rule& rule,
                                 const filter_options& options) {
    const window_job windows = windows_of(given, options);
    if (name_of(rule.method).empty())
        throw invalid_argument("method: is " + std::to_string(static_cast<int>(rule.method)) +
                               ", not a threshold_method");
    const auto has_no_meaning = [&](std::string_view argument, double value) {
        throw invalid_argument(std::string(argument) + ": is " + text_of(value) +
                               ", but has no meaning for the method " + std::string(name_of(rule.method)));
    };
    threshold_job job{windows, rule.method, rule.k.value_or(default_k(rule.method))};
    check_finite("k", job.k);
    if (rule.range) {
        check_positive("range", *rule.range);
        if (rule.method != threshold_method::sauvola && rule.method != threshold_method::singh &&
            rule.method != threshold_method::phansalkar)
            has_no_meaning("range", *rule.range);
    }
    job.range = rule.range.value_or(default_range(given.image.type));
    job.p = rule.p.value_or(2);
    job.q = rule.q.value_or(10);
    check_finite("p", job.p);
    check_finite("q", job.q);
    if (rule.method != threshold_method::phansalkar && rule.p) has_no_meaning("p", *rule.p);
    if (rule.method != threshold_method::phansalkar && rule.q) has_no_meaning("q", *rule.q);
    if (rule.method == threshold_method::wolf && (windows.rows.extent != given.image.rows || windows.some_rows))
        throw unsupported("method: is wolf, whose extremes are those of the whole image, of which this is a part");
    if (!job.of_means()) check_variance_window(windows);
    job.output = rule.output;
    switch (rule.output) {
        case threshold_output::zero_255:
        case threshold_output::zero_one:
            check_filled_result("result", results.result, windows, {dtype::u8});
            break;
        case threshold_output::threshold:
            check_filled_result("result", results.result, windows, {dtype::f32, dtype::f64});
            break;
        default:
            throw invalid_argument("output: is " + std::to_string(static_cast<int>(rule.output)) +
                                   ", not a threshold_output");
    }
    check_count(results.count, windows);
    return job;
}

contrast_job make_contrast_job(const part& given, const result_shapes& results, const contrast_rule& rule,
                               const filter_options& options) {
    const window_job windows = windows_of(given, options);
    check_positive("epsilon", rule.epsilon);
    check_variance_window(windows);
    check_filled_result("result", results.result, windows, {dtype::f32});
    check_count(results.count, windows);
    return {windows, rule.epsilon};
}

void check_radius_map(const view_shape& radius, const part& given, std::optional<std::int64_t> largest) {
    const view_shape& image = given.image;
    if (radius.type != dtype::u8 && radius.type != dtype::u16 && radius.type != dtype::u32 && radius.type != dtype::s32)
        throw unsupported("radius: type is " + std::string(name_of(radius.type)) +
                          ", must be one of 8u, 16u, 32u, 32s");
    if (radius.channels != 1)
        throw invalid_argument("radius: channels is " + std::to_string(radius.channels) + ", must be 1");
    if (radius.planes != 1 && radius.planes != image.planes)
        throw invalid_argument("radius: planes is " + std::to_string(radius.planes) + ", must be 1 or the image's " +
                               std::to_string(image.planes));
    if (largest && *largest < 0)
        throw invalid_argument("largest_radius: is " + std::to_string(*largest) + ", must not be negative");
    if (given.whole == extent{}) check_map_extents(radius, image.rows, image.cols);
    if (!largest && given.whole != extent{})
        throw invalid_argument("largest_radius: is not given, but the image is a part, with a halo of as many rows");
}

window_job variable_job(const part& given, const view_shape& radius, const result_shapes& results, std::int64_t largest,
                        const filter_options& options) {
    if (const window& w = options.window; w != window{}) {
        check_extents("rows", w.above, "above", w.below, "below");
        check_extents("cols", w.left, "left", w.right, "right");
        throw invalid_argument("window: is " + length(w.above, w.below) + " x " + length(w.left, w.right) +
                               ", but has no meaning where every pixel has a radius of its own");
    }
    filter_options with_window = options;
    with_window.window = window_radius(largest);
    const window_job job = windows_of(given, with_window);
    if (is_32_bit_integer(given.image.type) && job.largest_window > largest_32_bit_table_window)
        throw unsupported("radius: gives windows of " + std::to_string(job.largest_window) +
                          " pixels, those of 32-bit images are supported up to 2^30");
    check_filled_result("result", results.result, job, {given.image.type, dtype::f32, dtype::f64});
    check_count(results.count, job);
    check_map_extents(radius, results.result.rows, results.result.cols);
    return job;
}

void check_inputs(const filter_inputs& inputs) {
    check_read("image", inputs.image);
    if (inputs.mask.shape.rows != 0) check_read("mask", inputs.mask);
    if (inputs.weights.shape.rows != 0) check_read("weights", inputs.weights);
}

void check_results(std::initializer_list<named_view> inputs, std::initializer_list<named_view> results) {
    const auto check_apart = [](const named_view& a, const named_view& b) {
        if (overlap(a.view, b.view)) throw invalid_argument(std::string(a.name).append(": overlaps ").append(b.name));
    };
    for (const named_view* out = results.begin(); out != results.end(); ++out) {
        if (out->view.data == nullptr && out->name != "result") continue;  // not wanted
        check_written(out->name, out->view);
        for (const named_view& in : inputs)
            if (in.view.data != nullptr) check_apart(*out, in);
        for (const named_view* other = results.begin(); other != out; ++other)
            if (other->view.data != nullptr) check_apart(*out, *other);
    }
}

}  // namespace boxsum::filters
