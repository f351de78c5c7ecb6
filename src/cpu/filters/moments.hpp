#pragma once

#include "cpu/filters/floating_windows.hpp"
#include "cpu/filters/integer_windows.hpp"

#include <type_traits>

namespace boxsum::filters {

/// consume(row, first, n, moment_rows) for pieces of every row of the band: means and variances in double, of elements
/// first .. first + n - 1, where target(row, first) says. Pieces begin with channel 0 and are never longer than the
/// row, nor, of integers, than a tile.
template <typename Pixel, typename Target, typename Consume>
void moments(const row_job& job, const band& b, Target&& target, Consume&& consume) {
    if constexpr (std::is_integral_v<Pixel>)
        integer_moments<Pixel>(
            job, b, [](const auto& kernels) -> const auto& { return kernels.variances; }, target, consume);
    else
        floating_moments<Pixel>(job, b, false, target, consume);
}

/// Memory for doubles of such pieces: of floats, for those of eight rows.
template <typename Pixel>
class piece_buffer {
  public:
    explicit piece_buffer(const row_job& job) : n_(job.n()), values_(std::is_integral_v<Pixel> ? tile : 8 * n_) {}

    f64* row(std::int64_t row) const noexcept {
        return values_.data() + (std::is_integral_v<Pixel> ? 0 : row % 8 * n_);
    }

  private:
    std::int64_t n_;
    work_buffer<f64> values_;
};

/// consume(row, first, n, mean, deviation): the same with the standard deviation.
template <typename Pixel, typename Consume>
void deviations(const row_job& job, const band& b, Consume&& consume) {
    const piece_buffer<Pixel> mean(job), spread(job);
    const auto target = [&](std::int64_t row, std::int64_t) {
        return moment_rows<f64>{mean.row(row), spread.row(row)};
    };
    const auto pass_on = [&](std::int64_t row, std::int64_t first, std::int64_t n, const moment_rows<f64>& at) {
        consume(row, first, n, static_cast<const f64*>(at.mean), static_cast<const f64*>(at.spread));
    };
    if constexpr (std::is_integral_v<Pixel>)
        integer_moments<Pixel>(
            job, b, [](const auto& kernels) -> const auto& { return kernels.deviations; }, target, pass_on);
    else
        floating_moments<Pixel>(job, b, true, target, pass_on);
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
