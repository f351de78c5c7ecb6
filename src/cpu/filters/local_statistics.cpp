#include "cpu/filters/byte_windows.hpp"
#include "cpu/filters/filters.hpp"
#include "cpu/filters/moments.hpp"
#include "cpu/filters/write_row.hpp"

#include <algorithm>

namespace boxsum::filters {
namespace {

template <typename Pixel>
void statistics_band(const row_job& job, const window_outputs& results, const band& b) {
    const piece_buffer<Pixel> mean(job), variance(job), deviation(job);
    // Results in double are written where they belong.
    const auto place = [&](const any_view& result, const piece_buffer<Pixel>& other, std::int64_t row,
                           std::int64_t first) {
        return result.data != nullptr && result.shape.type == dtype::f64 ? job.row_to<f64>(result, row, b.plane) + first
                                                                         : other.row(row);
    };
    const auto write = [&](const any_view& result, const f64* values, std::int64_t row, std::int64_t first,
                           std::int64_t n) {
        if (result.shape.type != dtype::f64) write_row(job, result, values, row, first, n, b.plane);
    };
    moments<Pixel>(
        job, b,
        [&](std::int64_t row, std::int64_t first) {
            return moment_rows<f64>{place(results.mean, mean, row, first),
                                    place(results.variance, variance, row, first)};
        },
        [&](std::int64_t row, std::int64_t first, std::int64_t n, const moment_rows<f64>& at) {
            write(results.mean, at.mean, row, first, n);
            write(results.variance, at.spread, row, first, n);
            if (results.deviation.data == nullptr) return;
            f64* const to = place(results.deviation, deviation, row, first);
            job.kernels->block.square_root(to, at.spread, n);
            write(results.deviation, to, row, first, n);
        });
}

/// 32-bit deviations, alone or with 32-bit means.
bool wants_real_deviations(const window_outputs& outputs) {
    return outputs.variance.data == nullptr && outputs.deviation.data != nullptr &&
           outputs.deviation.shape.type == dtype::f32 &&
           (outputs.mean.data == nullptr || outputs.mean.shape.type == dtype::f32);
}

template <typename Pixel>
void integer_deviations_band(const row_job& job, const window_outputs& results, const band& b) {
    const work_buffer<f32> unwanted(tile);
    integer_moments<Pixel>(
        job, b, [](const auto& kernels) -> const auto& { return kernels.deviations_32f; },
        [&](std::int64_t row, std::int64_t first) {
            return moment_rows<f32>{
                results.mean.data == nullptr ? unwanted.data() : job.row_to<f32>(results.mean, row, b.plane) + first,
                job.row_to<f32>(results.deviation, row, b.plane) + first};
        },
        [](auto&&...) {});
}

/// From sums or merges to results in one kernel.
template <typename Pixel>
void deviations_band(const row_job& job, const window_outputs& results, const band& b) {
    if constexpr (std::is_floating_point_v<Pixel>)
        return moments_of_groups<Pixel, f32>(
            job, b, true,
            [&](std::int64_t row) {
                return moment_rows<f32>{
                    results.mean.data == nullptr ? nullptr : job.row_to<f32>(results.mean, row, b.plane),
                    job.row_to<f32>(results.deviation, row, b.plane)};
            },
            [](std::int64_t) {});
    else
        integer_deviations_band<Pixel>(job, results, b);
}

template <typename T, typename A>
void copy_as(const row_job& job, const any_view& result, const A* values, std::int64_t row, std::int64_t first,
             std::int64_t n, std::int64_t plane) {
    T* const to = job.row_to<T>(result, row, plane) + first;
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(values[i]);
}

template <typename Pixel>
void sum_band(const row_job& job, const any_view& result, const band& b) {
    const auto write = [&](const auto* values, std::int64_t row, std::int64_t first, std::int64_t n) {
        switch (result.shape.type) {
            case dtype::s32:
                return copy_as<s32>(job, result, values, row, first, n, b.plane);
            case dtype::s64:
                return copy_as<s64>(job, result, values, row, first, n, b.plane);
            case dtype::f32:
                return copy_as<f32>(job, result, values, row, first, n, b.plane);
            default:
                return copy_as<f64>(job, result, values, row, first, n, b.plane);
        }
    };
    if constexpr (std::is_integral_v<Pixel>) {
        const work_buffer<u64> counts = column_counts<u64>(job);
        work_buffer<s64> sums(tile);
        const auto consume = [&](std::int64_t row, std::int64_t first, std::int64_t n, const auto* w, auto rows) {
            for (std::int64_t i = 0; i < n; ++i)
                sums[i] =
                    static_cast<s64>(w[i]) - stored_as<Pixel>::offset * static_cast<s64>(rows * counts[first + i]);
            write(sums.data(), row, first, n);
        };
        if (job.largest_window <= largest_32_bit_window<Pixel>)
            integer_sums<Pixel, u32>(job, b, consume);
        else
            integer_sums<Pixel, u64>(job, b, consume);
    } else {
        floating_sums<Pixel>(job, b, [&](std::int64_t row, const f64* sums, f64) { write(sums, row, 0, job.n()); });
    }
}

bool has_byte_deviations(const row_job& job, const window_outputs& outputs) {
    return has_byte_windows(job, true) && wants_real_deviations(outputs);
}

void byte_deviations(const row_job& job, const window_outputs& outputs, const band& b) {
    for_each_byte_row(job, b, true, outputs.count, [&](const byte_row& at) {
        job.kernels->byte->deviations(
            outputs.mean.data == nullptr ? nullptr : job.row_to<f32>(outputs.mean, at.row, b.plane),
            job.row_to<f32>(outputs.deviation, at.row, b.plane), at.sums, at.spreads, at.counts, job.n());
    });
}

}  // namespace

void write_counts(const row_job& job, const any_view& count) {
    if (count.data == nullptr) return;
    for (std::int64_t p = 0; p < job.shape.planes; ++p)
        for (std::int64_t row = job.first_row; row < job.end_row; ++row)
            for (std::int64_t c = 0; c < job.shape.cols; ++c) {
                const std::int64_t pixels = job.rows.count(row) * job.cols.count(c);
                for (std::int64_t i = c * job.shape.channels; i < (c + 1) * job.shape.channels; ++i) {
                    if (count.shape.type == dtype::u32)
                        job.row_to<u32>(count, row, p)[i] = static_cast<u32>(pixels);
                    else if (count.shape.type == dtype::f32)
                        job.row_to<f32>(count, row, p)[i] = static_cast<f32>(pixels);
                    else
                        job.row_to<f64>(count, row, p)[i] = static_cast<f64>(pixels);
                }
            }
}

void local_statistics(const row_job& job, const window_outputs& outputs) {
    const bool spread = outputs.variance.data != nullptr || outputs.deviation.data != nullptr;
    if (job.sampled()) {
        const bool mean_alone = outputs.mean.data != nullptr && outputs.sum.data == nullptr && !spread;
        if (outputs.sum.data == nullptr && has_byte_deviations(job, outputs))
            return for_each_band(job, [&](const band& b, int) { byte_deviations(job, outputs, b); });
        return mean_alone ? box_filter(job, {outputs.mean, outputs.count}) : sampled_statistics(job, outputs);
    }
    write_counts(job, outputs.count);
    window_outputs rest = outputs;
    // A mean alone needs no squares. And rounding needs the sum itself: a mean in double just below a half would round
    // up.
    if (outputs.mean.data != nullptr && (!spread || !is_floating(outputs.mean.shape.type))) {
        box_filter(job, {outputs.mean});
        rest.mean = {};
    }
    if (outputs.sum.data != nullptr)
        visit_type(filter_types{}, job.shape.type, [&]<typename Pixel>() {
            for_each_band(job, [&](const band& b, int) { sum_band<Pixel>(job, outputs.sum, b); });
        });
    if (!spread) return;
    if (has_byte_deviations(job, rest))
        return for_each_band(job, [&](const band& b, int) { byte_deviations(job, rest, b); });
    visit_type(filter_types{}, job.shape.type, [&]<typename Pixel>() {
        for_each_band(job, [&](const band& b, int) {
            if (wants_real_deviations(rest)) return deviations_band<Pixel>(job, rest, b);
            statistics_band<Pixel>(job, rest, b);
        });
    });
}

}  // namespace boxsum::filters
