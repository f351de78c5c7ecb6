#pragma once

#include "cpu/filters/floating_windows.hpp"
#include "cpu/filters/integer_windows.hpp"

#include <type_traits>

namespace boxsum::filters {

/// consume(row, first, n, mean, variance) for pieces of every row of the band: doubles, of elements first ..
/// first + n - 1. Pieces begin with channel 0.
template <typename Pixel, typename Consume>
void moments(const row_job& job, const band& b, Consume&& consume) {
    if constexpr (std::is_integral_v<Pixel>)
        integer_moments<Pixel>(
            job, b, [](const auto& kernels) -> const auto& { return kernels.variances; }, consume);
    else
        floating_moments<Pixel>(job, b, consume);
}

/// consume(row, first, n, mean, deviation): the same with the standard deviation.
template <typename Pixel, typename Consume>
void deviations(const row_job& job, const band& b, Consume&& consume) {
    if constexpr (std::is_integral_v<Pixel>) {
        integer_moments<Pixel>(
            job, b, [](const auto& kernels) -> const auto& { return kernels.deviations; }, consume);
    } else {
        work_buffer<f64> deviation(job.n());
        floating_moments<Pixel>(
            job, b, [&](std::int64_t row, std::int64_t first, std::int64_t n, const f64* mean, const f64* variance) {
                job.kernels->block.square_root(deviation.data(), variance, n);
                consume(row, first, n, mean, static_cast<const f64*>(deviation.data()));
            });
    }
}

/// consume(row, first, n, mean): means alone, as box_filter has them.
template <typename Pixel, typename Consume>
void means(const row_job& job, const band& b, Consume&& consume) {
    if constexpr (std::is_integral_v<Pixel>) {
        const auto as = [&]<typename A>() {
            const auto& kernels = std::get<window_kernels<A>>(job.kernels->window);
            const work_buffer<A> counts = column_counts<A>(job);
            work_buffer<f64> mean(tile);
            integer_sums<Pixel, A>(job, b,
                                   [&](std::int64_t row, std::int64_t first, std::int64_t n, const A* windows, A rows) {
                                       kernels.mean_64f(mean.data(), windows, rows, counts.data() + first,
                                                        static_cast<A>(stored_as<Pixel>::offset), n);
                                       consume(row, first, n, static_cast<const f64*>(mean.data()));
                                   });
        };
        if (job.largest_window <= largest_32_bit_window<Pixel>)
            as.template operator()<u32>();
        else
            as.template operator()<u64>();
    } else {
        const work_buffer<f64> counts = floating_column_counts(job);
        work_buffer<f64> mean(job.n());
        floating_sums<Pixel>(job, b, [&](std::int64_t row, const f64* sums, f64 rows) {
            job.kernels->block.divide_64f(mean.data(), sums, rows, counts.data(), job.n());
            consume(row, std::int64_t{0}, job.n(), static_cast<const f64*>(mean.data()));
        });
    }
}

}  // namespace boxsum::filters
