#pragma once

#include "cpu/filters/extend_row.hpp"
#include "cpu/filters/group_windows.hpp"
#include "cpu/filters/row_job.hpp"
#include "cpu/filters/row_source.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

/// Moments of windows of floating images: (mean, sum of squared deviations) pairs, merged as in Chan, Golub, LeVeque
/// 1979, in the order in which group_windows_impl.hpp adds sums. Nothing is ever subtracted, so nothing outside a
/// window acts on it, and errors do not pile up along the image. How many samples a merge has on either side follows
/// from its place on the axis: all pixels share weights that are computed once for each axis. Where windows are cut,
/// what is missing has no samples and share 0, and takes the same way.
///
/// The bound of filters.hpp for merged means, in units of u * (mean of |x|): a + f * (b - a), of n_a and n_b samples,
/// rounds f, the difference, the product and the sum. The first three err by 3 f |b - a| <= 3 f (|a| + |b|). Where the
/// mean of |x| is all in a, that is 3 n_b / n_a of it, where it is all in b, 3; so with errors e of a and b the result
/// has at most max(e_a + 3 n_b / n_a, e_b + 3) + 1. Followed through the scheme, for windows of w = 2 to 120 samples
/// and larger ones, cut and uncut, that is at most 2.9 w, mostly by a suffix of one sample before a prefix of all
/// others; from there on it grows less, as a group of eight is merged at once. What lies beyond the border is one more
/// merge, and the least window that it joins shorter by as much: 3 w. Windows along rows begin with the errors of those
/// along columns.
namespace boxsum::filters {

/// Mean and sum of squared deviations of `count` samples.
struct moment_pair {
    f64 mean = 0;
    f64 m2 = 0;
    f64 count = 0;

    moment_pair merged(const moment_pair& b) const noexcept {
        if (count == 0) return b;
        if (b.count == 0) return *this;
        const f64 d = b.mean - mean, all = count + b.count;
        return {mean + b.count / all * d, (m2 + b.m2) + count * b.count / all * d * d, all};
    }

    moment_pair times(std::int64_t k) const noexcept {
        const f64 factor = static_cast<f64>(k);
        return k == 0 ? moment_pair{} : moment_pair{mean, m2 * factor, count * factor};
    }
};

/// How many samples everything has that is merged along an axis. Position j of the extended axis is sample j - before.
class merge_plan {
  public:
    explicit merge_plan(const window_axis& axis)
        : width_(axis.width()), rest_((width_ - 1) % 8), whole_(width_ <= 8 ? 0 : (width_ - 1) / 8 - 1) {
        if (axis.border != border_mode::shrink) return;
        first_ = axis.before;
        end_ = axis.before + axis.extent;
    }

    static merge_shares shares(std::int64_t a, std::int64_t b) noexcept {
        if (b == 0) return {0, 0};
        if (a == 0) return {1, 0};
        const f64 na = static_cast<f64>(a), nb = static_cast<f64>(b);
        return {nb / (na + nb), na * nb / (na + nb)};
    }

    /// Samples at positions begin .. end - 1.
    std::int64_t count(std::int64_t begin, std::int64_t end) const noexcept {
        return std::max<std::int64_t>(std::min(end, end_) - std::max(begin, first_), 0);
    }
    /// Positions begin .. middle - 1 with middle .. end - 1.
    merge_shares join(std::int64_t begin, std::int64_t middle, std::int64_t end) const noexcept {
        return shares(count(begin, middle), count(middle, end));
    }

    /// Whether the eight windows from 8 * group on are whole.
    bool uncut(std::int64_t group) const noexcept { return 8 * group >= first_ && 8 * group + 7 + width_ <= end_; }

    /// In the order of group_windows_impl.hpp.
    void eight(merge_shares* to, std::int64_t group) const noexcept {
        const std::int64_t own = 8 * group;
        if (width_ <= 8) {
            for (std::int64_t i = 0; i < 7 + width_; ++i) {
                const std::int64_t at = own + i, block = i / width_ * width_ + own;
                to[i] = shares(count(at + 1, block + width_), count(at, at + 1));
                to[15 + i] = join(block, at, at + 1);
                if (i < 8) to[30 + i] = join(at, block + width_, at + width_);
            }
            return;
        }
        const std::int64_t last = 8 * (group + whole_ + 1), tail = last + rest_;
        to[0] = join(own + 8, last, tail);
        for (std::int64_t i = 0; i < 8; ++i) {
            to[1 + i] = shares(count(own + i + 1, tail), count(own + i, own + i + 1));
            if (i > 0) to[8 + i] = join(tail, tail + i, tail + i + 1);
            to[16 + i] = join(own + i, tail, tail + i + 1);
        }
        to[24] = join(last, tail, last + 8);
        for (std::int64_t i = 1; i < rest_; ++i) to[24 + i] = join(last + 8, last + 8 + i, last + 9 + i);
    }

    /// Of the last group of `group`'s windows, the first of its block, and of the slot of `group` itself.
    group_merges blocks(std::int64_t group, const merge_shares* of_eight) const noexcept {
        group_merges m{of_eight, {}, {}, {}};
        if (whole_ == 0) return m;
        const std::int64_t next = 8 * (group - group % whole_ + whole_ + 1), last = 8 * (group + whole_ + 1);
        m.whole = join(8 * (group + 1), next, last);
        m.prefix = join(next, last, last + 8);
        if (group > 0) m.closing = closing(group);
        return m;
    }

    merge_shares closing(std::int64_t group) const noexcept {
        const std::int64_t end = 8 * (group - 1 - (group - 1) % whole_ + whole_ + 1);
        return shares(count(8 * group + 8, end), count(8 * group, 8 * group + 8));
    }

    std::int64_t rest() const noexcept { return rest_; }
    std::int64_t whole() const noexcept { return whole_; }

  private:
    std::int64_t width_, rest_, whole_;
    std::int64_t first_ = 0, end_ = std::int64_t{1} << 62;
};

/// The shares of a whole axis of columns.
class axis_merges {
  public:
    explicit axis_merges(const window_axis& axis) : plan_(axis), inverse_(whole_vectors(axis.extent)) {
        const std::int64_t eights = inverse_count(axis) / 8, groups = eights + 2 * plan_.whole() + 2;
        std::int64_t tables = 1;
        for (std::int64_t g = 0; g < eights; ++g) tables += plan_.uncut(g) ? 0 : 1;
        of_eight_ = work_buffer<merge_shares>(tables * merges_of_eight);
        std::fill_n(of_eight_.data(), tables * merges_of_eight, merge_shares{});
        groups_ = work_buffer<group_merges>(groups);
        bool any_uncut = false;
        std::int64_t table = 1;
        for (std::int64_t g = 0; g < groups; ++g) {
            merge_shares* to = of_eight_.data();
            const bool uncut = plan_.uncut(g);
            if (!uncut && g < eights) to += table++ * merges_of_eight;
            if (g < eights && !(uncut && any_uncut)) plan_.eight(to, g);
            any_uncut = any_uncut || uncut;
            groups_[g] = plan_.blocks(g, to);
        }
        begin_ = work_buffer<merge_shares>(8 * (plan_.whole() + 1));
        if (axis.width() > 8) prepare_begin();
        for (std::int64_t c = 0; c < inverse_count(axis); ++c)
            inverse_[c] = 1 / static_cast<f64>(axis.count(std::min(c, axis.extent - 1)));
    }

    moments_along along(merge_shares beyond, std::int64_t plane, bool deviations, bool streaming) const noexcept {
        return {groups_.data(), begin_.data(), inverse_.data(), beyond, plane, deviations, streaming};
    }

  private:
    static std::int64_t inverse_count(const window_axis& axis) noexcept { return whole_vectors(axis.extent); }

    void prepare_begin() const {
        merge_shares* to = begin_.data();
        const std::int64_t rest = plan_.rest();
        const auto chain = [&](std::int64_t first, std::int64_t count) {
            for (std::int64_t i = 1; i < count; ++i) *to++ = plan_.join(first, first + i, first + i + 1);
        };
        for (std::int64_t k = 0; k <= plan_.whole(); ++k) {
            const std::int64_t first = 8 * (k + 1);
            chain(first, rest > 0 || k == plan_.whole() ? rest : 8);
            if (rest == 0 || k == plan_.whole()) continue;
            chain(first + rest, 8 - rest);
            *to++ = plan_.join(first, first + rest, first + 8);
        }
    }

    merge_plan plan_;
    work_buffer<merge_shares> of_eight_, begin_;
    work_buffer<group_merges> groups_;
    work_buffer<f64> inverse_;
};

/// A row of pairs.
struct value_row {
    f64 *mean, *m2;
};

template <typename Pixel>
class group_moments {
  public:
    /// `rows`: sixteen rows that were asked for live. `constant`: of what lies beyond a constant border.
    group_moments(const row_job& job, row_source<Pixel>& rows, f64 constant)
        : job_(job),
          rows_(rows),
          constant_(constant),
          n_(job.n()),
          step_(8 * job.shape.channels),
          plane_((whole_vectors(job.cols.extent) + job.cols.width()) * step_),
          down_(job.rows.width(), n_, 2),
          along_(job.cols.width(), step_, 2),
          line_(zeros(2 * plane_)),
          positions_(job, rows),
          plan_(job.rows),
          merges_(job.cols),
          streaming_(job.streams(2 * sizeof(f32))) {
        if (job.rows.reduced()) {
            beyond_rows_ = zeros(down_.windows.stride);
            merge_what_lies_beyond();
        }
        if (job.cols.reduced()) beyond_cols_ = zeros(2 * step_);
    }

    /// Means, unless they are null, and variances or deviations of rows 8 group .. 8 group + 7 of the whole image, to
    /// those of `means` and `spreads` that are not null. Groups must be asked for in increasing order. Whether there
    /// may be means that are not finite: they and their spreads are NaN.
    template <typename Out>
    bool compute(std::int64_t group, Out* const* means, Out* const* spreads, bool deviations) {
        move_to(group);
        const merge_shares beyond = merge_plan::shares(job_.cols.width(), job_.cols.beyond());
        const bool streaming = sizeof(Out) == 4 && streaming_;  // what is made in double is read again
        const moments_along how = merges_.along(beyond, plane_, deviations, streaming);
        const auto kernel = [&] {
            if constexpr (sizeof(Out) == 4)
                return job_.kernels->block.along_moments_32f;
            else
                return job_.kernels->block.along_moments_64f;
        }();
        return kernel(means, spreads, line_.data(), along_.windows, beyond_cols_.data(), how, job_.cols.extent,
                      job_.shape.channels);
    }

  private:
    const Pixel* pixels(std::int64_t j) const { return positions_.pixels(j); }

    value_row halves(f64* row) const { return {row, row + down_.windows.stride / 2}; }

    void move_to(std::int64_t group) {
        if (group != group_ + 1 || group_ < 0) start(group);
        group_ = group;
        const Pixel *first[8], *last[8];
        f64 inverse_rows[8];
        group_windows& w = down_.windows;
        for (std::int64_t i = 0; i < 8; ++i) {
            first[i] = pixels(8 * group + i);
            last[i] = pixels(8 * group + i + w.width - 1);
            inverse_rows[i] = 1 / static_cast<f64>(job_.rows.count(std::min(8 * group + i, job_.rows.extent - 1)));
        }
        std::array<merge_shares, merges_of_eight> of_eight;
        plan_.eight(of_eight.data(), group);
        const group_merges shares = plan_.blocks(group, of_eight.data());
        const moments_down how{&shares, inverse_rows, merge_plan::shares(w.width, job_.rows.beyond()), plane_};
        f64* const line = line_.data() + job_.cols.before * step_;
        samples_.down_moments(line, first, last, w, beyond_rows_.data(), how, n_);
        if (++w.phase >= w.whole) {
            close_block(group + 2, 0);
            w.phase = 0;
        }
        extend_line(line, job_.cols, step_, constant_);
        extend_line(line + plane_, job_.cols, step_, 0.0);
        if (job_.cols.reduced()) merge_columns_beyond(line);
    }

    void merge(value_row to, value_row a, value_row b, const merge_shares& by) const {
        job_.kernels->block.merge(to.mean, to.m2, a.mean, a.m2, b.mean, b.m2, by.part, by.scale, n_);
    }

    /// Slots from the first on, that of `group`, become suffixes of their block.
    void close_block(std::int64_t group, std::int64_t first) const {
        const group_windows& w = down_.windows;
        for (std::int64_t k = w.whole - 2; k >= first; --k) {
            const value_row slot = halves(w.slots + k * w.stride), others = halves(w.slots + (k + 1) * w.stride);
            merge(slot, others, slot, plan_.closing(group + k - first));
        }
    }

    /// to = positions first .. first + count - 1
    void chain(value_row to, std::int64_t first, std::int64_t count) const {
        samples_.load(to.mean, pixels(first), n_);
        std::fill_n(to.m2, n_, 0.0);
        for (std::int64_t j = first + 1; j < first + count; ++j) {
            const merge_shares by = plan_.join(first, j, j + 1);
            samples_.merge(to.mean, to.m2, to.mean, to.m2, pixels(j), by.part, by.scale, n_);
        }
    }

    void start(std::int64_t group) {
        group_windows& w = down_.windows;
        if (w.width <= 8) return;
        if (w.rest > 0) chain(halves(w.part), 8 * (group + w.whole + 1), w.rest);
        if (w.whole == 0) return;
        w.phase = group % w.whole;
        const std::int64_t block = group - w.phase;
        const work_buffer<f64> others(w.stride);
        for (std::int64_t k = 0; k < w.whole; ++k) {
            const value_row to = halves(w.slots + k * w.stride), behind = halves(others.data());
            const std::int64_t first = 8 * ((k < w.phase ? block + w.whole : block) + k + 1);
            chain(to, first, w.rest > 0 ? w.rest : 8);
            if (w.rest == 0) continue;
            chain(behind, first + w.rest, 8 - w.rest);
            merge(to, to, behind, plan_.join(first, first + w.rest, first + 8));
        }
        const std::int64_t next = 8 * (block + w.whole + 1);
        for (std::int64_t k = 0; k < w.phase; ++k)
            if (k == 0)
                std::copy_n(w.slots, w.stride, w.prefix);
            else
                merge(halves(w.prefix), halves(w.prefix), halves(w.slots + k * w.stride),
                      plan_.join(next, next + 8 * k, next + 8 * (k + 1)));
        close_block(block + w.phase + 1, w.phase);
    }

    void merge_what_lies_beyond() {
        const window_axis& axis = job_.rows;
        const value_row to = halves(beyond_rows_.data());
        if (axis.repeats > 0) {
            std::int64_t count = 0;
            const f64 periods = static_cast<f64>(axis.for_each_repeated([&](std::int64_t i) {
                const merge_shares by = merge_plan::shares(count++, 1);
                samples_.merge(to.mean, to.m2, to.mean, to.m2, rows_.row(i), by.part, by.scale, n_);
            }));
            for (std::int64_t i = 0; i < n_; ++i) to.m2[i] *= periods;
            return;
        }
        const Pixel *const first = pixels(0), *const last = pixels(axis.extended() - 1);
        for (std::int64_t i = 0; i < n_; ++i) {
            const moment_pair behind = moment_pair{static_cast<f64>(last[i]), 0, 1}.times(axis.edge_after);
            const moment_pair all =
                moment_pair{static_cast<f64>(first[i]), 0, 1}.times(axis.edge_before).merged(behind);
            to.mean[i] = all.mean;
            to.m2[i] = all.m2;
        }
    }

    /// Columns count as one sample each.
    void merge_columns_beyond(const f64* line) {
        const window_axis& axis = job_.cols;
        for (std::int64_t i = 0; i < step_; ++i) {
            const auto column = [&](std::int64_t c) {
                return moment_pair{line[c * step_ + i], line[plane_ + c * step_ + i], 1};
            };
            moment_pair beyond;
            if (axis.repeats > 0) {
                const std::int64_t periods =
                    axis.for_each_repeated([&](std::int64_t c) { beyond = beyond.merged(column(c)); });
                beyond = beyond.times(periods);
            } else if (axis.border == border_mode::constant) {
                beyond = moment_pair{constant_, 0, 1}.times(axis.edge_before + axis.edge_after);
            } else {
                beyond = column(0).times(axis.edge_before).merged(column(axis.extent - 1).times(axis.edge_after));
            }
            beyond_cols_[i] = beyond.mean;
            beyond_cols_[step_ + i] = beyond.m2;
        }
    }

    const row_job& job_;
    row_source<Pixel>& rows_;
    f64 constant_;
    std::int64_t n_, step_, plane_, group_ = -2;
    group_memory down_, along_;
    work_buffer<f64> line_, beyond_rows_, beyond_cols_;
    row_positions<Pixel> positions_;
    merge_plan plan_;
    axis_merges merges_;
    bool streaming_;
    const sample_kernels<Pixel>& samples_ = std::get<sample_kernels<Pixel>>(job_.kernels->sample);
};

/// Means by sums, for rows in increasing order: what merged means are replaced by where they are not finite, since only
/// a sum says which infinity it is, or that both signs met.
template <typename Pixel>
class means_by_sums {
  public:
    means_by_sums(const row_job& job, const band& b)
        : job_(job),
          rows_(job, b.plane),
          windows_(job, rows_, job.border_value),
          counts_(floating_column_counts(job)) {}

    template <typename Out>
    void replace_nan(std::int64_t row, Out* mean) {
        const f64 count = static_cast<f64>(job_.rows.count(row));
        const f64* const sums = windows_.compute(row);
        for (std::int64_t i = 0; i < job_.n(); ++i)
            if (std::isnan(mean[i])) mean[i] = static_cast<Out>(sums[i] / (count * counts_[i]));
    }

  private:
    const row_job& job_;
    image_rows<Pixel> rows_;
    group_sums<Pixel> windows_;
    work_buffer<f64> counts_;
};

/// Moments of the band's rows, eight at a time: target(row) says where a row's are written, done(row) that they are.
template <typename Pixel, typename Out, typename Target, typename Done>
void moments_of_groups(const row_job& job, const band& b, bool deviations, Target&& target, Done&& done) {
    image_rows<Pixel> rows(job, b.plane);
    group_moments<Pixel> windows(job, rows, job.border_value);
    std::optional<means_by_sums<Pixel>> sums;
    for (std::int64_t group = b.first / 8; 8 * group < b.end; ++group) {
        const std::int64_t first = std::max(8 * group, b.first), end = std::min(8 * group + 8, b.end);
        Out *means[8] = {}, *spreads[8] = {};
        for (std::int64_t row = first; row < end; ++row) {
            const moment_rows<Out> to = target(row);
            means[row % 8] = to.mean;
            spreads[row % 8] = to.spread;
        }
        const bool some = windows.compute(group, means, spreads, deviations);
        for (std::int64_t row = first; row < end; ++row) {
            if (some && means[row % 8] != nullptr) {
                if (!sums) sums.emplace(job, b);
                sums->replace_nan(row, means[row % 8]);
            }
            done(row);
        }
    }
}

/// consume(row, first, n, moment_rows) for every row of the band, each in one piece: first = 0. The results are where
/// target(row, first) says; it is asked for eight rows before the first of them is consumed.
template <typename Pixel, typename Target, typename Consume>
void floating_moments(const row_job& job, const band& b, bool deviations, Target&& target, Consume&& consume) {
    moments_of_groups<Pixel, f64>(
        job, b, deviations, [&](std::int64_t row) { return target(row, std::int64_t{0}); },
        [&](std::int64_t row) { consume(row, std::int64_t{0}, job.n(), target(row, std::int64_t{0})); });
}

}  // namespace boxsum::filters
