#include "cuda/runtime/cuda_try.hpp"
#include "measure/buffer_sets.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"
#include "support/device_oracle.hpp"

#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/guided_filter.hpp>
#include <boxsum/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

enum class filter { mean, threshold, statistics, contrast, guided, variable };

/// What does not count; or a guide or a map of radii, which take the place of that; or random radii and a mask.
enum class sampled { no, mask, weights, nan_pixels, guide, colours, smooth_radii, random_radii, masked_radii };

/// Sums of integers are exact in double, and those of multiples of 2^-24 below 1. Those of values around 0 are not
/// where windows hold many: they are finer than their largest sum. Every pixel of a flat image is a tie of Niblack's.
/// Confidences are weights e^(-x^2) beside integers, with bits too fine for sums that slide.
enum class image_values { integers, uniform, gaussian, flat, confidences };

struct window_case {
    const char* name;
    filter what;
    dtype image, result;
    sampled samples = sampled::no;
    threshold_method method = threshold_method::sauvola;
    image_values values = image_values::integers;
};

constexpr window_case cases[] = {
    {"box mean 8u", filter::mean, dtype::u8, dtype::u8},
    {"box mean 16u", filter::mean, dtype::u16, dtype::u16},
    {"box mean 32f", filter::mean, dtype::f32, dtype::f32},
    {"box mean 32f, uniform", filter::mean, dtype::f32, dtype::f32, sampled::no, threshold_method::sauvola,
     image_values::uniform},
    {"box mean 32f, gaussian", filter::mean, dtype::f32, dtype::f32, sampled::no, threshold_method::sauvola,
     image_values::gaussian},
    {"Bradley 8u", filter::threshold, dtype::u8, dtype::u8, sampled::no, threshold_method::bradley},
    {"Sauvola 8u", filter::threshold, dtype::u8, dtype::u8, sampled::no, threshold_method::sauvola},
    {"Niblack 8u", filter::threshold, dtype::u8, dtype::u8, sampled::no, threshold_method::niblack},
    {"Niblack 8u, flat", filter::threshold, dtype::u8, dtype::u8, sampled::no, threshold_method::niblack,
     image_values::flat},
    {"Wolf 8u", filter::threshold, dtype::u8, dtype::u8, sampled::no, threshold_method::wolf},
    {"NICK 8u", filter::threshold, dtype::u8, dtype::u8, sampled::no, threshold_method::nick},
    {"Singh 8u", filter::threshold, dtype::u8, dtype::u8, sampled::no, threshold_method::singh},
    {"Phansalkar 8u", filter::threshold, dtype::u8, dtype::u8, sampled::no, threshold_method::phansalkar},
    {"mean and deviation 8u", filter::statistics, dtype::u8, dtype::f32},
    {"mean and deviation 32f", filter::statistics, dtype::f32, dtype::f32},
    {"local contrast 8u", filter::contrast, dtype::u8, dtype::f32},
    {"box mean 8u, mask, count", filter::mean, dtype::u8, dtype::u8, sampled::mask},
    {"box mean 8u, weights, count", filter::mean, dtype::u8, dtype::u8, sampled::weights},
    {"box mean 16u, confidences, count", filter::mean, dtype::u16, dtype::u16, sampled::weights,
     threshold_method::sauvola, image_values::confidences},
    {"Bradley 8u, mask, count", filter::threshold, dtype::u8, dtype::u8, sampled::mask, threshold_method::bradley},
    {"Sauvola 8u, mask, count", filter::threshold, dtype::u8, dtype::u8, sampled::mask, threshold_method::sauvola},
    {"mean and deviation 8u, mask", filter::statistics, dtype::u8, dtype::f32, sampled::mask},
    {"local contrast 8u, mask, count", filter::contrast, dtype::u8, dtype::f32, sampled::mask},
    {"box mean 32f, mask, count", filter::mean, dtype::f32, dtype::f32, sampled::mask},
    {"box mean 32f, weights, count", filter::mean, dtype::f32, dtype::f32, sampled::weights},
    {"box mean 32f, NaN omitted, count", filter::mean, dtype::f32, dtype::f32, sampled::nan_pixels},
    {"guided by itself 8u", filter::guided, dtype::u8, dtype::u8},
    {"guided by itself 32f", filter::guided, dtype::f32, dtype::f32},
    {"guided 8u", filter::guided, dtype::u8, dtype::u8, sampled::guide},
    {"guided 32f", filter::guided, dtype::f32, dtype::f32, sampled::guide},
    {"guided by colours 8u", filter::guided, dtype::u8, dtype::u8, sampled::colours},
    {"guided by colours 32f", filter::guided, dtype::f32, dtype::f32, sampled::colours},
    {"guided by itself 8u, mask, count", filter::guided, dtype::u8, dtype::u8, sampled::mask},
    {"guided by itself 32f, mask, count", filter::guided, dtype::f32, dtype::f32, sampled::mask},
    {"smooth radii 8u", filter::variable, dtype::u8, dtype::u8, sampled::smooth_radii},
    {"random radii 8u", filter::variable, dtype::u8, dtype::u8, sampled::random_radii},
    {"random radii 8u, mask, count", filter::variable, dtype::u8, dtype::u8, sampled::masked_radii},
    {"random radii 32f", filter::variable, dtype::f32, dtype::f32, sampled::random_radii},
    {"random radii 32f, mask, count", filter::variable, dtype::f32, dtype::f32, sampled::masked_radii},
};

/// Device memory of one launch: images, what says which pixels count, and up to two results. `mask`: beside radii.
struct window_set {
    cuda::device_buffer image, samples, first, second, mask;
};

struct window_job {
    const window_case& c;
    std::int64_t n, radius;

    bool guided() const { return c.what == filter::guided; }
    bool variable() const { return c.what == filter::variable; }  ///< radii are at most `radius`
    bool has_guide() const { return c.samples == sampled::guide || c.samples == sampled::colours; }
    bool counted() const { return c.samples != sampled::no && !has_guide() && !variable(); }
    bool masks_radii() const { return c.samples == sampled::masked_radii; }
    view_shape image_shape() const { return packed(c.image, n, n); }
    view_shape samples_shape() const {
        if (has_guide()) return packed(c.image, n, n, c.samples == sampled::colours ? 3 : 1);
        if (variable()) return packed(dtype::s32, n, n);
        return packed(c.samples == sampled::weights ? dtype::f32 : dtype::u8, n, n);
    }
    view_shape result_shape() const { return packed(c.result, n, n); }
    view_shape second_shape() const { return packed(dtype::f32, n, n); }
    view_shape mask_shape() const { return packed(dtype::u8, n, n); }
    bool has_count() const { return counted() || masks_radii(); }
    bool has_second() const { return c.what == filter::statistics || has_count(); }
    bool has_samples() const { return c.samples != sampled::no && c.samples != sampled::nan_pixels; }

    /// Of a guided filter those of two passes over floats: image and two coefficients, and these, image and result; a
    /// mask twice, and a count.
    std::size_t bytes() const {
        if (guided()) return (has_count() ? 34 : 28) * static_cast<std::size_t>(n * n);
        return cuda::span_bytes(image_shape()) + cuda::span_bytes(result_shape()) +
               (has_samples() ? cuda::span_bytes(samples_shape()) : 0) +
               (has_second() ? cuda::span_bytes(second_shape()) : 0) +
               (masks_radii() ? cuda::span_bytes(mask_shape()) : 0);
    }

    /// Images of floats hold integers up to 255.
    static constexpr guided_rule rule{.epsilon = 650.25};

    guided_inputs guided_inputs_of(const filter_inputs& in) const {
        if (has_guide()) return {.image = in.image, .guide = in.mask};
        return {.image = in.image, .mask = in.mask};
    }

    filter_options options() const {
        filter_options o;
        if (!variable()) o.window = window_radius(radius);
        if (c.samples == sampled::nan_pixels) o.nan = nan_mode::omit;
        return o;
    }
};

double value_of(const std::byte* at, dtype type) {
    if (type == dtype::f32) {
        float x;
        std::memcpy(&x, at, 4);
        return x;
    }
    if (type == dtype::u16) {
        std::uint16_t x;
        std::memcpy(&x, at, 2);
        return x;
    }
    return static_cast<double>(*at);
}

/// `off`: what integers may be off by; 0 for all but guided filters.
std::string compare(const std::vector<std::byte>& found, const std::vector<std::byte>& expected, dtype type,
                    const char* what, std::int64_t first_row, int off = 0) {
    const std::size_t size = size_of(type);
    std::size_t wrong = 0;
    std::string first;
    for (std::size_t i = 0; i < found.size(); i += size) {
        if (std::memcmp(&found[i], &expected[i], size) == 0) continue;
        const double a = value_of(&found[i], type), b = value_of(&expected[i], type);
        // Both have rounded, and may have come by different sums; coefficients of pixels up to 255 cancel.
        const double size_of_terms = off > 0 ? 255 : std::fabs(b);
        if (type == dtype::f32 && std::fabs(a - b) <= 0x1p-20 * (1 + size_of_terms)) continue;
        if (type == dtype::u8 && std::fabs(a - b) <= off) continue;
        if (wrong++ == 0)
            first = "first element " + std::to_string(i / size) + " from row " + std::to_string(first_row) + " on, " +
                    std::to_string(a) + " instead of " + std::to_string(b);
    }
    if (wrong == 0) return {};
    return std::string("WRONG ") + what + ": " + std::to_string(wrong) + " of " + std::to_string(found.size() / size) +
           ", " + first;
}

/// Strips at the top, inside and at the end beside the CPU's filter, which works on the same pixels; Wolf's whole
/// image.
std::string verdict_on_windows(const window_job& job, const window_set& set, cuda::stream_ref stream) {
    stream.synchronize();
    const std::int64_t n = job.n;
    const bool whole = job.c.method == threshold_method::wolf && job.c.what == filter::threshold;
    const std::int64_t high = whole ? n : 5;
    for (const std::int64_t first : {std::int64_t{0}, n / 2 + 3, n - high}) {
        if (whole && first > 0) break;
        const std::int64_t reach = job.guided() ? 2 * job.radius : job.radius;
        const std::int64_t top = std::max<std::int64_t>(0, first - reach), bottom = std::min(n, first + high + reach);
        const auto rows_of = [&](const void* device, const view_shape& s, std::int64_t from, std::int64_t to) {
            std::vector<std::byte> host(static_cast<std::size_t>((to - from) * s.row_stride));
            BOXSUM_CUDA_TRY(cudaMemcpy(host.data(), static_cast<const std::byte*>(device) + from * s.row_stride,
                                       host.size(), cudaMemcpyDeviceToHost));
            return host;
        };
        const auto of_rows = [](view_shape s, std::int64_t rows) { return packed(s.type, rows, s.cols, s.channels); };
        const std::vector<std::byte> pixels = rows_of(set.image.data(), job.image_shape(), top, bottom);
        std::vector<std::byte> samples, mask;
        filter_inputs in{const_any_view{pixels.data(), of_rows(job.image_shape(), bottom - top)}};
        in.at = {top, 0};
        in.whole = {n, n};
        in.results = {first, first + high};
        if (job.variable()) {
            samples = rows_of(set.samples.data(), job.samples_shape(), first, first + high);
            if (job.masks_radii()) {
                mask = rows_of(set.mask.data(), job.mask_shape(), top, bottom);
                in.mask = {mask.data(), of_rows(job.mask_shape(), bottom - top)};
            }
        } else if (job.has_samples()) {
            samples = rows_of(set.samples.data(), job.samples_shape(), top, bottom);
            const const_any_view view{samples.data(), of_rows(job.samples_shape(), bottom - top)};
            (job.c.samples == sampled::weights ? in.weights : in.mask) = view;
        }
        if (whole) in = {in.image};
        const std::vector<std::byte> found = rows_of(set.first.data(), job.result_shape(), first, first + high);
        std::vector<std::byte> expected(found.size()), found_second, expected_second;
        const any_view result{expected.data(), of_rows(job.result_shape(), high)};
        any_view second;
        if (job.has_second()) {
            found_second = rows_of(set.second.data(), job.second_shape(), first, first + high);
            expected_second.resize(found_second.size());
            second = {expected_second.data(), of_rows(job.second_shape(), high)};
        }
        switch (job.c.what) {
            case filter::guided: {  // whose rows are not numbered in a whole
                const view_shape rows = of_rows(job.result_shape(), bottom - top);
                std::vector<std::byte> all(static_cast<std::size_t>(rows.rows * rows.row_stride));
                std::vector<float> counts(job.has_count() ? static_cast<std::size_t>(rows.rows * n) : 0);
                filter_outputs to{any_view{all.data(), rows}};
                if (job.has_count()) to.count = {counts.data(), packed(dtype::f32, rows.rows, n)};
                guided_filter(job.guided_inputs_of(in), to, job.rule, job.options());
                std::memcpy(expected.data(), all.data() + (first - top) * rows.row_stride, expected.size());
                if (job.has_count())
                    std::memcpy(expected_second.data(), counts.data() + (first - top) * n, expected_second.size());
                break;
            }
            case filter::mean:
                box_filter(in, {result, second}, job.options());
                break;
            case filter::variable:
                variable_box_filter({.image = in.image,
                                     .radius = {samples.data(), of_rows(job.samples_shape(), high)},
                                     .largest_radius = job.radius,
                                     .at = in.at,
                                     .whole = in.whole,
                                     .mask = in.mask},
                                    {result, second}, job.options());
                break;
            case filter::threshold:
                adaptive_threshold(in, {result, second}, {.method = job.c.method}, job.options());
                break;
            case filter::statistics:
                local_statistics(in, {.mean = result, .deviation = second}, job.options());
                break;
            case filter::contrast:
                local_contrast(in, {result, second}, {}, job.options());
                break;
        }
        if (std::string wrong = compare(found, expected, job.c.result, "result", first, job.guided() ? 1 : 0);
            !wrong.empty())
            return wrong;
        if (std::string wrong = compare(found_second, expected_second, dtype::f32, "second", first); !wrong.empty())
            return wrong;
    }
    return whole ? "equal" : "equal in strips";
}

/// Floats that are drawn, which repeat.
template <typename Draw>
void fill_floats(const cuda::device_buffer& image, Draw&& draw, cuda::stream_ref stream) {
    std::vector<float> values((std::size_t{1} << 20) - 3);  // so that rows differ
    for (float& v : values) v = draw();
    const std::size_t bytes = 4 * values.size();
    for (std::size_t at = 0; at < image.size(); at += bytes)
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(static_cast<std::byte*>(image.data()) + at, values.data(),
                                        std::min(bytes, image.size() - at), cudaMemcpyHostToDevice, stream.get()));
    stream.synchronize();
}

/// Radii from 0 on in hills and valleys or at random, which repeat from 256 rows to 256 rows.
void fill_radii(const window_job& job, const cuda::device_buffer& radii, std::mt19937_64& random,
                cuda::stream_ref stream) {
    constexpr std::int64_t rows = 256;
    std::vector<std::int32_t> block(static_cast<std::size_t>(rows * job.n));
    for (std::size_t i = 0; i < block.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i) / job.n, col = static_cast<std::int64_t>(i) % job.n;
        const double height = std::sin(static_cast<double>(row) * std::numbers::pi / 128) *
                              std::sin(static_cast<double>(col) * std::numbers::pi / 200);
        block[i] = job.c.samples == sampled::smooth_radii
                       ? static_cast<std::int32_t>(std::lround(static_cast<double>(job.radius) * (1 + height) / 2))
                       : static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(job.radius + 1));
    }
    for (std::size_t at = 0; at < radii.size(); at += 4 * block.size())
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(static_cast<std::byte*>(radii.data()) + at, block.data(), 4 * block.size(),
                                        cudaMemcpyHostToDevice, stream.get()));
    stream.synchronize();
}

void time_windows(const window_job& job, cuda::stream_ref stream) {
    const std::size_t beyond_cache = std::size_t{400} << 20;
    const std::size_t count = std::clamp<std::size_t>(beyond_cache / job.bytes() + 1, 2, 48);
    std::vector<window_set> sets;
    std::mt19937_64 random(7);
    const auto pixels = static_cast<std::size_t>(job.n * job.n);
    for (std::size_t i = 0; i < count; ++i) {
        sets.push_back({cuda::device_buffer(cuda::span_bytes(job.image_shape()), stream),
                        cuda::device_buffer(job.has_samples() ? cuda::span_bytes(job.samples_shape()) : 0, stream),
                        cuda::device_buffer(cuda::span_bytes(job.result_shape()), stream),
                        cuda::device_buffer(job.has_second() ? cuda::span_bytes(job.second_shape()) : 0, stream),
                        cuda::device_buffer(job.masks_radii() ? cuda::span_bytes(job.mask_shape()) : 0, stream)});
        std::normal_distribution<float> normal;
        if (job.c.values == image_values::gaussian)
            fill_floats(
                sets.back().image, [&] { return normal(random); }, stream);
        else if (job.c.values == image_values::uniform)
            fill_floats(
                sets.back().image, [&] { return static_cast<float>(random() >> 40) * 0x1p-24f; }, stream);
        else if (job.c.values == image_values::flat)
            BOXSUM_CUDA_TRY(cudaMemsetAsync(sets.back().image.data(), 100, sets.back().image.size(), stream.get()));
        else
            test::fill_exact({sets.back().image.data(), job.image_shape()}, 255, i + 1, stream);
        if (job.has_guide()) test::fill_exact({sets.back().samples.data(), job.samples_shape()}, 255, i + 1001, stream);
        if (job.variable()) fill_radii(job, sets.back().samples, random, stream);
        cuda::device_buffer& first_mask = job.masks_radii() ? sets[0].mask : sets[0].samples;
        if (!job.has_count()) continue;
        // One pixel in four does not count; the same places in every set.
        if (i > 0) {
            if (job.masks_radii())
                BOXSUM_CUDA_TRY(cudaMemcpyAsync(sets[i].mask.data(), first_mask.data(),
                                                cuda::span_bytes(job.mask_shape()), cudaMemcpyDeviceToDevice,
                                                stream.get()));
            else if (job.has_samples())
                BOXSUM_CUDA_TRY(cudaMemcpyAsync(sets[i].samples.data(), sets[0].samples.data(),
                                                cuda::span_bytes(job.samples_shape()), cudaMemcpyDeviceToDevice,
                                                stream.get()));
            else
                BOXSUM_CUDA_TRY(cudaMemcpyAsync(sets[i].image.data(), sets[0].image.data(),
                                                cuda::span_bytes(job.image_shape()), cudaMemcpyDeviceToDevice,
                                                stream.get()));
            continue;
        }
        if (job.c.samples == sampled::mask || job.masks_radii()) {
            std::vector<std::uint8_t> mask(pixels);
            for (std::uint8_t& m : mask) m = random() % 4 != 0;
            BOXSUM_CUDA_TRY(cudaMemcpy(first_mask.data(), mask.data(), pixels, cudaMemcpyHostToDevice));
        } else {
            std::vector<float> values(pixels);
            const bool nan = job.c.samples == sampled::nan_pixels;
            for (float& v : values) {
                const auto r = static_cast<float>(random() % 256);
                v = r < 64 ? (nan ? std::nanf("") : 0.f) : r;
                if (job.c.values == image_values::confidences && v > 0) v = std::exp(-(v / 64) * (v / 64));
            }
            BOXSUM_CUDA_TRY(cudaMemcpy(nan ? sets[0].image.data() : sets[0].samples.data(), values.data(), 4 * pixels,
                                       cudaMemcpyHostToDevice));
        }
    }
    stream.synchronize();

    const auto inputs = [&](int i) {
        const window_set& s = sets[static_cast<std::size_t>(i) % count];
        filter_inputs in{const_any_view{s.image.data(), job.image_shape()}};
        if (job.has_samples())
            (job.c.samples == sampled::weights ? in.weights : in.mask) =
                const_any_view{s.samples.data(), job.samples_shape()};
        return in;
    };
    const auto outputs = [&](int i) {
        const window_set& s = sets[static_cast<std::size_t>(i) % count];
        filter_outputs out{{s.first.data(), job.result_shape()}};
        if (job.has_count()) out.count = {s.second.data(), job.second_shape()};
        return out;
    };
    const auto statistics = [&](int i) {
        const window_set& s = sets[static_cast<std::size_t>(i) % count];
        return window_outputs{.mean = {s.first.data(), job.result_shape()},
                              .deviation = {s.second.data(), job.second_shape()}};
    };
    std::function<void(int, cuda::workspace&, cuda::stream_ref)> launch;
    std::size_t workspace_bytes = 0;
    const auto planned = [&](auto plan, auto out) {
        workspace_bytes = plan.workspace_bytes();
        launch = [plan, inputs, out](int i, cuda::workspace& w, cuda::stream_ref s) {
            plan.run_async(inputs(i), out(i), w, s);
        };
    };
    switch (job.c.what) {
        case filter::mean:
            planned(cuda::box_filter_plan(inputs(0), outputs(0), job.options()), outputs);
            break;
        case filter::threshold:
            planned(cuda::adaptive_threshold_plan(inputs(0), outputs(0), {.method = job.c.method}, job.options()),
                    outputs);
            break;
        case filter::statistics:
            planned(cuda::local_statistics_plan(inputs(0), statistics(0), job.options()), statistics);
            break;
        case filter::contrast:
            planned(cuda::local_contrast_plan(inputs(0), outputs(0), {}, job.options()), outputs);
            break;
        case filter::variable: {
            const auto variable = [&sets, &job, inputs](int i) {
                const filter_inputs in = inputs(i);
                variable_inputs all{.image = in.image, .radius = in.mask, .largest_radius = job.radius};
                if (job.masks_radii())
                    all.mask = {sets[static_cast<std::size_t>(i) % sets.size()].mask.data(), job.mask_shape()};
                return all;
            };
            const cuda::variable_box_filter_plan plan(variable(0), outputs(0), job.options());
            workspace_bytes = plan.workspace_bytes();
            launch = [plan, variable, outputs](int i, cuda::workspace& w, cuda::stream_ref s) {
                plan.run_async(variable(i), outputs(i), w, s);
            };
            break;
        }
        case filter::guided: {
            const auto guided = [inputs, &job](int i) { return job.guided_inputs_of(inputs(i)); };
            const cuda::guided_filter_plan plan(guided(0), outputs(0), job.rule, job.options());
            workspace_bytes = plan.workspace_bytes();
            launch = [plan, guided, outputs](int i, cuda::workspace& w, cuda::stream_ref s) {
                plan.run_async(guided(i), outputs(i), w, s);
            };
        }
    }
    cuda::workspace workspace(workspace_bytes, stream);
    // A copy that reads and writes as many bytes in all.
    const std::size_t half = job.bytes() / 2;
    std::vector<cuda::device_buffer> copies;
    for (std::size_t i = 0; i < 2 * std::min<std::size_t>(count, 24); ++i) copies.emplace_back(half, stream);
    stream.synchronize();
    const std::vector<runner> runners = {
        {"copy",
         [&](int i, cuda::stream_ref s) {
             const std::size_t pair = 2 * (static_cast<std::size_t>(i) % (copies.size() / 2));
             BOXSUM_CUDA_TRY(cudaMemcpyAsync(copies[pair].data(), copies[pair + 1].data(), half,
                                             cudaMemcpyDeviceToDevice, s.get()));
         }},
        {job.c.name, [&](int i, cuda::stream_ref s) { launch(i, workspace, s); }}};
    const std::vector<double> us = times_of(runners, job.n >= 8192 ? 2 : 8, false, stream);
    launch(0, workspace, stream);
    json_line()
        .text("section", "windows")
        .text("filter", job.c.name)
        .number("n", static_cast<double>(job.n))
        .number("radius", static_cast<double>(job.radius))
        .number("us", us[1])
        .number("copy_us", us[0])
        .number("x", us[1] / us[0])
        .text("check", verdict_on_windows(job, sets[0], stream))
        .print();
}

}  // namespace

void windows_section(cuda::stream_ref stream) {
    for (const std::int64_t n : {4096, 16384})
        for (const window_case& c : cases)
            for (std::int64_t radius : {3, 15, 250}) {
                if (c.what == filter::guided) radius = std::min<std::int64_t>(radius, 60);
                if (c.what == filter::variable && radius != 15) continue;  // once each
                if (c.samples == sampled::smooth_radii) radius = 63;
                try {
                    time_windows({c, n, radius}, stream);
                } catch (const unsupported&) {  // BOXSUM_TYPES has no table for it
                }
            }
    time_windows({cases[0], 256, 15}, stream);
    non_local_means_rows(stream);
    blob_rows(stream);
}

}  // namespace boxsum::bench
