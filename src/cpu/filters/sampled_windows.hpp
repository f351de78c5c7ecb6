#pragma once

#include "core/rounding.hpp"
#include "cpu/filters/moments.hpp"
#include "cpu/filters/weighted_groups.hpp"
#include "filters/sampling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

/// Windows of images whose pixels may not count (filter_inputs, sampling). What does not count is summed as 0, and what
/// counts is summed, too: integers without weights as integers, everything else in double, by additions only.
namespace boxsum::filters {

/// Of rows that are kept, that one, or else the one that was not used for longest.
template <typename Kept, std::size_t count>
Kept& oldest_or(std::array<Kept, count>& kept, std::int64_t row, std::int64_t time) {
    Kept* found = &kept[0];
    for (Kept& k : kept) {
        if (k.row == row) {
            found = &k;
            break;
        }
        if (k.used < found->used) found = &k;
    }
    found->used = time;
    return *found;
}

/// Which samples of a plane's rows count.
template <typename Pixel>
class sample_finder {
  public:
    sample_finder(const row_job& job, std::int64_t plane) : job_(job), plane_(plane) {
        if (job.rows.border != border_mode::constant) return;
        constant_ = work_buffer<Pixel>(job.n());
        std::fill_n(constant_.data(), job.n(), static_cast<Pixel>(job.border_value));
    }

    /// A row of the image, or -1 for that beyond a constant border.
    const Pixel* pixels(std::int64_t row) const {
        return row < 0 ? constant_.data() : job_.template pixels<Pixel>(row, plane_);
    }

    /// Whether a sample of that value beyond a constant border counts.
    bool counted(Pixel x) const { return !filters::is_nodata(x, job_.nan, job_.nodata); }

    /// 1 or 0 for each element of a row, and unless they are null its weights: of what does not count 0.
    void find(u8* c, f32* w, std::int64_t row) const {
        const std::int64_t n = job_.n();
        const Pixel* const x = pixels(row);
        const bool by_value = job_.nodata || (job_.nan == nan_mode::omit && std::is_floating_point_v<Pixel>);
        const bool masked = job_.masked && row >= 0;
        if (by_value)
            find_by_value(c, x, n);
        else if (!masked)
            std::fill_n(c, n, u8{1});
        if (masked && by_value)
            for_each_of<u8>(job_.mask, row, [c](std::int64_t i, u8 m) { c[i] = static_cast<u8>(m != 0 ? c[i] : 0); });
        else if (masked)
            for_each_of<u8>(job_.mask, row, [c](std::int64_t i, u8 m) { c[i] = static_cast<u8>(m != 0); });
        if (job_.weighted && row >= 0)
            for_each_of<f32>(job_.weights, row, [c, w](std::int64_t i, f32 given) {
                c[i] = static_cast<u8>(is_weight(given) ? c[i] : 0);
                if (w != nullptr) w[i] = c[i] != 0 ? given : 0;
            });
        else if (w != nullptr)
            job_.kernels->weighted->weights(w, c, n);
    }

  protected:
    const row_job& job_;

  private:
    void find_by_value(u8* c, const Pixel* x, std::int64_t n) const {
        const bool has_nodata = job_.nodata && !std::isnan(*job_.nodata);
        const Pixel nodata = has_nodata ? static_cast<Pixel>(*job_.nodata) : Pixel{};
        if constexpr (std::is_floating_point_v<Pixel>) {
            const bool omit = job_.nan == nan_mode::omit || (job_.nodata && !has_nodata);
            if (omit && has_nodata)
                for (std::int64_t i = 0; i < n; ++i) c[i] = static_cast<u8>((x[i] == x[i]) & (x[i] != nodata));
            else if (omit)
                for (std::int64_t i = 0; i < n; ++i) c[i] = static_cast<u8>(x[i] == x[i]);
            else
                for (std::int64_t i = 0; i < n; ++i) c[i] = static_cast<u8>(x[i] != nodata);
        } else {
            for (std::int64_t i = 0; i < n; ++i) c[i] = static_cast<u8>(x[i] != nodata);
        }
    }

    /// Elements of a mask or of weights that go with a row: one for each element of the image, or for each column.
    template <typename T, typename F>
    void for_each_of(const const_any_view& view, std::int64_t row, F&& f) const {
        const T* const given = row_of<T>(view, row - job_.part_row, view.shape.planes == 1 ? 0 : plane_);
        const std::int64_t n = job_.n(), channels = view.shape.channels == 1 ? job_.shape.channels : 1;
        if (channels == 1)
            for (std::int64_t i = 0; i < n; ++i) f(i, given[i]);
        else
            for (std::int64_t i = 0; i < n; ++i) f(i, given[i / channels]);
    }

    std::int64_t plane_;
    work_buffer<Pixel> constant_;

  protected:
    void fetch_row(std::int64_t row) const {
        if (row < 0) return;
        fetch_lines(pixels(row), job_.n() * static_cast<std::int64_t>(sizeof(Pixel)));
        if (!job_.masked) return;
        const view_shape& s = job_.mask.shape;
        fetch_lines(row_of<u8>(job_.mask, row - job_.part_row, s.planes == 1 ? 0 : plane_), s.cols * s.channels);
    }
};

/// Rows of one plane and which of their samples count.
template <typename Pixel>
class sampled_rows : public sample_finder<Pixel> {
    using stored = typename stored_as<Pixel>::type;

    struct counts_of_row {
        std::int64_t row = -2;
        std::int64_t used = 0;
        work_buffer<u8> counts;  ///< 1 or 0
    };
    struct values_of_row {
        std::int64_t row = -2;
        std::int64_t used = 0;
        work_buffer<stored> values;  ///< what sums take as 0 where the sample does not count
    };

    struct values_source final : row_source<stored> {
        explicit values_source(sampled_rows& rows) : all(rows) {}
        const stored* row(std::int64_t row) override { return all.values_at(row); }
        void fetch(std::int64_t row) override { all.fetch_row(row); }
        sampled_rows& all;
    };
    struct counts_source final : row_source<u8> {
        explicit counts_source(sampled_rows& rows) : all(rows) {}
        const u8* row(std::int64_t row) override { return all.counts_at(row); }
        sampled_rows& all;
    };

  public:
    sampled_rows(const row_job& job, std::int64_t plane)
        : sample_finder<Pixel>(job, plane), values(*this), counts(*this) {
        for (counts_of_row& k : counts_) k.counts = zeros<u8>(whole_vectors(job.n()));
    }

    values_source values;
    counts_source counts;  ///< in whole vectors; sixteen live

  private:
    const u8* counts_at(std::int64_t row) {
        counts_of_row& to = oldest_or(counts_, row, ++time_);
        if (to.row != row) this->find(to.counts.data(), nullptr, to.row = row);
        return to.counts.data();
    }

    const stored* values_at(std::int64_t row) {
        const u8* const c = counts_at(row);
        values_of_row& to = oldest_or(values_, row, ++time_);
        if (to.row == row) return to.values.data();
        const std::int64_t n = this->job_.n();
        const Pixel* const x = this->pixels(row);
        if (to.values.data() == nullptr) to.values = work_buffer<stored>(n);
        stored* const v = to.values.data();
        to.row = row;
        std::get<pixel_kernels<stored>>(this->job_.kernels->pixel)
            .clean(v, reinterpret_cast<const stored*>(x), c, stored_as<Pixel>::flip, n);
        return v;
    }

    std::int64_t time_ = 0;
    // Of floats sixteen live. More of integers would only take room in the caches.
    std::array<counts_of_row, std::is_floating_point_v<Pixel> ? 18 : 2> counts_;
    std::array<values_of_row, 2> values_;
};

/// Rows of one plane with their weights, 1 or 0 where none are given. Integers, of 8 or 16 bits, as floats.
template <typename Pixel>
class weighted_rows : public sample_finder<Pixel> {
  public:
    using sample = std::conditional_t<std::is_integral_v<Pixel>, f32, Pixel>;

    /// `counted`: with counts instead of weights.
    weighted_rows(const row_job& job, std::int64_t plane, bool counted)
        : sample_finder<Pixel>(job, plane), counted_(counted) {
        for (kept& k : kept_) {
            k.counts = work_buffer<u8>(counted || &k == &kept_[0] ? job.n() : 0);
            k.weights = work_buffer<f32>(counted ? 0 : job.n());
            if (std::is_integral_v<Pixel>) k.pixels = work_buffer<f32>(job.n());
        }
    }

    /// The last sixteen rows live.
    weighted_row<sample> at(std::int64_t row) {
        kept& k = oldest_or(kept_, row, ++time_);
        const Pixel* const x = this->pixels(row);
        if (k.row != row) {
            k.row = row;
            counted_ ? this->find(k.counts.data(), nullptr, row)
                     : this->find(kept_[0].counts.data(), k.weights.data(), row);
            if constexpr (std::is_integral_v<Pixel>)
                std::transform(x, x + this->job_.n(), k.pixels.data(), [](Pixel v) { return static_cast<f32>(v); });
        }
        if constexpr (std::is_integral_v<Pixel>)
            return {k.pixels.data(), k.weights.data(), k.counts.data()};
        else
            return {x, k.weights.data(), k.counts.data()};
    }

  private:
    struct kept {
        std::int64_t row = -2;
        std::int64_t used = 0;
        work_buffer<f32> weights, pixels;
        work_buffer<u8> counts;
    };

    bool counted_;
    std::int64_t time_ = 0;
    std::array<kept, 18> kept_;
};

// ---- windows --------------------------------------------------------------------------------------------------------

/// What windows of elements first .. first + n - 1 of a row hold.
struct sampled_row {
    std::int64_t row = 0, first = 0, n = 0;
    const f64* count = nullptr;
    const f64* sum = nullptr;
    const f64* mean = nullptr;
    const f64* variance = nullptr;   ///< null unless asked for
    const s64* exact_sum = nullptr;  ///< of integers without weights
    const s64* rounded = nullptr;    ///< of integer images: the mean,
    const void* narrow = nullptr;    ///< or here, in the image's type; null unless asked for
};

/// An integer, rounded as results are, from a mean in double.
inline s64 rounded_mean(f64 mean, rounding_mode rounding) {
    const f64 below = std::floor(mean);
    return static_cast<s64>(below) + (rounding == rounding_mode::half_up && mean - below >= 0.5 ? 1 : 0);
}

/// What is asked of windows beside counts.
struct sampled_wants {
    bool mean = false, spread = false, rounded = false, sum = false;
};

/// How many samples windows have, piece by piece.
template <typename A>
class count_windows {
  public:
    count_windows(const row_job& job, row_source<u8>& counts, bool has_constant)
        : columns_(job, counts), windows_(job, has_constant ? A{1} : A{0}) {}

    void start(std::int64_t row, bool first) {
        first ? columns_.start(row) : columns_.advance(row);
        windows_.start(columns_.data(), row);
    }
    const A* next(std::int64_t first, std::int64_t n) { return windows_.next(first, n); }

    static void to_real(f64* count, const A* c, std::int64_t n) {
        using whole = std::conditional_t<sizeof(A) == 4, s32, s64>;  // they are below 2^31
        for (std::int64_t i = 0; i < n; ++i) count[i] = static_cast<f64>(static_cast<whole>(c[i]));
    }

  private:
    column_sums<u8, A, false> columns_;
    row_windows<A> windows_;
};

template <typename Pixel, typename A, typename Consume>
void exact_sampled_windows(const row_job& job, const band& b, const sampled_wants& wants, Consume&& consume) {
    using stored = typename stored_as<Pixel>::type;
    sampled_rows<Pixel> rows(job, b.plane);
    const bool has_constant =
        job.rows.border == border_mode::constant && rows.counted(static_cast<Pixel>(job.border_value));
    const auto constant = has_constant ? static_cast<u64>(stored_constant<Pixel>(job)) : u64{0};
    column_sums<Pixel, A, false> sums(job, rows.values);
    count_windows<A> counts(job, rows.counts, has_constant);
    column_sums<Pixel, u64, true> squares(job, rows.values);
    row_windows<A> sum_windows(job, static_cast<A>(constant));
    row_windows<u64> square_windows(job, constant * constant);
    work_buffer<f64> count(tile), sum(tile), mean(tile), variance(tile);
    work_buffer<s64> exact(tile);
    work_buffer<A> divisors(tile);
    work_buffer<stored> narrow(tile);
    constexpr s64 offset = stored_as<Pixel>::offset;
    const auto& kernels = std::get<window_kernels<A>>(job.kernels->window);
    const auto& with_squares = std::get<moment_kernels<A, u64>>(job.kernels->moment);
    const bool fits = job.largest_window <= largest_narrow_window<Pixel>;
    const auto moments = fits ? with_squares.variances.narrow : with_squares.variances.wide;
    const A half = job.rounding == rounding_mode::half_up ? static_cast<A>(-1) : A{0};
    for (std::int64_t row = b.first; row < b.end; ++row) {
        const auto move = [&](auto& columns) { row == b.first ? columns.start(row) : columns.advance(row); };
        move(sums);
        sum_windows.start(sums.data(), row);
        counts.start(row, row == b.first);
        if (wants.spread) {
            move(squares);
            square_windows.start(squares.data(), row);
        }
        for (std::int64_t first = 0; first < job.n(); first += tile) {
            const std::int64_t n = std::min(tile, job.n() - first);
            const A *const s = sum_windows.next(first, n), *const c = counts.next(first, n);
            // Where nothing counts, numbers are whatever, but divided by 1.
            for (std::int64_t i = 0; i < n; ++i) divisors[i] = static_cast<A>(c[i] + (c[i] == 0 ? 1 : 0));
            counts.to_real(count.data(), c, n);
            if (wants.spread)
                moments(mean.data(), variance.data(), s, square_windows.next(first, n), A{1}, divisors.data(),
                        static_cast<A>(offset), n);
            else if (wants.mean)
                kernels.mean_64f(mean.data(), s, A{1}, divisors.data(), static_cast<A>(offset), n);
            if (wants.rounded) {
                if constexpr (sizeof(stored) == 1)
                    kernels.mean_8u_each(narrow.data(), s, A{1}, divisors.data(), half, stored_as<Pixel>::flip, n);
                else
                    kernels.mean_16u_each(narrow.data(), s, A{1}, divisors.data(), half, stored_as<Pixel>::flip, n);
            }
            if (wants.sum)
                for (std::int64_t i = 0; i < n; ++i) {
                    exact[i] = static_cast<s64>(s[i]) - offset * static_cast<s64>(c[i]);
                    sum[i] = static_cast<f64>(exact[i]);
                }
            consume(sampled_row{row, first, n, count.data(), sum.data(), mean.data(),
                                wants.spread ? variance.data() : nullptr, exact.data(), nullptr,
                                wants.rounded ? narrow.data() : nullptr});
        }
    }
}

/// Numbers of what counts, below 2^31, in windows of eight rows: what stands beside group_sums.
class group_numbers {
  public:
    /// `rows`: sixteen rows that were asked for live. `counted`: whether what lies beyond a constant border does.
    group_numbers(const row_job& job, row_source<u8>& rows, bool counted)
        : job_(job),
          rows_(rows),
          counted_(counted),
          n_(job.n()),
          step_(8 * job.shape.channels),
          sums_(zeros<s32>(whole_vectors(n_))),
          line_(zeros<s32>((whole_vectors(job.cols.extent) + job.cols.width()) * step_)),
          positions_(job, rows) {
        if (job.cols.reduced()) beyond_ = zeros<s32>(step_);
    }

    /// To rows 8 group .. 8 group + 7 of the whole image.
    void move_to(std::int64_t group) {
        const std::int64_t width = job_.rows.width();
        if (group != group_ + 1 || group_ < 0) start(8 * group);
        group_ = group;
        const u8 *first[8], *last[8];
        for (std::int64_t i = 0; i < 8; ++i) {
            first[i] = positions_.pixels(8 * group + i);
            last[i] = positions_.pixels(8 * group + i + width - 1);
        }
        s32* const line = line_.data() + job_.cols.before * step_;
        const s32 outside = counted_ ? static_cast<s32>(job_.rows.full) : 0;
        job_.kernels->block.numbers_down(line, sums_.data(), first, last, n_);
        extend_line(line, job_.cols, step_, outside);
        if (job_.cols.reduced()) sum_columns_beyond(line, outside);
    }

    const row_positions<u8>& positions() const { return positions_; }
    const s32* line() const { return line_.data(); }
    const s32* beyond() const { return beyond_.data(); }  ///< null where nothing is

  private:
    void add(const u8* x, std::int64_t times) {
        const auto weight = static_cast<s32>(times);
        for (std::int64_t i = 0; i < n_; ++i) sums_[i] += weight * x[i];
    }

    /// Of the window of that row but its last row.
    void start(std::int64_t row) {
        const window_axis& axis = job_.rows;
        std::fill_n(sums_.data(), n_, 0);
        for (std::int64_t j = row; j < row + axis.width() - 1; ++j) add(positions_.pixels(j), 1);
        if (axis.repeats > 0)
            for (std::int64_t i = 0; i < axis.extent; ++i) add(rows_.row(i), axis.repeated(i));
        if (axis.edge_before > 0) add(positions_.pixels(0), axis.edge_before);
        if (axis.edge_after > 0) add(positions_.pixels(axis.extended() - 1), axis.edge_after);
    }

    void sum_columns_beyond(const s32* line, s32 outside) {
        const window_axis& axis = job_.cols;
        const bool constant = axis.border == border_mode::constant;
        const auto before = static_cast<s32>(axis.edge_before), after = static_cast<s32>(axis.edge_after);
        for (std::int64_t i = 0; i < step_; ++i)
            beyond_[i] = (constant ? outside : line[i]) * before +
                         (constant ? outside : line[(axis.extent - 1) * step_ + i]) * after;
        if (axis.repeats > 0)
            for (std::int64_t c = 0; c < axis.extent; ++c)
                for (std::int64_t i = 0; i < step_; ++i)
                    beyond_[i] += static_cast<s32>(axis.repeated(c)) * line[c * step_ + i];
    }

    const row_job& job_;
    row_source<u8>& rows_;
    bool counted_;
    std::int64_t n_, step_, group_ = -2;
    work_buffer<s32> sums_, line_, beyond_;
    row_positions<u8> positions_;
};

/// Windows in double: compute(weighted_groups, group) for every eight rows of the band, with moments or sums alone.
template <typename Pixel, typename Compute>
void weighted_windows_of(const row_job& job, const band& b, bool spread, Compute&& compute) {
    using rows_of_plane = weighted_rows<Pixel>;
    using sample = typename rows_of_plane::sample;
    const weighted_windows& all = *job.kernels->weighted;
    const auto& kernels = [&]() -> const weighted_kernels<sample>& {
        if constexpr (std::is_same_v<sample, f32>)
            if (spread && !job.weighted && job.largest_window <= std::int64_t{1} << 20) return all.counted_moments;
        return std::get<weighted_kernels<sample>>(spread ? all.moments : all.sums);
    }();
    rows_of_plane rows(job, b.plane, kernels.counted);
    const bool counted = job.rows.border == border_mode::constant && rows.counted(static_cast<Pixel>(job.border_value));
    weighted_groups<sample, rows_of_plane> windows(job, rows, kernels, counted);
    for (std::int64_t group = b.first / 8; 8 * group < b.end; ++group) compute(windows, group);
}

/// Eight rows of doubles, in memory.
class eight_rows {
  public:
    explicit eight_rows(std::int64_t n) : values_(8 * n) {
        for (std::int64_t i = 0; i < 8; ++i) rows_[static_cast<std::size_t>(i)] = values_.data() + i * n;
    }
    f64* const* rows() const { return rows_.data(); }
    f64* operator[](std::int64_t row) const { return rows_[static_cast<std::size_t>(row % 8)]; }

  private:
    work_buffer<f64> values_;
    std::array<f64*, 8> rows_;
};

template <typename Pixel, typename Consume>
void real_sampled_windows(const row_job& job, const band& b, const sampled_wants& wants, Consume&& consume) {
    const std::int64_t n = job.n();
    const eight_rows weight(n), sum(n), mean(n), variance(wants.spread ? n : 0);
    work_buffer<s64> rounded(n);
    const weighted_results results{.weight = weight.rows(),
                                   .sum = sum.rows(),
                                   .mean = mean.rows(),
                                   .spread = wants.spread ? variance.rows() : nullptr};
    weighted_windows_of<Pixel>(job, b, wants.spread, [&](auto& windows, std::int64_t group) {
        windows.compute(group, results);
        for (std::int64_t row = std::max(8 * group, b.first); row < std::min(8 * group + 8, b.end); ++row) {
            const f64 *const w = weight[row], *const s = sum[row], *const m = mean[row];
            if (wants.rounded && !is_floating(job.image_type)) {
                // 32-bit integers that are summed in double are so exactly.
                const bool exact = !std::is_integral_v<Pixel> && !job.weighted;
                for (std::int64_t i = 0; i < n; ++i)
                    rounded[i] = exact && w[i] > 0
                                     ? rounded_quotient(s[i], w[i], job.rounding == rounding_mode::half_up)
                                     : rounded_mean(m[i], job.rounding);
            }
            consume(sampled_row{row, 0, n, w, s, m, wants.spread ? variance[row] : nullptr, nullptr,
                                is_floating(job.image_type) ? nullptr : rounded.data()});
        }
    });
}

/// consume(sampled_row) for pieces of every row of the band, each of which begins with channel 0.
template <typename Pixel, typename Consume>
void sampled_windows(const row_job& job, const band& b, const sampled_wants& wants, Consume&& consume) {
    if constexpr (std::is_integral_v<Pixel>) {
        if (!job.weighted) {
            if (job.largest_window <= largest_32_bit_window<Pixel>)
                return exact_sampled_windows<Pixel, u32>(job, b, wants, consume);
            return exact_sampled_windows<Pixel, u64>(job, b, wants, consume);
        }
    }
    real_sampled_windows<Pixel>(job, b, wants, consume);
}

}  // namespace boxsum::filters
