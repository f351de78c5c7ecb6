#include "cpu/filters/byte_windows.hpp"
#include "cpu/filters/filters.hpp"
#include "cpu/filters/moments.hpp"
#include "cpu/filters/thresholds.hpp"
#include "cpu/filters/write_row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>
#include <vector>

namespace boxsum::filters {
namespace {

template <typename Pixel>
std::vector<extremes> find_extremes(const row_job& job) {
    const view_shape& s = job.shape;
    std::vector<extremes> planes(static_cast<std::size_t>(s.planes));
    std::mutex joining;
    const auto& kernels = std::get<pixel_kernels<Pixel>>(job.kernels->pixel);
    for_each_band(job, [&](const band& b, int) {
        extremes mine;
        deviations<Pixel>(
            job, b, [&](std::int64_t row, std::int64_t first, std::int64_t n, const f64*, const f64* deviation) {
                kernels.extremes(mine.largest_deviation.data(), mine.smallest_pixel.data(),
                                 job.pixels<Pixel>(row, b.plane) + first, deviation, n / s.channels, s.channels);
            });
        const std::lock_guard lock(joining);
        planes[static_cast<std::size_t>(b.plane)].include(mine);
    });
    return planes;
}

template <typename Pixel>
void threshold(const row_job& job, const threshold_job& formula, const any_view& result) {
    std::vector<extremes> planes;
    if (formula.method == threshold_method::wolf) planes = find_extremes<Pixel>(job);
    for_each_band(job, [&](const band& b, int) {
        threshold_rows<Pixel> rows(job, formula, planes.empty() ? nullptr : &planes[static_cast<std::size_t>(b.plane)],
                                   result, b.plane);
        const auto decide = [&](std::int64_t row, std::int64_t first, std::int64_t n, const f64* mean,
                                const f64* deviation) { rows.write(row, first, n, mean, deviation); };
        if (formula.of_means())
            means<Pixel>(job, b, [&](std::int64_t row, std::int64_t first, std::int64_t n, const f64* mean) {
                decide(row, first, n, mean, nullptr);
            });
        else
            deviations<Pixel>(job, b, decide);
    });
}

/// Whether comparisons in 32 bits decide: of moderate k, R, p and q, for whose errors byte_windows_impl.hpp has bounds.
bool has_byte_decisions(const row_job& job, const threshold_job& formula) {
    const bool moderate = std::abs(formula.k) <= 16 && formula.range >= 1 && formula.range <= 65536;
    const bool small_exp = std::abs(formula.p) <= 16 && formula.q >= 0 && 255 * formula.q <= 160 * formula.range;
    return moderate && (small_exp || formula.method != threshold_method::phansalkar) &&
           formula.output != threshold_output::threshold && has_byte_windows(job, !formula.of_means()) &&
           (formula.method != threshold_method::wolf || job.shape.channels == 1);
}

u8 yes_of(const threshold_job& formula) {
    return formula.output == threshold_output::zero_one ? 1 : 255;
}

byte_threshold numbers_of(const row_job& job, const threshold_job& formula, const threshold_terms& definition) {
    constexpr double u = 0x1p-24;
    const bool has_exp = formula.method == threshold_method::phansalkar;
    const double k = formula.k, largest = std::max(1.0, std::abs(1 - k));
    const double g = has_exp ? 1.25 * largest + 2 * std::abs(formula.p) : largest;
    byte_threshold t{&definition,
                     &std::get<pixel_kernels<u8>>(job.kernels->pixel),
                     1,
                     static_cast<f32>(k * std::abs(k)),
                     static_cast<f32>(8192 * u * g),
                     static_cast<f32>(5120 * u * k * k + 16384 * u * u),
                     yes_of(formula)};
    if (formula.method == threshold_method::bradley) t.scale = static_cast<f32>(1 - k);
    if (formula.method == threshold_method::singh) {
        const double whole = 2 * formula.range;
        t.scale = static_cast<f32>(k);
        t.whole = static_cast<f32>(whole);
        t.most = static_cast<f32>(whole * 254 / 255);
        t.bound = static_cast<f32>(u * (12 * whole + 3100) * (1 + 2 * std::abs(k)));
    }
    if (has_exp) {
        t.decay = static_cast<f32>(-formula.q / (2 * formula.range) * std::numbers::log2e);
        t.weight = static_cast<f32>(formula.p);
    }
    if (has_exp || formula.method == threshold_method::sauvola) {
        const double c = k / formula.range;
        t.scale = static_cast<f32>(1 - k);
        t.square = static_cast<f32>(c * std::abs(c));
        t.bound = static_cast<f32>(800000 * u * c * c + 64 * u * u * g * g);
    }
    return t;
}

/// byte_threshold::flat, by the definition.
std::array<u8, 256> verdicts_of_flat_windows(const row_job& job, const threshold_job& formula) {
    const threshold_terms definition{formula.method, formula.k, formula.range, formula.p, formula.q, nullptr, nullptr};
    const auto& kernels = std::get<pixel_kernels<u8>>(job.kernels->pixel);
    std::array<u8, 256> pixels{}, verdicts{};
    std::array<f64, 256> means{}, limits{};
    const std::array<f64, 256> deviations{};
    for (std::size_t value = 0; value < 256; ++value) {
        pixels[value] = static_cast<u8>(value);
        means[value] = static_cast<f64>(value);
    }
    kernels.thresholds(limits.data(), pixels.data(), means.data(), deviations.data(), definition, 256, 1);
    kernels.exceeds(verdicts.data(), pixels.data(), limits.data(), 255, 256);
    return verdicts;
}

/// Wolf's bounds hold for the largest deviation of all windows.
void add_extremes(byte_threshold& t, const extremes& wolf) {
    constexpr double u = 0x1p-24;
    const double k = t.definition->k, largest = wolf.largest_deviation[0], smallest = wolf.smallest_pixel[0];
    const double c = largest > 0 ? k / largest : 0, h = std::max({1.0, std::abs(1 - k), std::abs(k)});
    t.scale = static_cast<f32>(1 - k);
    t.square = static_cast<f32>(c * std::abs(c));
    t.bound_of_difference = static_cast<f32>(16384 * u * h);
    t.bound = static_cast<f32>(700000 * u * c * c);
    t.bound_of_mean = static_cast<f32>(4096 * u * k * k);
    t.least_bound = static_cast<f32>(2 * u * h * h);
    t.smallest = static_cast<f32>(smallest);
    t.shift = static_cast<f32>(k * smallest);
}

std::vector<extremes> find_byte_extremes(const row_job& job) {
    std::vector<extremes> planes(static_cast<std::size_t>(job.shape.planes));
    std::mutex joining;
    for_each_band(job, [&](const band& b, int) {
        f64 variance = 0, smallest = std::numeric_limits<f64>::infinity();
        const work_buffer<u8> others(job.n());
        const auto include = [&](const byte_row& at) {
            const u8* const x = job.pixels<u8>(at.row, b.plane);
            variance = job.kernels->byte->largest_variance(variance, x, at.sums, at.spreads, at.counts, job.n());
            u32 least = 256;
            if (at.samples == nullptr) {
                least = job.kernels->byte->smallest(x, job.n());
            } else {
                // Of pixels that count in windows that have a result; 255 for others.
                const u8* const own = at.own->counts.row(at.row);
                const auto* const counted = reinterpret_cast<const s32*>(at.samples->counted);
                const auto enough = static_cast<s32>(at.samples->least);
                u8* const given = others.data();
                u8 any = 0;
                for (std::int64_t i = 0; i < job.n(); ++i) {
                    const auto some = static_cast<u8>(own[i] & (counted[i] >= enough ? 1 : 0));
                    any = static_cast<u8>(any | some);
                    given[i] = static_cast<u8>(x[i] | (some - 1));
                }
                if (any != 0) least = job.kernels->byte->smallest(given, job.n());
            }
            if (least < 256) smallest = std::min(smallest, static_cast<f64>(least));
        };
        for_each_byte_row(job, b, true, {}, include, true);
        extremes mine;
        mine.largest_deviation[0] = std::sqrt(variance);
        mine.smallest_pixel[0] = smallest;
        const std::lock_guard lock(joining);
        planes[static_cast<std::size_t>(b.plane)].include(mine);
    });
    return planes;
}

/// With k = 0 the threshold is the mean, and what is above a mean is above the integer below it: no pixel is in doubt.
void above_means(const row_job& job, u8 yes, const any_view& result) {
    for_each_band(job, [&](const band& b, int) {
        const work_buffer<u8> mean(job.n());
        for_each_byte_row(job, b, false, {}, [&](const byte_row& at) {
            job.kernels->byte->means(mean.data(), at.sums, at.counts, false, job.n());
            job.kernels->byte->above(job.row_to<u8>(result, at.row, b.plane), job.pixels<u8>(at.row, b.plane),
                                     mean.data(), yes, job.n());
        });
    });
}

void byte_thresholds(const row_job& job, const threshold_job& formula, const filter_outputs& outputs) {
    if (formula.k == 0 && formula.method != threshold_method::phansalkar && !job.sampled())
        return above_means(job, yes_of(formula), outputs.result);
    std::vector<extremes> planes;
    if (formula.method == threshold_method::wolf) planes = find_byte_extremes(job);
    std::array<u8, 256> flat{};
    if (formula.method == threshold_method::phansalkar) flat = verdicts_of_flat_windows(job, formula);
    for_each_band(job, [&](const band& b, int) {
        threshold_terms definition{formula.method, formula.k, formula.range, formula.p, formula.q, nullptr, nullptr};
        byte_threshold numbers = numbers_of(job, formula, definition);
        numbers.flat = flat.data();
        if (!planes.empty()) {
            const extremes& wolf = planes[static_cast<std::size_t>(b.plane)];
            definition.largest_deviation = wolf.largest_deviation.data();
            definition.smallest_pixel = wolf.smallest_pixel.data();
            add_extremes(numbers, wolf);
        }
        for_each_byte_row(job, b, !formula.of_means(), outputs.count, [&](const byte_row& at) {
            u8* const to = job.row_to<u8>(outputs.result, at.row, b.plane);
            job.kernels->byte->decide(to, job.pixels<u8>(at.row, b.plane), at.sums, at.spreads, at.counts, numbers,
                                      job.n());
            at.fill_where_none(to, job.n());
        });
    });
}

}  // namespace

void adaptive_threshold(const row_job& job, const threshold_job& formula, const filter_outputs& outputs) {
    const bool bytes = has_byte_decisions(job, formula);
    if (job.sampled() && !bytes) return sampled_threshold(job, formula, outputs);
    if (!job.sampled()) write_counts(job, outputs.count);
    if (bytes) return byte_thresholds(job, formula, outputs);
    visit_type(filter_types{}, job.shape.type,
               [&]<typename Pixel>() { threshold<Pixel>(job, formula, outputs.result); });
}

}  // namespace boxsum::filters
