#include "filters/filter_jobs.hpp"

#include "core/checked_size.hpp"
#include "core/view_checks.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <utility>

namespace boxsum::filters {
namespace {

constexpr std::int64_t largest_supported_window = std::int64_t{1} << 46;        // times 65535 fits 62 bits
constexpr std::int64_t largest_16_bit_variance_window = std::int64_t{1} << 32;  // times 65535^2 fits 64 bits
constexpr std::int64_t most_rows = std::int64_t{1} << 46;                       // and cols: sums of a few fit

std::string text(double value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

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
    switch (image.type) {
        case dtype::u8:
        case dtype::u16:
        case dtype::s16:
        case dtype::f32:
        case dtype::f64:
            return;
        default:
            throw unsupported("image: type is " + std::string(name_of(image.type)) +
                              ", filters take 8u, 16u, 16s, 32f and 64f");
    }
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

/// What lies beyond a constant border: a pixel, so a value of the image's type. Windows along rows and columns meet it
/// in double and in that type, and must see the same.
double border_pixel(double border_value, dtype image) {
    return image == dtype::f32 ? static_cast<double>(static_cast<float>(border_value)) : border_value;
}

/// Which rows have results, from where the image lies in the whole.
void place_results(window_job& job) {
    const std::int64_t end = job.part_row + job.shape.rows;
    const auto within = job.rows.windows_within(job.part_row, end);
    job.first_row = within.first;
    job.end_row = within.end;
    const auto taken = job.rows.taken_by(within.first, within.end);
    if (within.first >= within.end || taken.first < job.part_row || taken.end > end)
        throw invalid_argument("image: has rows " + std::to_string(job.part_row) + " to " + std::to_string(end - 1) +
                               " of " + std::to_string(job.rows.extent) + ", too few for windows of " +
                               std::to_string(job.rows.full) + " rows");
}

void check_variance_window(const window_job& job) {
    if (is_floating(job.shape.type) || job.shape.type == dtype::u8) return;
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

void check_finite(std::string_view argument, double value) {
    if (!std::isfinite(value))
        throw invalid_argument(std::string(argument) + ": is " + text(value) + ", must be finite");
}

void check_positive(std::string_view argument, double value) {
    if (!std::isfinite(value) || value <= 0)
        throw invalid_argument(std::string(argument) + ": is " + text(value) + ", must be finite and above 0");
}

}  // namespace

window_job windows_of(const part& given, const filter_options& options) {
    check_type(given.image);
    check_border(options.border, options.border_value, given.image.type);
    const std::int64_t whole_rows = check_place(given);
    const window& w = options.window;
    window_job job;
    job.largest_window = check_window(w, options.border, whole_rows, given.image.cols);
    if (options.threads < 0)
        throw invalid_argument("threads: is " + std::to_string(options.threads) + ", must be 0 (automatic) or more");
    job.shape = given.image;
    job.rows = window_axis(whole_rows, w.above, w.below, options.border);
    job.cols = window_axis(given.image.cols, w.left, w.right, options.border);
    job.part_row = given.at.row;
    job.border_value = border_pixel(options.border_value, given.image.type);
    job.threads = options.threads;
    place_results(job);
    return job;
}

window_job box_filter_job(const part& given, const view_shape& result, const filter_options& options) {
    const window_job job = windows_of(given, options);
    check_result("result", result, job, {given.image.type, dtype::f32, dtype::f64});
    return job;
}

window_job statistics_job(const part& given, const statistics_shapes& results, const filter_options& options) {
    const window_job job = windows_of(given, options);
    if (!results.mean && !results.variance && !results.deviation)
        throw invalid_argument("outputs: none of mean, variance and deviation is given");
    if (results.mean) check_result("mean", *results.mean, job, {given.image.type, dtype::f32, dtype::f64});
    if (results.variance) check_result("variance", *results.variance, job, {dtype::f32, dtype::f64});
    if (results.deviation) check_result("deviation", *results.deviation, job, {dtype::f32, dtype::f64});
    if (results.variance || results.deviation) check_variance_window(job);
    return job;
}

threshold_job make_threshold_job(const part& given, const view_shape& result, const threshold_rule& rule,
                                 const filter_options& options) {
    const window_job windows = windows_of(given, options);
    if (name_of(rule.method).empty())
        throw invalid_argument("method: is " + std::to_string(static_cast<int>(rule.method)) +
                               ", not a threshold_method");
    const double k = rule.k.value_or(default_k(rule.method));
    check_finite("k", k);
    if (rule.sauvola_range) {
        check_positive("sauvola_range", *rule.sauvola_range);
        if (rule.method != threshold_method::sauvola)
            throw invalid_argument("sauvola_range: has no meaning for the method " + std::string(name_of(rule.method)));
    }
    if (rule.method == threshold_method::wolf && windows.rows.extent != given.image.rows)
        throw unsupported("method: is wolf, whose extremes are those of the whole image, of which this is a part");
    if (rule.method != threshold_method::bradley) check_variance_window(windows);
    check_result("result", result, windows, {dtype::u8});
    return {windows, rule.method, k, rule.sauvola_range.value_or(default_sauvola_range(given.image.type))};
}

contrast_job make_contrast_job(const part& given, const view_shape& result, const contrast_rule& rule,
                               const filter_options& options) {
    const window_job windows = windows_of(given, options);
    check_positive("epsilon", rule.epsilon);
    check_variance_window(windows);
    check_result("result", result, windows, {dtype::f32});
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

window_job variable_job(const part& given, const view_shape& radius, const view_shape& result, std::int64_t largest,
                        const filter_options& options) {
    if (options.window != window{})
        throw invalid_argument("window: has no meaning where every pixel has a radius of its own");
    filter_options with_window = options;
    with_window.window = window_radius(largest);
    const window_job job = windows_of(given, with_window);
    check_result("result", result, job, {given.image.type, dtype::f32, dtype::f64});
    check_map_extents(radius, result.rows, result.cols);
    return job;
}

void check_results(std::initializer_list<named_view> inputs, std::initializer_list<named_view> results) {
    const auto check_apart = [](const named_view& a, const named_view& b) {
        if (overlap(a.view, b.view)) throw invalid_argument(std::string(a.name).append(": overlaps ").append(b.name));
    };
    for (const named_view* out = results.begin(); out != results.end(); ++out) {
        if (out->view.data == nullptr && results.size() > 1) continue;  // not wanted
        check_written(out->name, out->view);
        for (const named_view& in : inputs) check_apart(*out, in);
        for (const named_view* other = results.begin(); other != out; ++other)
            if (other->view.data != nullptr) check_apart(*out, *other);
    }
}

}  // namespace boxsum::filters
