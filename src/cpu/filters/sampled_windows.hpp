#pragma once

#include "core/rounding.hpp"
#include "cpu/filters/moments.hpp"
#include "filters/sampling.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

/// Windows of images whose pixels may not count (filter_inputs, sampling). What does not count is summed as 0, and what
/// counts is summed, too: integers without weights as integers, everything else in double, by additions only.
namespace boxsum::filters {

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

    /// 1 or 0 for each element of a row; of samples with weights, those too, as they were given.
    void find(u8* c, f64* w, std::int64_t row) const {
        const std::int64_t n = job_.n();
        const Pixel* const x = pixels(row);
        if (job_.nodata || (job_.nan == nan_mode::omit && std::is_floating_point_v<Pixel>))
            find_by_value(c, x, n);
        else
            std::fill_n(c, n, u8{1});
        if (job_.masked && row >= 0)
            for_each_of<u8>(job_.mask, row, [c](std::int64_t i, u8 m) { c[i] = static_cast<u8>(m != 0 ? c[i] : 0); });
        if (!job_.weighted) return;
        if (row < 0) {
            if (w != nullptr) std::fill_n(w, n, 1.0);
            return;
        }
        for_each_of<f32>(job_.weights, row, [c, w](std::int64_t i, f32 given) {
            if (w != nullptr) w[i] = static_cast<f64>(given);
            c[i] = static_cast<u8>(is_weight(given) ? c[i] : 0);
        });
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
};

/// Rows of one plane and which of their samples count. `Value` is how sums take samples: as they are stored, or, in
/// double, times their weights.
template <typename Pixel, typename Value>
class sampled_rows : public sample_finder<Pixel> {
  public:
    struct samples {
        std::int64_t row = -2;
        std::int64_t used = 0;
        work_buffer<u8> counts;     ///< 1 or 0
        work_buffer<Value> values;  ///< 0 where the sample does not count
        work_buffer<f64> weights;   ///< where samples have some
    };

    sampled_rows(const row_job& job, std::int64_t plane)
        : sample_finder<Pixel>(job, plane), values(*this), counts(*this), weights(*this) {
        for (samples& s : kept_) {
            s.counts = work_buffer<u8>(job.n());
            s.values = work_buffer<Value>(job.n());
            if (job.weighted) s.weights = work_buffer<f64>(job.n());
        }
    }

    /// The last sixteen rows live.
    const samples& at(std::int64_t row) {
        samples* oldest = &kept_[0];
        for (samples& s : kept_) {
            if (s.row == row) {
                s.used = ++time_;
                return s;
            }
            if (s.used < oldest->used) oldest = &s;
        }
        keep(*oldest, row);
        oldest->row = row;
        oldest->used = ++time_;
        return *oldest;
    }

  private:
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
    /// x, or 0 for what does not count, whatever that is: without a branch, as masks may be noise.
    template <typename T>
    static T kept_if(u8 counts, T x) noexcept {
        using bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
        return std::bit_cast<T>(static_cast<bits>(std::bit_cast<bits>(x) & (bits{0} - counts)));
    }

    void keep(samples& to, std::int64_t row) const {
        const std::int64_t n = this->job_.n();
        this->find(to.counts.data(), to.weights.data(), row);
        const Pixel* const x = this->pixels(row);
        const u8* const c = to.counts.data();
        Value* const v = to.values.data();
        f64* const w = to.weights.data();
        if constexpr (!std::is_floating_point_v<Value>) {
            for (std::int64_t i = 0; i < n; ++i) {
                const auto all = static_cast<Value>(0 - c[i]);  // what does not count is what sums take as 0
                v[i] = static_cast<Value>((static_cast<Value>(x[i]) & all) | (stored_as<Pixel>::flip & ~all));
            }
        } else if (w == nullptr) {
            for (std::int64_t i = 0; i < n; ++i) v[i] = kept_if(c[i], static_cast<Value>(x[i]));
        } else {
            for (std::int64_t i = 0; i < n; ++i) {
                v[i] = kept_if(c[i], static_cast<Value>(w[i] * static_cast<f64>(x[i])));
                w[i] = kept_if(c[i], w[i]);
            }
        }
    }

    std::int64_t time_ = 0;
    std::array<samples, 18> kept_;
};

// ---- spreads of weighted samples ------------------------------------------------------------------------------------

/// Weighted moments of a row: weights, means and sums of weighted squared deviations, each of n elements.
class weighted_rows {
  public:
    weighted_rows() = default;
    weighted_rows(std::int64_t rows, std::int64_t n) : n_(n), values_(3 * rows * n) {}

    explicit operator bool() const noexcept { return values_.data() != nullptr; }

    weighted_moments row(std::int64_t i, std::int64_t first = 0) const noexcept {
        f64* const at = values_.data() + 3 * i * n_ + first;
        return {at, at + n_, at + 2 * n_};
    }
    /// Of row 0, elements first .. first + count - 1: nothing.
    void clear(std::int64_t first, std::int64_t count) const {
        for (std::int64_t i = 0; i < 3; ++i) std::fill_n(values_.data() + i * n_ + first, count, 0.0);
    }
    void clear() const { clear(0, n_); }

  private:
    std::int64_t n_ = 0;
    work_buffer<f64> values_;
};

/// Weighted moments of windows, merged as in floating_windows.hpp, but with weights of their own for every pixel. An
/// axis is cut into blocks as wide as the window, and every window is a suffix of one block and a prefix of the next
/// (van Herk 1992; Gil and Werman 1993). What is left out has weight 0, so that windows which the border cuts are like
/// all others. Pixels that do not count are no numbers to it: `values`, 0 in their place, is what it reads unless there
/// are weights.
template <typename Pixel, typename Rows>
class weighted_spreads {
  public:
    weighted_spreads(const row_job& job, Rows& rows)
        : job_(job),
          rows_(rows),
          height_(job.rows.width()),
          width_(job.cols.width()),
          suffixes_(height_, job.n()),
          prefix_(1, job.n()),
          sample_(1, job.n()),
          line_(1, job.cols.extended() * job.shape.channels),
          suffix_(1, job.cols.extended() * job.shape.channels),
          scanned_(1, job.cols.extended() * job.shape.channels),
          windows_(1, job.n()) {
        if (!job.rows.reduced()) return;
        beyond_ = weighted_rows(1, job.n());
        beyond_.clear();
        const weighted_moments all = beyond_.row(0);
        if (job.rows.repeats > 0) {
            const std::int64_t periods = job.rows.for_each_repeated([&](std::int64_t i) { add(all, all, i, 1); });
            multiply(all, periods, job.n());
        } else {
            const bool constant = job.rows.border == border_mode::constant;
            add(all, all, constant ? -1 : 0, job.rows.edge_before);
            add(all, all, constant ? -1 : job.rows.extent - 1, job.rows.edge_after);
        }
    }

    /// Around `row`; rows must be asked for in increasing order.
    weighted_moments compute(std::int64_t row) {
        const std::int64_t n = job_.n();
        const weighted_moments x = line_.row(0, job_.cols.before * job_.shape.channels);
        if (row >= block_end_) begin_block(row);
        for (; next_ < row + height_; ++next_) add_position(prefix_.row(0), prefix_.row(0), next_);
        kernels_.merge_weighted(x, suffixes_.row(row - (block_end_ - height_)), prefix_.row(0), n);
        if (beyond_) kernels_.merge_weighted(x, x, beyond_.row(0), n);
        return along_row(x, row);
    }

  private:
    /// By 0 of NaN, too, which is in no window then.
    static void multiply(const weighted_moments& x, std::int64_t times, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
            x.weight[i] *= static_cast<f64>(times);
            x.m2[i] *= static_cast<f64>(times);
            if (times == 0) x.mean[i] = x.m2[i] = 0;
        }
    }

    /// to = a with a row of samples, so many times.
    void add(const weighted_moments& to, const weighted_moments& a, std::int64_t row, std::int64_t times) {
        const std::int64_t n = job_.n();
        const weighted_moments x = sample_.row(0);
        const auto& samples = rows_.at(row);
        const auto factor = static_cast<f64>(times);
        const u8* const c = samples.counts.data();
        if (job_.weighted) {
            const f64* const w = samples.weights.data();
            const Pixel* const p = rows_.pixels(row);
            for (std::int64_t i = 0; i < n; ++i) {
                x.weight[i] = w[i] * factor;
                x.mean[i] = c[i] != 0 ? static_cast<f64>(p[i]) : 0;
            }
        } else {
            for (std::int64_t i = 0; i < n; ++i) {
                x.weight[i] = static_cast<f64>(c[i]) * factor;
                x.mean[i] = static_cast<f64>(samples.values[i]);
            }
        }
        if (times == 0) std::fill_n(x.mean, n, 0.0);
        std::fill_n(x.m2, n, 0.0);
        kernels_.merge_weighted(to, a, x, n);
    }

    void add_position(const weighted_moments& to, const weighted_moments& a, std::int64_t j) {
        const std::int64_t row = job_.rows.source(j - job_.rows.before);
        if (row >= 0 || job_.rows.border == border_mode::constant) return add(to, a, row, 1);
        if (to.weight == a.weight) return;
        std::copy_n(a.weight, job_.n(), to.weight);
        std::copy_n(a.mean, job_.n(), to.mean);
        std::copy_n(a.m2, job_.n(), to.m2);
    }

    void begin_block(std::int64_t row) {
        block_end_ = next_ = (row / height_ + 1) * height_;
        const std::int64_t begin = block_end_ - height_;
        prefix_.clear();  // what is before the last row, until it is the prefix
        for (std::int64_t j = block_end_ - 1; j >= row; --j)
            add_position(suffixes_.row(j - begin), j == block_end_ - 1 ? prefix_.row(0) : suffixes_.row(j + 1 - begin),
                         j);
    }

    weighted_moments along_row(const weighted_moments& x, std::int64_t row) {
        const window_axis& axis = job_.cols;
        const std::int64_t n = job_.n(), channels = job_.shape.channels, extended = axis.extended();
        f64 outside[3] = {0, 0, 0};
        if (axis.border == border_mode::constant && rows_.counted(static_cast<Pixel>(job_.border_value))) {
            outside[0] = static_cast<f64>(job_.rows.count(row));
            outside[1] = job_.border_value;
        }
        if (axis.border == border_mode::shrink) {
            line_.clear(0, axis.before * channels);
            line_.clear(axis.before * channels + n, axis.after * channels);
        } else {
            extend_row(x.weight, axis, channels, outside[0]);
            extend_row(x.mean, axis, channels, outside[1]);
            extend_row(x.m2, axis, channels, outside[2]);
        }
        const std::int64_t blocks = extended / width_, rest = extended % width_;
        const auto scan = [&](const weighted_rows& to, std::int64_t at, std::int64_t chains, std::int64_t length,
                              std::int64_t step) {
            for (std::int64_t k = 0; k < channels && length > 0 && chains > 0; ++k)
                kernels_.scan_weighted(to.row(0, at * channels + k), line_.row(0, at * channels + k), chains,
                                       width_ * channels, length, step * channels);
        };
        scan(suffix_, width_ - 1, blocks, width_, -1);
        scan(scanned_, 0, blocks, width_, 1);
        scan(suffix_, extended - 1, 1, rest, -1);
        scan(scanned_, blocks * width_, 1, rest, 1);

        const weighted_moments to = windows_.row(0), suffix = suffix_.row(0);
        kernels_.merge_weighted(to, suffix, scanned_.row(0, (width_ - 1) * channels), n);
        for (std::int64_t i = 0; i < n; i += width_ * channels)  // whole blocks
            for (std::int64_t k = i; k < i + channels; ++k) {
                to.weight[k] = suffix.weight[k];
                to.mean[k] = suffix.mean[k];
                to.m2[k] = suffix.m2[k];
            }
        if (axis.repeats > 0 || axis.reduced()) add_what_lies_beyond(x, outside);
        return to;
    }

    /// To windows along the row.
    void add_what_lies_beyond(const weighted_moments& x, f64 (&outside)[3]) {
        const window_axis& axis = job_.cols;
        const std::int64_t n = job_.n(), channels = job_.shape.channels;
        if (!beyond_cols_) beyond_cols_ = weighted_rows(1, n);
        const weighted_moments all = beyond_cols_.row(0);
        const auto element = [](const weighted_moments& of, std::int64_t i) {
            return weighted_moments{of.weight + i, of.mean + i, of.m2 + i};
        };
        for (std::int64_t k = 0; k < channels; ++k) {
            f64 first[3] = {0, 0, 0}, last[3] = {0, 0, 0};
            const weighted_moments sum{&first[0], &first[1], &first[2]}, behind{&last[0], &last[1], &last[2]};
            if (axis.repeats > 0) {
                const std::int64_t periods = axis.for_each_repeated(
                    [&](std::int64_t c) { kernels_.merge_weighted(sum, sum, element(x, c * channels + k), 1); });
                multiply(sum, periods, 1);
            } else {
                const bool constant = axis.border == border_mode::constant;
                const weighted_moments edge{&outside[0], &outside[1], &outside[2]};
                const auto take = [](const weighted_moments& to, const weighted_moments& from) {
                    *to.weight = *from.weight;
                    *to.mean = *from.mean;
                    *to.m2 = *from.m2;
                };
                take(sum, constant ? edge : element(x, k));
                take(behind, constant ? edge : element(x, n - channels + k));
                multiply(sum, axis.edge_before, 1);
                multiply(behind, axis.edge_after, 1);
                kernels_.merge_weighted(sum, sum, behind, 1);
            }
            for (std::int64_t i = k; i < n; i += channels) {
                all.weight[i] = first[0];
                all.mean[i] = first[1];
                all.m2[i] = first[2];
            }
        }
        kernels_.merge_weighted(windows_.row(0), windows_.row(0), all, n);
    }

    const row_job& job_;
    Rows& rows_;
    std::int64_t height_, width_, block_end_ = 0, next_ = 0;
    weighted_rows suffixes_, prefix_, sample_, line_, suffix_, scanned_, windows_, beyond_, beyond_cols_;
    const block_kernels& kernels_ = job_.kernels->block;
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
    sampled_rows<Pixel, stored> rows(job, b.plane);
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

/// The same in double. `Value` is how sums take samples.
template <typename Pixel, typename Value, typename Consume>
void real_sampled_windows(const row_job& job, const band& b, const sampled_wants& wants, Consume&& consume) {
    using rows_of_plane = sampled_rows<Pixel, Value>;
    rows_of_plane rows(job, b.plane);
    const bool has_constant =
        job.rows.border == border_mode::constant && rows.counted(static_cast<Pixel>(job.border_value));
    group_sums<Value> sums(job, rows.values, has_constant ? job.border_value : 0);
    std::optional<group_sums<f64>> weights;
    std::optional<count_windows<u64>> counts;
    if (job.weighted)
        weights.emplace(job, rows.weights, has_constant ? 1 : 0);
    else
        counts.emplace(job, rows.counts, has_constant);
    std::optional<weighted_spreads<Pixel, rows_of_plane>> spreads;
    if (wants.spread) spreads.emplace(job, rows);
    work_buffer<f64> mean(job.n()), variance(job.n()), count(job.n()), divisors(job.n());
    work_buffer<s64> rounded(job.n());
    const auto divide = [&](const work_buffer<f64>& to, const f64* x, const f64* by) {
        f64* const d = divisors.data();
        for (std::int64_t i = 0, n = job.n(); i < n; ++i) d[i] = by[i] > 0 ? by[i] : 1;
        job.kernels->block.divide_64f(to.data(), x, 1, d, job.n());
    };
    for (std::int64_t row = b.first; row < b.end; ++row) {
        const f64* const sum = sums.compute(row);
        const f64* weight = count.data();
        if (job.weighted) {
            weight = weights->compute(row);
        } else {
            counts->start(row, row == b.first);
            for (std::int64_t first = 0; first < job.n(); first += tile) {
                const std::int64_t n = std::min(tile, job.n() - first);
                counts->to_real(count.data() + first, counts->next(first, n), n);
            }
        }
        divide(mean, sum, weight);
        if (wants.rounded && !is_floating(job.image_type)) {
            // 32-bit integers that are summed in double are so exactly.
            const bool exact = !std::is_integral_v<Pixel> && !job.weighted;
            for (std::int64_t i = 0; i < job.n(); ++i)
                rounded[i] = exact && weight[i] > 0
                                 ? rounded_quotient(sum[i], weight[i], job.rounding == rounding_mode::half_up)
                                 : rounded_mean(mean[i], job.rounding);
        }
        if (wants.spread) {
            const weighted_moments m = spreads->compute(row);
            divide(variance, m.m2, m.weight);
            for (std::int64_t i = 0; i < job.n(); ++i) variance[i] += mean[i] - mean[i];  // 0, or NaN
        }
        consume(sampled_row{row, 0, job.n(), weight, sum, mean.data(), wants.spread ? variance.data() : nullptr,
                            nullptr, is_floating(job.image_type) ? nullptr : rounded.data()});
    }
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
    } else if (!job.weighted) {
        return real_sampled_windows<Pixel, Pixel>(job, b, wants, consume);
    }
    real_sampled_windows<Pixel, f64>(job, b, wants, consume);
}

}  // namespace boxsum::filters
