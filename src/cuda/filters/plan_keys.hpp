#pragma once

#include <boxsum/blobs.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/guided_filter.hpp>
#include <boxsum/non_local_means.hpp>
#include <boxsum/variable_blur.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>

/// What a filter's plan is made of, as values that compare: everything of a call but memory. Members are named one by
/// one, so that a new one is an error here and not a plan for something else.
namespace boxsum::cuda {

/// NaN is itself, and -0 is not 0.
inline std::uint64_t key_of(double x) {
    return std::bit_cast<std::uint64_t>(x);
}

template <typename T>
requires std::integral<T> || std::is_enum_v<T> T key_of(T x) {
    return x;
}

template <typename T>
auto key_of(const std::optional<T>& x) {
    using key = decltype(key_of(*x));
    return x ? std::optional<key>(key_of(*x)) : std::optional<key>();
}

inline auto key_of(const const_any_view& v) {
    return std::tuple(v.shape, v.data != nullptr);
}
inline auto key_of(const any_view& v) {
    return key_of(const_any_view(v));
}

inline window key_of(const window& w) {
    return w;
}
inline origin key_of(origin o) {
    return o;
}
inline extent key_of(extent e) {
    return e;
}
inline row_range key_of(row_range r) {
    return r;
}

inline auto keys_of(const auto&... members) {
    return std::tuple(key_of(members)...);
}

inline auto key_of(const filter_inputs& inputs) {
    const auto& [image, at, whole, mask, weights, results] = inputs;
    return keys_of(image, at, whole, mask, weights, results);
}
inline auto key_of(const variable_inputs& inputs) {
    const auto& [image, radius, largest, at, whole, mask, weights] = inputs;
    return keys_of(image, radius, largest, at, whole, mask, weights);
}
inline auto key_of(const guided_inputs& inputs) {
    const auto& [image, guide, mask, weights] = inputs;
    return keys_of(image, guide, mask, weights);
}
inline auto key_of(const non_local_inputs& inputs) {
    const auto& [image, mask, weights] = inputs;
    return keys_of(image, mask, weights);
}
inline auto key_of(const blob_inputs& inputs) {
    const auto& [image] = inputs;
    return keys_of(image);
}

inline auto key_of(const filter_outputs& outputs) {
    const auto& [result, count] = outputs;
    return keys_of(result, count);
}
inline auto key_of(const window_outputs& outputs) {
    const auto& [mean, variance, deviation, sum, count] = outputs;
    return keys_of(mean, variance, deviation, sum, count);
}
inline auto key_of(const hessian_outputs& outputs) {
    const auto& [determinant] = outputs;
    return keys_of(determinant);
}

inline auto key_of(const filter_options& options) {
    const auto& [window, border, border_value, rounding, nan, nodata, min_count, min_weight, fill, threads] = options;
    return keys_of(window, border, border_value, rounding, nan, nodata, min_count, min_weight, fill, threads);
}
inline auto key_of(const variable_blur_options& options) {
    const auto& [order, rounding, threads] = options;
    return keys_of(order, rounding, threads);
}
inline auto key_of(const hessian_options& options) {
    const auto& [sigma, threads] = options;
    return keys_of(sigma, threads);
}

inline auto key_of(const threshold_rule& rule) {
    const auto& [method, k, range, p, q, output] = rule;
    return keys_of(method, k, range, p, q, output);
}
inline auto key_of(const contrast_rule& rule) {
    const auto& [epsilon] = rule;
    return keys_of(epsilon);
}
inline auto key_of(const guided_rule& rule) {
    const auto& [epsilon] = rule;
    return keys_of(epsilon);
}
inline auto key_of(const non_local_rule& rule) {
    const auto& [patch, strength, noise] = rule;
    return keys_of(patch, strength, noise);
}

}  // namespace boxsum::cuda
