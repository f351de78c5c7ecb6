#pragma once

#include "core/rounding.hpp"
#include "cpu/filters/moments.hpp"
#include "filters/sampling.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

/// Windows of images whose pixels may not count (filter_inputs, sampling). What does not count is summed as 0, and what
/// counts is summed, too: integers without weights as integers, everything else in double, by additions only.
namespace boxsum::filters {

/// Rows of one plane and which of their samples count. `Value` is how sums take samples: as stored integers, or in
/// double, times their weights.
template <typename Pixel, typename Value>
class sampled_rows {
  public:
    struct samples {
        std::int64_t row = -2;
        std::int64_t used = 0;
        work_buffer<u8> counts;     ///< 1 or 0
        work_buffer<Value> values;  ///< 0 where the sample does not count
        work_buffer<f64> weights;   ///< with Value = f64
    };

    sampled_rows(const row_job& job, std::int64_t plane)
        : values(*this), counts(*this), weights(*this), job_(job), plane_(plane) {
        for (samples& s : kept_) {
            s.counts = work_buffer<u8>(job.n());
            s.values = work_buffer<Value>(job.n());
            if constexpr (real) s.weights = work_buffer<f64>(job.n());
        }
        if (job.rows.border == border_mode::constant) {
            constant_ = work_buffer<Pixel>(job.n());
            std::fill_n(constant_.data(), job.n(), static_cast<Pixel>(job.border_value));
        }
    }

    /// A row of the image, or -1 for that beyond a constant border. The last sixteen live.
    const samples& at(std::int64_t row) {
        samples* oldest = &kept_[0];
        for (samples& s : kept_) {
            if (s.row == row) {
                s.used = ++time_;
                return s;
            }
            if (s.used < oldest->used) oldest = &s;
        }
        find(*oldest, row);
        oldest->row = row;
        oldest->used = ++time_;
        return *oldest;
    }

    const Pixel* pixels(std::int64_t row) const {
        return row < 0 ? constant_.data() : job_.template pixels<Pixel>(row, plane_);
    }

    /// Whether a sample of that value beyond a constant border counts.
    bool counted(Pixel x) const { return !is_nodata(x); }

  private:
    static constexpr bool real = std::is_floating_point_v<Value>;

    template <typename T, work_buffer<T> samples::*member>
    struct part final : row_source<T> {
        explicit part(sampled_rows& rows) : all(rows) {}
        const T* row(std::int64_t row) override { return (all.at(row).*member).data(); }
        sampled_rows& all;
    };

  public:
    part<Value, &samples::values> values;
    part<u8, &samples::counts> counts;
    part<f64, &samples::weights> weights;

  private:
    bool is_nodata(Pixel x) const { return filters::is_nodata(x, job_.nan, job_.nodata); }

    /// x, or 0 for what does not count, whatever that is: without a branch, as masks may be noise.
    static f64 kept_if(u8 counts, f64 x) noexcept {
        return std::bit_cast<f64>(std::bit_cast<u64>(x) & (u64{0} - counts));
    }

    /// Elements of a mask or of weights that go with a row: one for each element of the image, or for each column.
    template <typename T, typename F>
    void for_each_of(const const_any_view& view, std::int64_t row, F&& f) const {
        const T* const given = row_of<T>(view, row - job_.part_row, view.shape.planes == 1 ? 0 : plane_);
        const std::int64_t channels = view.shape.channels == 1 ? job_.shape.channels : 1;
        if (channels == 1)
            for (std::int64_t i = 0; i < job_.n(); ++i) f(i, given[i]);
        else
            for (std::int64_t i = 0; i < job_.n(); ++i) f(i, given[i / channels]);
    }

    void find(samples& to, std::int64_t row) const {
        const std::int64_t n = job_.n();
        const Pixel* const x = pixels(row);
        u8* const c = to.counts.data();
        if (job_.nodata || job_.nan == nan_mode::omit)
            for (std::int64_t i = 0; i < n; ++i) c[i] = is_nodata(x[i]) ? 0 : 1;
        else
            std::fill_n(c, n, u8{1});
        if (job_.masked && row >= 0)
            for_each_of<u8>(job_.mask, row, [&](std::int64_t i, u8 m) { c[i] = static_cast<u8>(c[i] & (m != 0)); });
        Value* const v = to.values.data();
        if constexpr (real) {
            f64* const w = to.weights.data();
            std::fill_n(w, n, 1.0);
            if (job_.weighted && row >= 0)
                for_each_of<f32>(job_.weights, row, [&](std::int64_t i, f32 given) {
                    w[i] = static_cast<f64>(given);
                    c[i] = static_cast<u8>(c[i] & is_weight(given));
                });
            for (std::int64_t i = 0; i < n; ++i) {
                v[i] = kept_if(c[i], w[i] * static_cast<f64>(x[i]));
                w[i] = kept_if(c[i], w[i]);
            }
        } else {
            for (std::int64_t i = 0; i < n; ++i) {
                const auto all = static_cast<Value>(0 - c[i]);  // what does not count is what sums take as 0
                v[i] = static_cast<Value>((static_cast<Value>(x[i]) & all) | (stored_as<Pixel>::flip & ~all));
            }
        }
    }

    const row_job& job_;
    std::int64_t plane_, time_ = 0;
    std::array<samples, 18> kept_;
    work_buffer<Pixel> constant_;
};

// ---- spreads of weighted samples ------------------------------------------------------------------------------------

/// Weight, mean and sum of weighted squared deviations of samples. A weight of 0 is nothing at all.
struct weighted_moments {
    f64 weight = 0, mean = 0, m2 = 0;

    /// Chan, Golub, LeVeque 1979, with weights for numbers of samples.
    weighted_moments merged(const weighted_moments& b) const noexcept {
        if (b.weight == 0) return *this;
        if (weight == 0) return b;
        const f64 all = weight + b.weight, share = b.weight / all, d = b.mean - mean;
        return {all, mean + share * d, (m2 + b.m2) + weight * share * (d * d)};
    }

    weighted_moments times(std::int64_t k) const noexcept {
        return k == 0 ? weighted_moments{}
                      : weighted_moments{weight * static_cast<f64>(k), mean, m2 * static_cast<f64>(k)};
    }
};

/// Weighted moments of windows, by blocks as in floating_windows.hpp. What is left out has weight 0, so that windows
/// which the border cuts are like all others.
template <typename Pixel, typename Rows>
class weighted_spreads {
  public:
    weighted_spreads(const row_job& job, Rows& rows)
        : job_(job),
          rows_(rows),
          height_(job.rows.width()),
          width_(job.cols.width()),
          suffixes_(static_cast<std::size_t>(height_)),
          prefix_(job.n()),
          line_(job.cols.extended() * job.shape.channels),
          suffix_(job.cols.extended() * job.shape.channels),
          windows_(job.n()) {
        for (auto& s : suffixes_) s = work_buffer<weighted_moments>(job.n());
        if (!job.rows.reduced()) return;
        beyond_ = work_buffer<weighted_moments>(job.n());
        clear(beyond_.data());
        if (job.rows.repeats > 0) {
            const std::int64_t periods = job.rows.for_each_repeated([&](std::int64_t i) { add(beyond_.data(), i, 1); });
            for (std::int64_t i = 0; i < job.n(); ++i) beyond_[i] = beyond_[i].times(periods);
        } else {
            const bool constant = job.rows.border == border_mode::constant;
            add(beyond_.data(), constant ? -1 : 0, job.rows.edge_before);
            add(beyond_.data(), constant ? -1 : job.rows.extent - 1, job.rows.edge_after);
        }
    }

    /// Around `row`; rows must be asked for in increasing order.
    const weighted_moments* compute(std::int64_t row) {
        const std::int64_t n = job_.n(), channels = job_.shape.channels;
        weighted_moments* const x = line_.data() + job_.cols.before * channels;
        if (row >= block_end_) begin_block(row);
        for (; next_ < row + height_; ++next_) add_position(prefix_.data(), next_);
        const weighted_moments* const suffix = suffixes_[static_cast<std::size_t>(row - (block_end_ - height_))].data();
        for (std::int64_t i = 0; i < n; ++i) x[i] = suffix[i].merged(prefix_[i]);
        if (beyond_.data() != nullptr)
            for (std::int64_t i = 0; i < n; ++i) x[i] = x[i].merged(beyond_[i]);
        return along_row(x, row);
    }

  private:
    void clear(weighted_moments* to) const { std::fill_n(to, job_.n(), weighted_moments{}); }

    void add(weighted_moments* to, std::int64_t row, std::int64_t times) {
        if (times == 0) return;
        const f64* const w = rows_.at(row).weights.data();
        const Pixel* const p = rows_.pixels(row);
        for (std::int64_t i = 0; i < job_.n(); ++i)
            to[i] = to[i].merged({w[i] * static_cast<f64>(times), static_cast<f64>(p[i]), 0});
    }

    void add_position(weighted_moments* to, std::int64_t j) {
        const std::int64_t row = job_.rows.source(j - job_.rows.before);
        if (row >= 0 || job_.rows.border == border_mode::constant) add(to, row, 1);
    }

    void begin_block(std::int64_t row) {
        block_end_ = next_ = (row / height_ + 1) * height_;
        clear(prefix_.data());
        const std::int64_t begin = block_end_ - height_;
        for (std::int64_t j = block_end_ - 1; j >= row; --j) {
            weighted_moments* const to = suffixes_[static_cast<std::size_t>(j - begin)].data();
            if (j == block_end_ - 1)
                clear(to);
            else
                std::copy_n(suffixes_[static_cast<std::size_t>(j + 1 - begin)].data(), job_.n(), to);
            add_position(to, j);
        }
    }

    const weighted_moments* along_row(weighted_moments* x, std::int64_t row) {
        const window_axis& axis = job_.cols;
        const std::int64_t n = job_.n(), channels = job_.shape.channels, extended = axis.extended();
        weighted_moments outside;
        if (axis.border == border_mode::constant && rows_.counted(static_cast<Pixel>(job_.border_value)))
            outside = {static_cast<f64>(job_.rows.count(row)), job_.border_value, 0};
        if (axis.border == border_mode::shrink) {
            std::fill_n(line_.data(), axis.before * channels, weighted_moments{});
            std::fill_n(x + n, axis.after * channels, weighted_moments{});
        } else {
            extend_row(x, axis, channels, outside);
        }
        for (std::int64_t k = 0; k < channels; ++k) {
            const auto at = [&](std::int64_t j) { return line_[j * channels + k]; };
            for (std::int64_t j = extended - 1; j >= 0; --j) {
                const bool last = j % width_ == width_ - 1 || j == extended - 1;
                suffix_[j * channels + k] = last ? at(j) : at(j).merged(suffix_[(j + 1) * channels + k]);
            }
            weighted_moments prefix, beyond;
            if (axis.repeats > 0)
                beyond = repeated(x, k);
            else if (axis.reduced() && axis.border == border_mode::constant)
                beyond = outside.times(axis.edge_before + axis.edge_after);
            else if (axis.reduced())
                beyond = x[k].times(axis.edge_before).merged(x[n - channels + k].times(axis.edge_after));
            for (std::int64_t j = 0; j < extended; ++j) {
                if (j % width_ == 0) prefix = {};
                prefix = prefix.merged(at(j));
                const std::int64_t begin = j - width_ + 1;
                if (begin < 0) continue;
                const weighted_moments suffix = suffix_[begin * channels + k];
                windows_[begin * channels + k] = (begin % width_ == 0 ? suffix : suffix.merged(prefix)).merged(beyond);
            }
        }
        return windows_.data();
    }

    weighted_moments repeated(const weighted_moments* x, std::int64_t k) const {
        weighted_moments sum;
        const std::int64_t periods =
            job_.cols.for_each_repeated([&](std::int64_t c) { sum = sum.merged(x[c * job_.shape.channels + k]); });
        return sum.times(periods);
    }

    const row_job& job_;
    Rows& rows_;
    std::int64_t height_, width_, block_end_ = 0, next_ = 0;
    std::vector<work_buffer<weighted_moments>> suffixes_;
    work_buffer<weighted_moments> prefix_, beyond_, line_, suffix_, windows_;
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
    const s64* rounded = nullptr;    ///< of integer images: the mean
};

/// An integer, rounded as results are, from a mean in double.
inline s64 rounded_mean(f64 mean, rounding_mode rounding) {
    const f64 below = std::floor(mean);
    return static_cast<s64>(below) + (rounding == rounding_mode::half_up && mean - below >= 0.5 ? 1 : 0);
}

template <typename Pixel, typename A, typename Consume>
void exact_sampled_windows(const row_job& job, const band& b, bool spread, Consume&& consume) {
    using stored = typename stored_as<Pixel>::type;
    sampled_rows<Pixel, stored> rows(job, b.plane);
    const bool has_constant =
        job.rows.border == border_mode::constant && rows.counted(static_cast<Pixel>(job.border_value));
    const auto constant = has_constant ? static_cast<u64>(stored_constant<Pixel>(job)) : u64{0};
    column_sums<Pixel, A, false> sums(job, rows.values);
    column_sums<u8, A, false> counts(job, rows.counts);
    column_sums<Pixel, u64, true> squares(job, rows.values);
    row_windows<A> sum_windows(job, static_cast<A>(constant)), count_windows(job, has_constant ? A{1} : A{0});
    row_windows<u64> square_windows(job, constant * constant);
    work_buffer<f64> count(tile), sum(tile), mean(tile), variance(tile);
    work_buffer<s64> exact(tile), rounded(tile);
    constexpr s64 offset = stored_as<Pixel>::offset;
    __extension__ typedef unsigned __int128 u128;
    const bool narrow = job.largest_window <= (sizeof(Pixel) == 1 ? 16843009 : 65537);  // as in integer_windows.hpp
    const A half = job.rounding == rounding_mode::half_up ? static_cast<A>(-1) : A{0};
    for (std::int64_t row = b.first; row < b.end; ++row) {
        const auto move = [&](auto& columns) { row == b.first ? columns.start(row) : columns.advance(row); };
        move(sums);
        move(counts);
        sum_windows.start(sums.data(), row);
        count_windows.start(counts.data(), row);
        if (spread) {
            move(squares);
            square_windows.start(squares.data(), row);
        }
        for (std::int64_t first = 0; first < job.n(); first += tile) {
            const std::int64_t n = std::min(tile, job.n() - first);
            const A *const s = sum_windows.next(first, n), *const c = count_windows.next(first, n);
            for (std::int64_t i = 0; i < n; ++i) {
                const A pixels = std::max<A>(c[i], 1), total = s[i];
                exact[i] = static_cast<s64>(total) - offset * static_cast<s64>(c[i]);
                const A raised = static_cast<A>(total + (pixels / 2 & half));
                if constexpr (sizeof(A) == 4)  // of numbers below 2^52 a quotient below an integer is not rounded to it
                    rounded[i] = static_cast<s64>(static_cast<f64>(raised) / static_cast<f64>(pixels)) - offset;
                else
                    rounded[i] = static_cast<s64>(raised / pixels) - offset;
                count[i] = static_cast<f64>(c[i]);
                sum[i] = static_cast<f64>(exact[i]);
                mean[i] = sum[i] / static_cast<f64>(pixels);
            }
            if (spread) {
                const u64* const q = square_windows.next(first, n);
                for (std::int64_t i = 0; i < n; ++i) {
                    const u64 pixels = std::max<u64>(c[i], 1), total = s[i];
                    const f64 numerator =
                        narrow ? static_cast<f64>(pixels * q[i] - total * total)
                               : static_cast<f64>(static_cast<u128>(pixels) * q[i] - static_cast<u128>(total) * total);
                    variance[i] = numerator / (static_cast<f64>(pixels) * static_cast<f64>(pixels));
                }
            }
            consume(sampled_row{row, first, n, count.data(), sum.data(), mean.data(),
                                spread ? variance.data() : nullptr, exact.data(), rounded.data()});
        }
    }
}

template <typename Pixel, typename Consume>
void real_sampled_windows(const row_job& job, const band& b, bool spread, Consume&& consume) {
    using rows_of_plane = sampled_rows<Pixel, f64>;
    rows_of_plane rows(job, b.plane);
    const bool has_constant =
        job.rows.border == border_mode::constant && rows.counted(static_cast<Pixel>(job.border_value));
    group_sums<f64> sums(job, rows.values, has_constant ? job.border_value : 0);
    group_sums<f64> weights(job, rows.weights, has_constant ? 1 : 0);
    std::optional<weighted_spreads<Pixel, rows_of_plane>> spreads;
    if (spread) spreads.emplace(job, rows);
    work_buffer<f64> mean(job.n()), variance(job.n());
    work_buffer<s64> rounded(job.n());
    for (std::int64_t row = b.first; row < b.end; ++row) {
        const f64 *const sum = sums.compute(row), *const weight = weights.compute(row);
        for (std::int64_t i = 0; i < job.n(); ++i) mean[i] = weight[i] > 0 ? sum[i] / weight[i] : 0;
        if (!is_floating(job.image_type)) {
            // 32-bit integers that are summed in double are so exactly.
            const bool exact = !std::is_integral_v<Pixel> && !job.weighted;
            for (std::int64_t i = 0; i < job.n(); ++i)
                rounded[i] = exact && weight[i] > 0
                                 ? rounded_quotient(sum[i], weight[i], job.rounding == rounding_mode::half_up)
                                 : rounded_mean(mean[i], job.rounding);
        }
        if (spread) {
            const weighted_moments* const m = spreads->compute(row);
            for (std::int64_t i = 0; i < job.n(); ++i)
                variance[i] = (m[i].weight > 0 ? m[i].m2 / m[i].weight : 0) + (mean[i] - mean[i]);
        }
        consume(sampled_row{row, 0, job.n(), weight, sum, mean.data(), spread ? variance.data() : nullptr, nullptr,
                            is_floating(job.image_type) ? nullptr : rounded.data()});
    }
}

/// consume(sampled_row) for pieces of every row of the band, each of which begins with channel 0.
template <typename Pixel, typename Consume>
void sampled_windows(const row_job& job, const band& b, bool spread, Consume&& consume) {
    if constexpr (std::is_integral_v<Pixel>)
        if (!job.weighted) {
            if (job.largest_window <= largest_32_bit_window<Pixel>)
                return exact_sampled_windows<Pixel, u32>(job, b, spread, consume);
            return exact_sampled_windows<Pixel, u64>(job, b, spread, consume);
        }
    real_sampled_windows<Pixel>(job, b, spread, consume);
}

}  // namespace boxsum::filters
