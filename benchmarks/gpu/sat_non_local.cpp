#include "cuda/runtime/cuda_try.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/non_local_means.hpp>
#include <boxsum/non_local_means.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

constexpr std::int64_t rows = 2160, cols = 3840, radius = 10, patch_radius = 3;

struct non_local_case {
    const char* name;
    std::int64_t channels;
    border_mode border;
    bool masked = false;
};

/// One pixel in four does not count.
std::vector<std::uint8_t> random_mask() {
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(rows * cols));
    std::mt19937 random(9);
    for (std::uint8_t& m : mask) m = random() % 4 != 0;
    return mask;
}

/// Stripes and waves under noise, so that weights are of every size.
template <typename T>
std::vector<T> noisy_image(std::int64_t channels) {
    const double most = std::is_integral_v<T> ? static_cast<double>(std::numeric_limits<T>::max()) : 1;
    std::vector<T> pixels(static_cast<std::size_t>(rows * cols * channels));
    std::mt19937 random(5);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        const auto col = static_cast<double>(static_cast<std::int64_t>(i) / channels % cols);
        const double clean = 0.5 + 0.3 * std::sin(col / 40) + (static_cast<std::int64_t>(col) % 100 < 50 ? 0.1 : -0.1);
        const double noise = 0.1 * (static_cast<double>(random()) * 0x1p-32 - 0.5);
        pixels[i] = static_cast<T>(std::clamp(clean + noise, 0.0, 1.0) * most);
    }
    return pixels;
}

/// The first rows beside the CPU's. Both are within 2^-17 of the range of the definition, so that rounded results may
/// be neighbours, seldom.
template <typename T>
std::string verdict(const std::vector<T>& pixels, const std::vector<std::uint8_t>& mask, const std::vector<T>& found,
                    const non_local_case& c, const non_local_rule& rule, const filter_options& options) {
    constexpr std::int64_t strip = 40, compared = strip - radius - patch_radius;
    std::vector<T> expected(static_cast<std::size_t>(strip * cols * c.channels));
    non_local_inputs inputs{image_view<const T>(pixels.data(), strip, cols, 0, c.channels)};
    if (c.masked) inputs.mask = image_view<const std::uint8_t>(mask.data(), strip, cols);
    boxsum::non_local_means(inputs, {image_view<T>(expected.data(), strip, cols, 0, c.channels)}, rule, options);
    const auto elements = static_cast<std::size_t>(compared * cols * c.channels);
    const double step = std::is_integral_v<T> ? std::max(1.0, std::numeric_limits<T>::max() * 0x1p-16) : 0x1p-22;
    std::size_t others = 0;
    for (std::size_t i = 0; i < elements; ++i) {
        const double difference = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
        if (!(difference <= step)) return "WRONG at element " + std::to_string(i);
        others += difference > 0 ? 1 : 0;
    }
    return sizeof(T) == 1 && others > elements / 100 ? "WRONG: too many differ by 1"
                                                     : "equal in rows, but for rounding";
}

template <typename T>
void time_non_local_means(const non_local_case& c, cuda::stream_ref stream) {
    const std::vector<T> pixels = noisy_image<T>(c.channels);
    const std::size_t bytes = pixels.size() * sizeof(T);
    const std::vector<std::uint8_t> mask = random_mask();
    const cuda::device_buffer image(bytes, stream), result(bytes, stream), counted(mask.size(), stream);
    non_local_inputs in{image_view<const T>(static_cast<const T*>(image.data()), rows, cols, 0, c.channels)};
    if (c.masked)
        in.mask = image_view<const std::uint8_t>(static_cast<const std::uint8_t*>(counted.data()), rows, cols);
    const image_view<T> out(static_cast<T*>(result.data()), rows, cols, 0, c.channels);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(image.data(), pixels.data(), bytes, cudaMemcpyHostToDevice, stream.get()));
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(counted.data(), mask.data(), mask.size(), cudaMemcpyHostToDevice, stream.get()));
    BOXSUM_CUDA_TRY(cudaMemsetAsync(result.data(), 0x55, bytes, stream.get()));
    const non_local_rule rule{.patch = window_radius(patch_radius)};
    const filter_options options{.window = window_radius(radius), .border = c.border};
    const cuda::non_local_means_plan plan(in, {out}, rule, options);
    cuda::workspace workspace(plan.workspace_bytes(), stream);
    stream.synchronize();
    const std::vector<runner> runners = {
        {"copy",
         [&](int, cuda::stream_ref s) {
             BOXSUM_CUDA_TRY(cudaMemcpyAsync(result.data(), image.data(), bytes, cudaMemcpyDeviceToDevice, s.get()));
         }},
        {c.name, [&](int, cuda::stream_ref s) { plan.run_async(in, {out}, workspace, s); }}};
    const std::vector<double> us = times_of(runners, 2, false, stream);
    BOXSUM_CUDA_TRY(cudaMemsetAsync(result.data(), 0x55, bytes, stream.get()));
    plan.run_async(in, {out}, workspace, stream);
    std::vector<T> found(pixels.size());
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(found.data(), result.data(), bytes, cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    json_line()
        .text("section", "windows")
        .text("filter", c.name)
        .number("n", static_cast<double>(cols))
        .number("rows", static_cast<double>(rows))
        .number("radius", static_cast<double>(radius))
        .number("patch_radius", static_cast<double>(patch_radius))
        .number("us", us[1])
        .number("copy_us", us[0])
        .number("x", us[1] / us[0])
        .text("check", verdict(pixels, mask, found, c, rule, options))
        .print();
}

}  // namespace

void non_local_means_rows(cuda::stream_ref stream) {
    time_non_local_means<std::uint8_t>({"non-local means 8u", 1, border_mode::reflect}, stream);
    time_non_local_means<std::uint8_t>({"non-local means 8u, shrink", 1, border_mode::shrink}, stream);
    time_non_local_means<std::uint8_t>({"non-local means 8u, colour", 3, border_mode::reflect}, stream);
    time_non_local_means<std::uint16_t>({"non-local means 16u", 1, border_mode::reflect}, stream);
    time_non_local_means<float>({"non-local means 32f", 1, border_mode::reflect}, stream);
    time_non_local_means<std::uint8_t>({"non-local means 8u, mask", 1, border_mode::reflect, true}, stream);
    time_non_local_means<float>({"non-local means 32f, mask", 1, border_mode::reflect, true}, stream);
}

}  // namespace boxsum::bench
