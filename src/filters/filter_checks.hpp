#pragma once

#include <boxsum/filters.hpp>

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace boxsum::filters {

/// The checks of every filter's arguments. They throw invalid_argument or unsupported and name argument and value.

/// A well-formed view of one of the element types that filters take.
void check_image(const const_any_view& image);

/// A well-formed view with the image's extents, whose type is one of `types`, that does not overlap the image.
void check_result(std::string_view argument, const any_view& result, const const_any_view& image,
                  std::initializer_list<dtype> types);

void check_disjoint(std::string_view first_name, const const_any_view& first, std::string_view second_name,
                    const const_any_view& second);

/// Odd extents of at least 1, as a radius.
window_radius check_window(window_size window);

/// Not negative, and windows of `border` not larger than the sums can hold.
void check_radius(window_radius radius, border_mode border, const view_shape& image);

/// border is an enumerator; with `constant`, border_value is a value of the image's type.
void check_border(border_mode border, double border_value, dtype image);

/// At least one result, each as check_result wants it, none overlapping another.
void check_statistics_results(const const_any_view& image, const local_statistics_results& results);

/// A threshold's numbers with their defaults filled in.
struct threshold_values {
    window_radius radius;
    double k = 0;
    double range = 0;
};
/// Every argument of adaptive_threshold but threads.
threshold_values check_threshold(const const_any_view& image, const any_view& result, const threshold_options& options);

void check_threads(int threads);
void check_finite(std::string_view argument, double value);
void check_positive(std::string_view argument, double value);

/// Pixels of the largest window. After check_radius.
std::int64_t largest_window(window_radius radius, border_mode border, const view_shape& image);

/// The window's sums of squares fit 64 bits.
void check_variance_window(window_radius radius, border_mode border, const view_shape& image);

}  // namespace boxsum::filters
