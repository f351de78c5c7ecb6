#include "core/visit_types.hpp"
#include "cpu/filters/filters.hpp"
#include "cpu/filters/sampled_windows.hpp"
#include "cpu/filters/thresholds.hpp"
#include "cpu/filters/write_row.hpp"

#include <array>
#include <mutex>
#include <vector>

namespace boxsum::filters {
namespace {

/// Writes results of rows of a plane, or pieces of them, and `fill` where there is none.
class filled_rows {
  public:
    filled_rows(const row_job& job, std::int64_t plane) : job_(job), plane_(plane), given_(job.n()) {}

    /// Of the windows that follow: whether so much counts that there is a result and, unless it is null, the window's
    /// own pixel does.
    void start(const sampled_row& at, const u8* own) {
        at_ = {at.row, at.first, at.n};
        const f64 least = job_.weighted ? job_.min_weight : static_cast<f64>(job_.min_count);
        u8* const given = given_.data();
        const f64* const count = at.count;
        const std::int64_t n = at.n;
        u8 all = 1;
        for (std::int64_t i = 0; i < n; ++i) given[i] = static_cast<u8>((count[i] > 0) & (count[i] >= least));
        if (own != nullptr)
            for (std::int64_t i = 0; i < n; ++i) given[i] = static_cast<u8>(given[i] & own[i]);
        for (std::int64_t i = 0; i < n; ++i) all = static_cast<u8>(all & given[i]);
        all_given_ = all != 0;
    }
    bool given(std::int64_t i) const { return given_[i] != 0; }

    template <typename V>
    void write(const any_view& result, const V* values) const {
        write_all(result, values);
        fill(result);
    }

    /// What there is of every window, a result or not.
    template <typename V>
    void write_all(const any_view& result, const V* values) const {
        if (result.data != nullptr)
            with_type(result, [&]<typename T>(T* to) {
                if constexpr (std::is_same_v<T, f32> && std::is_same_v<V, f64>)
                    job_.kernels->block.convert_32f(to, values, at_.n);
                else
                    for (std::int64_t i = 0, n = at_.n; i < n; ++i) to[i] = as<T>(values[i]);
            });
    }

    /// Over results that are written already.
    void fill(const any_view& result) const {
        if (result.data == nullptr || all_given_) return;
        with_type(result, [&]<typename T>(T* to) {
            const T other =
                as<T>(job_.fill.value_or(std::is_integral_v<T> ? 0 : std::numeric_limits<f64>::quiet_NaN()));
            const u8* const given = given_.data();
            for (std::int64_t i = 0, n = at_.n; i < n; ++i) to[i] = given[i] != 0 ? to[i] : other;
        });
    }

  private:
    struct place {
        std::int64_t row = 0, first = 0, n = 0;
    };

    template <typename T, typename V>
    static T as(V x) {
        if constexpr (std::is_same_v<T, f16>)
            return nearest_float16(static_cast<f64>(x));
        else
            return static_cast<T>(x);
    }

    template <typename F>
    void with_type(const any_view& result, F&& f) const {
        visit_type(type_list<u8, u16, s16, u32, s32, s64, f16, f32, f64>{}, result.shape.type,
                   [&]<typename T>() { f(job_.row_to<T>(result, at_.row, plane_) + at_.first); });
    }

    const row_job& job_;
    std::int64_t plane_;
    work_buffer<u8> given_;
    place at_;
    bool all_given_ = false;
};

template <typename Pixel>
void statistics_band(const row_job& job, const window_outputs& outputs, const band& b) {
    filled_rows rows(job, b.plane);
    work_buffer<f64> deviation(job.n());
    const bool spread = outputs.variance.data != nullptr || outputs.deviation.data != nullptr;
    const bool rounded = outputs.mean.data != nullptr && !is_floating(outputs.mean.shape.type);
    const sampled_wants wants{
        .mean = !rounded, .spread = spread, .rounded = rounded, .sum = outputs.sum.data != nullptr};
    sampled_windows<Pixel>(job, b, wants, [&](const sampled_row& at) {
        rows.start(at, nullptr);
        if (at.narrow != nullptr)
            rows.write(outputs.mean, static_cast<const Pixel*>(at.narrow));
        else if (rounded)
            rows.write(outputs.mean, at.rounded);
        else
            rows.write(outputs.mean, at.mean);
        rows.write(outputs.variance, at.variance);
        if (outputs.deviation.data != nullptr) {
            job.kernels->block.square_root(deviation.data(), at.variance, at.n);
            rows.write(outputs.deviation, deviation.data());
        }
        if (at.exact_sum != nullptr)
            rows.write(outputs.sum, at.exact_sum);
        else
            rows.write(outputs.sum, at.sum);
        rows.write_all(outputs.count, at.count);
    });
}

/// Whether means of the image's type, and numbers, are all that is wanted of windows of 16 bits.
template <typename Pixel>
bool integer_means_alone(const row_job& job, const window_outputs& outputs) {
    return sizeof(Pixel) == 2 && std::is_integral_v<Pixel> && !job.weighted &&
           job.largest_window < std::int64_t{1} << 31 && outputs.mean.data != nullptr &&
           outputs.mean.shape.type == job.shape.type && outputs.variance.data == nullptr &&
           outputs.deviation.data == nullptr && outputs.sum.data == nullptr;
}

/// Whether the windows' own kernel writes all results.
template <typename Pixel>
bool written_by_windows(const row_job& job, const window_outputs& outputs) {
    const auto real = [](const any_view& v) {
        return v.data == nullptr || v.shape.type == dtype::f32 || v.shape.type == dtype::f64;
    };
    const bool in_double = std::is_floating_point_v<Pixel> || job.weighted;
    const bool counts =
        real(outputs.count) || (outputs.count.shape.type == dtype::u32 && job.largest_window < std::int64_t{1} << 31);
    const bool one_spread = outputs.variance.data == nullptr || outputs.deviation.data == nullptr;
    const bool sums = outputs.sum.data == nullptr || outputs.sum.shape.type == dtype::f64;
    return in_double && counts && one_spread && sums && real(outputs.mean) && real(outputs.variance) &&
           real(outputs.deviation);
}

/// Eight rows of a result of type T, if it is one: those of the band, null for the others.
template <typename T>
class result_rows {
  public:
    result_rows(const any_view& result, dtype type)
        : result_(result), wanted_(result.data != nullptr && result.shape.type == type) {}

    T* const* of(const row_job& job, const band& b, std::int64_t group) {
        if (!wanted_) return nullptr;
        for (std::int64_t i = 0; i < 8; ++i) {
            const std::int64_t row = 8 * group + i;
            rows_[static_cast<std::size_t>(i)] =
                row >= b.first && row < b.end ? job.row_to<T>(result_, row, b.plane) : nullptr;
        }
        return rows_.data();
    }

  private:
    const any_view& result_;
    bool wanted_;
    std::array<T*, 8> rows_{};
};

/// Whether means, in numbers that kernels write, are of sums that need no weights.
template <typename Pixel>
bool counted_means_alone(const row_job& job, const window_outputs& outputs) {
    return std::is_floating_point_v<Pixel> && !job.weighted && job.largest_window < std::int64_t{1} << 31 &&
           outputs.variance.data == nullptr && outputs.deviation.data == nullptr && outputs.sum.data == nullptr;
}

/// move_to(group) sets the rows of `results`.
template <typename Pixel, typename Move>
void counted_means(const row_job& job, const band& b, const weighted_results& results, Move&& move_to) {
    sampled_rows<Pixel> rows(job, b.plane);
    const bool counted = job.rows.border == border_mode::constant && rows.counted(static_cast<Pixel>(job.border_value));
    group_numbers numbers(job, rows.counts, counted);
    image_rows<Pixel> image(job, b.plane);
    const row_positions<Pixel> pixels(job, image);
    const counted_positions<Pixel> positions{pixels, numbers.positions()};
    group_sums<Pixel> sums(job, rows.values, counted ? job.border_value : 0, &positions);
    for (std::int64_t group = b.first / 8; 8 * group < b.end; ++group) {
        move_to(group);
        numbers.move_to(group);
        sums.windows(group, [&](const f64* line, const group_windows& windows, const f64* beyond) {
            job.kernels->block.counted_means(results, line, windows, beyond, numbers.line(), numbers.beyond(),
                                             job.cols.extent, job.shape.channels);
        });
    }
}

template <typename Pixel>
void written_band(const row_job& job, const window_outputs& outputs, const band& b) {
    const any_view& spread = outputs.variance.data != nullptr ? outputs.variance : outputs.deviation;
    result_rows<f64> weight(outputs.count, dtype::f64), sum(outputs.sum, dtype::f64), mean(outputs.mean, dtype::f64),
        spread_64f(spread, dtype::f64);
    result_rows<f32> weight_32f(outputs.count, dtype::f32), mean_32f(outputs.mean, dtype::f32),
        spread_32f(spread, dtype::f32);
    result_rows<s32> count(outputs.count, dtype::u32);
    const auto bytes_of = [](const any_view& v) {
        return v.data != nullptr ? static_cast<std::int64_t>(size_of(v.shape.type)) : 0;
    };
    weighted_results results{.deviations = outputs.deviation.data != nullptr,
                             .streaming = job.streams(bytes_of(outputs.count) + bytes_of(outputs.sum) +
                                                      bytes_of(outputs.mean) + bytes_of(spread)),
                             .least = job.weighted ? std::max(job.min_weight, std::numeric_limits<f64>::denorm_min())
                                                   : static_cast<f64>(std::max<std::int64_t>(job.min_count, 1)),
                             .fill = job.fill.value_or(std::numeric_limits<f64>::quiet_NaN())};
    const auto move_to = [&](std::int64_t group) {
        results.weight = weight.of(job, b, group);
        results.sum = sum.of(job, b, group);
        results.mean = mean.of(job, b, group);
        results.spread = spread_64f.of(job, b, group);
        results.weight_32f = weight_32f.of(job, b, group);
        results.mean_32f = mean_32f.of(job, b, group);
        results.spread_32f = spread_32f.of(job, b, group);
        results.count = count.of(job, b, group);
    };
    if constexpr (std::is_floating_point_v<Pixel>)
        if (counted_means_alone<Pixel>(job, outputs)) return counted_means<Pixel>(job, b, results, move_to);
    weighted_windows_of<Pixel>(job, b, spread.data != nullptr, [&](auto& windows, std::int64_t group) {
        move_to(group);
        windows.compute(group, results);
    });
}

/// write_mean(row, first, n, counts) for pieces of every row of the band, after which their numbers are written.
template <typename F>
void write_with_counts(const row_job& job, const any_view& count, const band& b, row_source<u8>& rows,
                       bool has_constant, F&& write_mean) {
    count_windows<u32> counts(job, rows, has_constant);
    const block_kernels& kernels = job.kernels->block;
    const bool streaming = job.streams(sizeof(u32));
    for (std::int64_t row = b.first; row < b.end; ++row) {
        counts.start(row, row == b.first);
        for (std::int64_t first = 0; first < job.n(); first += tile) {
            const std::int64_t n = std::min(tile, job.n() - first);
            const u32* const c = counts.next(first, n);
            write_mean(row, first, n, c);
            if (count.data == nullptr) continue;
            if (count.shape.type == dtype::u32)
                kernels.number_32u(job.row_to<u32>(count, row, b.plane) + first, c, n, streaming);
            else if (count.shape.type == dtype::f32)
                kernels.number_32f(job.row_to<f32>(count, row, b.plane) + first, c, n);
            else
                kernels.number_64f(job.row_to<f64>(count, row, b.plane) + first, c, n);
        }
    }
}

/// The least number that has a result.
u32 least_number(const row_job& job) {
    return static_cast<u32>(std::clamp<std::int64_t>(job.min_count, 1, std::int64_t{1} << 31));
}

template <typename Pixel, typename A>
void integer_means_band(const row_job& job, const window_outputs& outputs, const band& b) {
    using stored = typename stored_as<Pixel>::type;
    sampled_rows<Pixel> rows(job, b.plane);
    const bool has_constant =
        job.rows.border == border_mode::constant && rows.counted(static_cast<Pixel>(job.border_value));
    column_sums<Pixel, A, false> sums(job, rows.values);
    row_windows<A> windows(job, has_constant ? static_cast<A>(stored_constant<Pixel>(job)) : A{0});
    const u32 least = least_number(job);
    const A half = job.rounding == rounding_mode::half_up ? static_cast<A>(-1) : A{0};
    const auto fill = static_cast<stored>(static_cast<Pixel>(job.fill.value_or(0)));
    const auto& kernels = std::get<window_kernels<A>>(job.kernels->window);
    write_with_counts(job, outputs.count, b, rows.counts, has_constant,
                      [&](std::int64_t row, std::int64_t first, std::int64_t n, const u32* counts) {
                          if (first == 0) {
                              row == b.first ? sums.start(row) : sums.advance(row);
                              windows.start(sums.data(), row);
                          }
                          kernels.mean_16u_some(job.row_to<stored>(outputs.mean, row, b.plane) + first,
                                                windows.next(first, n), counts, least, half, stored_as<Pixel>::flip,
                                                fill, n);
                      });
}

/// Whether deviations of 32 bits, alone or with such means, and numbers are all that is wanted of windows of integers.
template <typename Pixel>
bool integer_deviations_alone(const row_job& job, const window_outputs& outputs) {
    const auto real = [](const any_view& v) { return v.data != nullptr && v.shape.type == dtype::f32; };
    return !job.weighted && job.largest_window < std::int64_t{1} << 31 && real(outputs.deviation) &&
           (outputs.mean.data == nullptr || real(outputs.mean)) && outputs.variance.data == nullptr &&
           outputs.sum.data == nullptr;
}

template <typename Pixel, typename A>
void integer_deviations_band(const row_job& job, const window_outputs& outputs, const band& b) {
    sampled_rows<Pixel> rows(job, b.plane);
    const bool has_constant =
        job.rows.border == border_mode::constant && rows.counted(static_cast<Pixel>(job.border_value));
    const auto constant = has_constant ? static_cast<u64>(stored_constant<Pixel>(job)) : u64{0};
    column_sums<Pixel, A, false> sums(job, rows.values);
    column_sums<Pixel, u64, true> squares(job, rows.values);
    row_windows<A> sum_windows(job, static_cast<A>(constant));
    row_windows<u64> square_windows(job, constant * constant);
    const work_buffer<A> divisors(sizeof(A) == sizeof(u32) ? 0 : tile);
    const work_buffer<f32> unwanted(tile);
    const auto& kernel = std::get<moment_kernels<A, u64>>(job.kernels->moment).deviations_32f;
    const auto moments = job.largest_window <= largest_narrow_window<Pixel> ? kernel.narrow : kernel.wide;
    const u32 least = least_number(job);
    const auto fill = static_cast<f32>(job.fill.value_or(std::numeric_limits<f64>::quiet_NaN()));
    write_with_counts(
        job, outputs.count, b, rows.counts, has_constant,
        [&](std::int64_t row, std::int64_t first, std::int64_t n, const u32* counts) {
            if (first == 0) {
                const auto move = [&](auto& columns) { row == b.first ? columns.start(row) : columns.advance(row); };
                move(sums);
                move(squares);
                sum_windows.start(sums.data(), row);
                square_windows.start(squares.data(), row);
            }
            const A* each = divisors.data();
            if constexpr (sizeof(A) == sizeof(u32))
                each = counts;
            else
                std::copy_n(counts, n, divisors.data());
            f32* const mean =
                outputs.mean.data == nullptr ? unwanted.data() : job.row_to<f32>(outputs.mean, row, b.plane) + first;
            f32* const deviation = job.row_to<f32>(outputs.deviation, row, b.plane) + first;
            moments(mean, deviation, sum_windows.next(first, n), square_windows.next(first, n), A{1}, each,
                    static_cast<A>(stored_as<Pixel>::offset), n);  // where nothing counts, whatever
            if (!job.kernels->block.any_below(counts, least, n)) return;
            for (std::int64_t i = 0; i < n; ++i) {
                mean[i] = counts[i] >= least ? mean[i] : fill;
                deviation[i] = counts[i] >= least ? deviation[i] : fill;
            }
        });
}

template <typename Pixel>
void sampled_band(const row_job& job, const window_outputs& outputs, const band& b) {
    if constexpr (std::is_integral_v<Pixel>)
        if (integer_deviations_alone<Pixel>(job, outputs))
            return job.largest_window <= largest_32_bit_window<Pixel>
                       ? integer_deviations_band<Pixel, u32>(job, outputs, b)
                       : integer_deviations_band<Pixel, u64>(job, outputs, b);
    if constexpr (sizeof(Pixel) == 2 && std::is_integral_v<Pixel>)
        if (integer_means_alone<Pixel>(job, outputs))
            return job.largest_window <= largest_32_bit_window<Pixel> ? integer_means_band<Pixel, u32>(job, outputs, b)
                                                                      : integer_means_band<Pixel, u64>(job, outputs, b);
    written_by_windows<Pixel>(job, outputs) ? written_band<Pixel>(job, outputs, b)
                                            : statistics_band<Pixel>(job, outputs, b);
}

/// Calls f(row, counts): which of the row's own pixels count.
template <typename Pixel, typename F>
void sampled_with_pixels(const row_job& job, const band& b, bool spread, F&& f) {
    const sample_finder<Pixel> finder(job, b.plane);
    work_buffer<u8> own(job.n());
    std::int64_t found = -1;
    sampled_windows<Pixel>(job, b, {.mean = true, .spread = spread}, [&](const sampled_row& at) {
        if (found != at.row) finder.find(own.data(), nullptr, found = at.row);
        f(at, own.data() + at.first);
    });
}

template <typename Pixel>
std::vector<extremes> find_extremes(const row_job& job) {
    const std::int64_t channels = job.shape.channels;
    std::vector<extremes> planes(static_cast<std::size_t>(job.shape.planes));
    std::mutex joining;
    for_each_band(job, [&](const band& b, int) {
        extremes mine;
        filled_rows rows(job, b.plane);
        sampled_with_pixels<Pixel>(job, b, true, [&](const sampled_row& at, const u8* own) {
            const Pixel* const x = job.pixels<Pixel>(at.row, b.plane) + at.first;
            rows.start(at, nullptr);
            for (std::int64_t i = 0; i < at.n; ++i) {
                if (!rows.given(i)) continue;
                const auto k = static_cast<std::size_t>(i % channels);
                const f64 deviation = std::sqrt(at.variance[i]), pixel = static_cast<f64>(x[i]);
                if (deviation > mine.largest_deviation[k]) mine.largest_deviation[k] = deviation;
                if (own[i] != 0 && pixel < mine.smallest_pixel[k]) mine.smallest_pixel[k] = pixel;
            }
        });
        const std::lock_guard lock(joining);
        planes[static_cast<std::size_t>(b.plane)].include(mine);
    });
    return planes;
}

template <typename Pixel>
void threshold(const row_job& job, const threshold_job& formula, const filter_outputs& outputs) {
    std::vector<extremes> planes;
    if (formula.method == threshold_method::wolf) planes = find_extremes<Pixel>(job);
    for_each_band(job, [&](const band& b, int) {
        filled_rows rows(job, b.plane);
        threshold_rows<Pixel> all(job, formula, planes.empty() ? nullptr : &planes[static_cast<std::size_t>(b.plane)],
                                  outputs.result, b.plane);
        work_buffer<f64> deviation(job.n());
        sampled_with_pixels<Pixel>(job, b, !formula.of_means(), [&](const sampled_row& at, const u8* own) {
            if (at.variance != nullptr) job.kernels->block.square_root(deviation.data(), at.variance, at.n);
            all.write(at.row, at.first, at.n, at.mean, deviation.data());
            rows.start(at, own);
            rows.fill(outputs.result);
            rows.write_all(outputs.count, at.count);
        });
    });
}

template <typename Pixel>
void contrast_band(const row_job& job, double epsilon, const filter_outputs& outputs, const band& b) {
    filled_rows rows(job, b.plane);
    work_buffer<f64> deviation(job.n());
    const auto& kernels = std::get<pixel_kernels<Pixel>>(job.kernels->pixel);
    sampled_with_pixels<Pixel>(job, b, true, [&](const sampled_row& at, const u8* own) {
        job.kernels->block.square_root(deviation.data(), at.variance, at.n);
        kernels.contrast(job.row_to<f32>(outputs.result, at.row, b.plane) + at.first,
                         job.pixels<Pixel>(at.row, b.plane) + at.first, at.mean, deviation.data(), epsilon, at.n);
        rows.start(at, own);
        rows.fill(outputs.result);
        rows.write_all(outputs.count, at.count);
    });
}

}  // namespace

void sampled_statistics(const row_job& job, const window_outputs& outputs) {
    visit_type(filter_types{}, job.shape.type, [&]<typename Pixel>() {
        for_each_band(job, [&](const band& b, int) { sampled_band<Pixel>(job, outputs, b); });
    });
}

void sampled_threshold(const row_job& job, const threshold_job& formula, const filter_outputs& outputs) {
    visit_type(filter_types{}, job.shape.type, [&]<typename Pixel>() { threshold<Pixel>(job, formula, outputs); });
}

void sampled_contrast(const row_job& job, double epsilon, const filter_outputs& outputs) {
    visit_type(filter_types{}, job.shape.type, [&]<typename Pixel>() {
        for_each_band(job, [&](const band& b, int) { contrast_band<Pixel>(job, epsilon, outputs, b); });
    });
}

}  // namespace boxsum::filters
