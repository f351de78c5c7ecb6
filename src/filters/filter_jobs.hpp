#pragma once

#include "filters/window_job.hpp"

#include <boxsum/filters.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

/// Every filter's arguments, checked once, for all backends: first all that needs no memory, so that a plan can hold
/// the outcome, then the memory. The functions throw invalid_argument or unsupported and name argument and value.
namespace boxsum::filters {

/// An image, or the part of one, that a filter reads.
struct part {
    view_shape image;
    origin at = {};
    extent whole = {};
    std::optional<view_shape> mask = {}, weights = {};
    row_range results = {};
};

/// A filter's inputs as shapes; what has no rows is not given.
part part_of(const filter_inputs& inputs);
part part_of(const variable_inputs& inputs);

/// Not of strides, which the checks of views look at.
window_job windows_of(const part& given, const filter_options& options);

/// Throws unsupported for what says which pixels count, where all do: in `filter`.
void refuse_samples(const const_any_view& mask, const const_any_view& weights, std::string_view filter);

/// Results of a filter with one; those that are not wanted have no value.
struct result_shapes {
    view_shape result;
    std::optional<view_shape> count = {};
};
window_job box_filter_job(const part& given, const result_shapes& results, const filter_options& options);

/// Those that are not wanted have no value.
struct statistics_shapes {
    std::optional<view_shape> mean, variance, deviation, sum, count;
};
window_job statistics_job(const part& given, const statistics_shapes& results, const filter_options& options);

/// A threshold with its defaults filled in.
struct threshold_job {
    window_job windows;
    threshold_method method;
    double k = 0;
    double range = 0;
    double p = 0, q = 0;
    threshold_output output = threshold_output::zero_255;

    /// Whether the mean is all that it takes of a window.
    bool of_means() const noexcept { return method == threshold_method::bradley || method == threshold_method::singh; }
};
threshold_job make_threshold_job(const part& given, const result_shapes& results, const threshold_rule& rule,
                                 const filter_options& options);

struct contrast_job {
    window_job windows;
    double epsilon = 0;
};
contrast_job make_contrast_job(const part& given, const result_shapes& results, const contrast_rule& rule,
                               const filter_options& options);

/// Windows of the largest radius; results have the radius map's rows. `largest` is what the map holds, or may hold.
window_job variable_job(const part& given, const view_shape& radius, const result_shapes& results, std::int64_t largest,
                        const filter_options& options);

/// What does not depend on the radii, so that the map may be read after it.
void check_radius_map(const view_shape& radius, const part& given, std::optional<std::int64_t> largest);

struct named_view {
    std::string_view name;
    const_any_view view;
};

/// Well-formed inputs; of mask and weights those with rows.
void check_inputs(const filter_inputs& inputs);

/// Well-formed results in aligned memory, none of which overlaps an input or another result. Inputs without data are
/// not given; of the results only one named "result" has to have data.
void check_results(std::initializer_list<named_view> inputs, std::initializer_list<named_view> results);

}  // namespace boxsum::filters
