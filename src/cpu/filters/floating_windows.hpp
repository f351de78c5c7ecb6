#pragma once

#include "cpu/filters/extend_row.hpp"
#include "cpu/filters/group_windows.hpp"
#include "cpu/filters/row_job.hpp"
#include "cpu/filters/row_source.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>

/// Moments of windows of floating images: (mean, sum of squared deviations) pairs, merged as in Chan, Golub, LeVeque
/// 1979, by the scheme of van Herk 1992 and of Gil and Werman 1993, with a merge for max. An axis,
/// extended by the window's reach on both sides, is cut into blocks as wide as the window. Every window is then the end
/// of one block and the start of the next:
///
///     |  block k      |  block k+1    |          suffix of block k from the window's first sample
///          [ window       ]                    + prefix of block k+1 up to its last
///
/// Nothing is ever subtracted, so nothing outside a window acts on it, and errors do not pile up along the image.
/// Blocks lie at multiples of the window's width from the image's edge, never of a thread's band: the bits do not
/// depend on the number of threads.
///
/// The bound of filters.hpp for merged means, in units of u * (mean of |x|): a + f * (b - a), of n_a and n_b samples,
/// rounds f, the difference, the product and the sum. The first three err by 3 f |b - a| <= 3 f (|a| + |b|). Where the
/// mean of |x| is all in a, that is 3 n_b / n_a of it, where it is all in b, 3; so with errors e of a and b the result
/// has at most max(e_a + 3 n_b / n_a, e_b + 3) + 1. Samples one by one: e(k) = k - 1 + 3 H(k - 1). A suffix and a
/// prefix of w samples together: at most 3 w - 1, mostly by a suffix of one sample before a prefix of all others. What
/// lies beyond the border is one more merge, and the least window that it joins shorter by as much: 3 w. Windows along
/// rows begin with the errors of those along columns.
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
        return {mean + b.count / all * d, (m2 + b.m2) + count * b.count / all * (d * d), all};
    }

    moment_pair times(std::int64_t k) const noexcept {
        const f64 factor = static_cast<f64>(k);
        return k == 0 ? moment_pair{} : moment_pair{mean, m2 * factor, count * factor};
    }
};

/// A row of pairs.
struct value_row {
    f64* mean = nullptr;
    f64* m2 = nullptr;
};

class value_rows {
  public:
    value_rows() = default;
    value_rows(std::int64_t rows, std::int64_t n) : n_(n), rows_(rows), values_(2 * rows * n) {}

    value_row row(std::int64_t i) const noexcept {
        return {values_.data() + i * n_, values_.data() + (rows_ + i) * n_};
    }

    void fill(f64 value) const { std::fill_n(values_.data(), 2 * rows_ * n_, value); }

  private:
    std::int64_t n_ = 0, rows_ = 0;
    work_buffer<f64> values_;
};

/// An axis cut into blocks. Position j of the extended axis is sample j - before of the image.
struct block_axis {
    std::int64_t width, first, end;  ///< of a block; the positions that hold samples

    explicit block_axis(const window_axis& axis)
        : width(axis.width()),
          first(axis.border == border_mode::shrink ? axis.before : 0),
          end(axis.border == border_mode::shrink ? axis.before + axis.extent : axis.extended()) {}

    std::int64_t next_block(std::int64_t j) const noexcept { return (j / width + 1) * width; }
    /// Samples that the window which begins at j takes from the block of j, and from the next.
    std::int64_t in_block(std::int64_t j) const noexcept { return std::min(next_block(j), end) - std::max(j, first); }
    std::int64_t in_next(std::int64_t j) const noexcept {
        return std::max<std::int64_t>(std::min(j + width, end) - next_block(j), 0);
    }
};

/// Windows along columns: one row of values per row of the image.
template <typename Pixel>
class column_blocks {
  public:
    /// Results are written to `result`, or, where it would be a copy, stay in a row of this object's.
    column_blocks(const row_job& job, row_source<Pixel>& rows, value_row result)
        : job_(job),
          axis_(job.rows),
          rows_(rows),
          suffixes_(std::min(axis_.width, axis_.end - axis_.first), job.n()),
          prefix_(1, job.n()),
          result_(result) {
        if (job.rows.reduced()) sum_what_lies_beyond();
    }

    /// The windows around `row`; rows must be asked for in increasing order. The result lives until the next call.
    value_row compute(std::int64_t row) {
        if (row >= block_end_) begin_block(row);
        value_row result = suffixes_.row(std::max(row, axis_.first) - first_suffix_);
        const std::int64_t in_block = axis_.in_block(row), in_next = axis_.in_next(row);
        const std::int64_t prefix_end = std::min(row + axis_.width, axis_.end);
        for (; next_prefix_ < prefix_end; ++next_prefix_)
            append(prefix_.row(0), prefix_.row(0), next_prefix_, next_prefix_ - block_end_);
        if (in_next > 0) result = merge(result, in_block, prefix_.row(0), in_next);
        if (job_.rows.reduced()) result = merge(result, in_block + in_next, beyond_.row(0), job_.rows.beyond());
        return result;
    }

  private:
    const Pixel* pixels(std::int64_t j) const { return rows_.row(job_.rows.source(j - job_.rows.before)); }

    /// to = a, of `count` samples, with sample j.
    void append(value_row to, value_row a, std::int64_t j, std::int64_t count) { append(to, a, pixels(j), count); }

    void append(value_row to, value_row a, const Pixel* x, std::int64_t count) {
        const std::int64_t n = job_.n();
        if (count == 0) {
            samples_.load(to.mean, x, n);
            std::fill_n(to.m2, n, 0.0);
        } else {
            const f64 na = static_cast<f64>(count);
            samples_.merge(to.mean, to.m2, a.mean, a.m2, x, 1 / (na + 1), na / (na + 1), n);
        }
    }

    value_row merge(value_row a, std::int64_t a_count, value_row b, std::int64_t b_count) {
        const value_row to = result_;
        const f64 na = static_cast<f64>(a_count), nb = static_cast<f64>(b_count);
        job_.kernels->block.merge(to.mean, to.m2, a.mean, a.m2, b.mean, b.m2, nb / (na + nb), na * nb / (na + nb),
                                  job_.n());
        return to;
    }

    void begin_block(std::int64_t row) {
        block_end_ = axis_.next_block(row);
        next_prefix_ = block_end_;
        first_suffix_ = std::max(row, axis_.first);
        const std::int64_t last = std::min(block_end_, axis_.end) - 1;
        for (std::int64_t j = last; j >= first_suffix_; --j)
            append(suffixes_.row(j - first_suffix_), suffixes_.row(j < last ? j + 1 - first_suffix_ : 0), j, last - j);
    }

    /// What every window contains on top of its reduced reach.
    void sum_what_lies_beyond() {
        const window_axis& axis = job_.rows;
        const std::int64_t n = job_.n();
        beyond_ = value_rows(1, n);
        const value_row to = beyond_.row(0);
        if (axis.repeats > 0) {
            std::int64_t count = 0;
            const f64 periods = static_cast<f64>(
                axis.for_each_repeated([&](std::int64_t i) { append(to, to, rows_.row(i), count++); }));
            for (std::int64_t i = 0; i < n; ++i) to.m2[i] *= periods;
            return;
        }
        const Pixel *const first = pixels(0), *const last = pixels(axis_.end - 1);
        for (std::int64_t i = 0; i < n; ++i) {
            moment_pair all = moment_pair{static_cast<f64>(first[i]), 0, 1}.times(axis.edge_before);
            const moment_pair behind = moment_pair{static_cast<f64>(last[i]), 0, 1}.times(axis.edge_after);
            all = all.merged(behind);
            to.mean[i] = all.mean;
            to.m2[i] = all.m2;
        }
    }

    const row_job& job_;
    block_axis axis_;
    row_source<Pixel>& rows_;
    value_rows suffixes_, prefix_, beyond_;
    value_row result_;
    const sample_kernels<Pixel>& samples_ = std::get<sample_kernels<Pixel>>(job_.kernels->sample);
    std::int64_t block_end_ = 0, next_prefix_ = 0, first_suffix_ = 0;
};

/// Windows along the row, over a row of windows along the columns, by scans within blocks.
class row_blocks {
  public:
    /// `constant`: of what lies beyond a constant border.
    row_blocks(const row_job& job, f64 constant)
        : job_(job),
          constant_(constant),
          axis_(job.cols),
          channels_(job.shape.channels),
          extended_(1, job.cols.extended() * channels_),
          result_(1, job.n()) {
        suffix_ = value_rows(1, job.cols.extended() * channels_);
        prefix_ = value_rows(1, job.cols.extended() * channels_);
        prefix_.fill(0);  // windows that are whole blocks read entries that are never written
        prepare_shares();
    }

    /// Where windows along the columns are best written.
    value_row input() const {
        const std::int64_t at = job_.cols.before * channels_;
        const value_row all = extended_.row(0);
        return {all.mean + at, all.m2 + at};
    }

    /// x: windows of `rows` samples along the columns. The result lives until the next call.
    value_row compute(value_row x, std::int64_t rows) {
        value_row result = x;
        if (axis_.width > 1) {
            extend(x);
            result = result_.row(0);
            scan_blocks(static_cast<f64>(rows));
            join(static_cast<f64>(rows));
        }
        if (job_.cols.reduced()) result = add_what_lies_beyond(result, x, rows);
        return result;
    }

  private:
    void prepare_shares() {
        scan_f_ = work_buffer<f64>(axis_.width);
        scan_g_ = work_buffer<f64>(axis_.width);
        for (std::int64_t k = 0; k < axis_.width; ++k) {
            scan_f_[k] = 1 / static_cast<f64>(k + 1);
            scan_g_[k] = static_cast<f64>(k) / static_cast<f64>(k + 1);
        }
        join_f_ = work_buffer<f64>(job_.n());
        join_g_ = work_buffer<f64>(job_.n());
        for (std::int64_t i = 0; i < job_.n(); ++i) {
            const std::int64_t c = i / channels_;
            const f64 na = static_cast<f64>(axis_.in_block(c)), nb = static_cast<f64>(axis_.in_next(c));
            join_f_[i] = nb / (na + nb);
            join_g_[i] = na * nb / (na + nb);
        }
    }

    /// The value of a column that lies beyond a constant border.
    value_row constant_column(f64 (&values)[2]) const {
        values[0] = constant_;
        values[1] = 0;
        return {&values[0], &values[1]};
    }

    void extend(value_row x) {
        const value_row to = extended_.row(0);
        const std::int64_t before = job_.cols.before;
        if (x.mean != input().mean) {
            std::copy_n(x.mean, job_.n(), input().mean);
            std::copy_n(x.m2, job_.n(), input().m2);
        }
        if (job_.cols.border == border_mode::shrink) return;
        f64 constant[2];
        const value_row outside = constant_column(constant);
        extend_row(to.mean + before * channels_, job_.cols, channels_, outside.mean[0]);
        extend_row(to.m2 + before * channels_, job_.cols, channels_, outside.m2[0]);
    }

    void scan(value_row to, std::int64_t at, std::int64_t chains, std::int64_t length, std::int64_t step, f64 weight) {
        const value_row x = extended_.row(0);
        const block_kernels& kernels = job_.kernels->block;
        for (std::int64_t k = 0; k < channels_; ++k) {
            const std::int64_t i = at * channels_ + k;
            kernels.scan_pairs(to.mean + i, to.m2 + i, x.mean + i, x.m2 + i, scan_f_.data(), scan_g_.data(), weight,
                               chains, axis_.width * channels_, length, step * channels_);
        }
    }

    void scan_piece(std::int64_t begin, std::int64_t end, f64 weight) {
        if (begin >= end) return;
        scan(suffix_.row(0), end - 1, 1, end - begin, -1, weight);
        scan(prefix_.row(0), begin, 1, end - begin, 1, weight);
    }

    /// Suffix and prefix of every block; whole blocks together, the cut ones at the ends alone.
    void scan_blocks(f64 weight) {
        const std::int64_t width = axis_.width;
        const std::int64_t whole = (axis_.first + width - 1) / width * width;
        const std::int64_t chains = std::max<std::int64_t>((axis_.end - whole) / width, 0);
        scan_piece(axis_.first, std::min(whole, axis_.end), weight);
        if (chains > 0) {
            scan(suffix_.row(0), whole + width - 1, chains, width, -1, weight);
            scan(prefix_.row(0), whole, chains, width, 1, weight);
        }
        scan_piece(whole + chains * width, axis_.end, weight);
    }

    /// Repeats the entry of position `from` over positions begin .. end - 1.
    void repeat(value_row x, std::int64_t from, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin * channels_; i < end * channels_; ++i) {
            x.mean[i] = x.mean[from * channels_ + i % channels_];
            x.m2[i] = x.m2[from * channels_ + i % channels_];
        }
    }

    void join(f64 rows) {
        const value_row a = suffix_.row(0), b = prefix_.row(0), to = result_.row(0);
        const std::int64_t width = axis_.width, extent = job_.cols.extent;
        // Windows cut by the border begin before the first sample, or end after the last.
        repeat(a, axis_.first, 0, axis_.first);
        repeat(b, axis_.end - 1, axis_.end, job_.cols.extended());
        const std::int64_t ahead = (width - 1) * channels_;
        job_.kernels->block.merge_each(to.mean, to.m2, a.mean, a.m2, b.mean + ahead, b.m2 + ahead, join_f_.data(),
                                       join_g_.data(), rows, job_.n());
        // Whole blocks, and windows whose next block holds no sample.
        const auto suffix_alone = [&](std::int64_t begin, std::int64_t end) {
            std::copy(a.mean + begin * channels_, a.mean + end * channels_, to.mean + begin * channels_);
            std::copy(a.m2 + begin * channels_, a.m2 + end * channels_, to.m2 + begin * channels_);
        };
        for (std::int64_t c = 0; c < extent; c += width) suffix_alone(c, c + 1);
        const std::int64_t last_block = (axis_.end - 1) / width * width;
        if (last_block < extent) suffix_alone(last_block, extent);
    }

    value_row add_what_lies_beyond(value_row result, value_row x, std::int64_t rows) {
        const window_axis& axis = job_.cols;
        const std::int64_t n = job_.n();
        const value_row to = result_.row(0);
        f64 constant[2];
        const value_row outside = constant_column(constant);
        for (std::int64_t k = 0; k < channels_; ++k) {
            const bool is_constant = axis.border == border_mode::constant;
            const std::int64_t first = k, last = n - channels_ + k;
            const f64 count = static_cast<f64>(rows);
            moment_pair beyond;
            if (axis.repeats > 0) {
                const std::int64_t periods = axis.for_each_repeated([&](std::int64_t c) {
                    const std::int64_t i = c * channels_ + k;
                    beyond = beyond.merged({x.mean[i], x.m2[i], count});
                });
                beyond = beyond.times(periods);
            } else if (is_constant) {
                beyond = moment_pair{outside.mean[0], 0, count}.times(axis.edge_before + axis.edge_after);
            } else {
                beyond = moment_pair{x.mean[first], x.m2[first], count}
                             .times(axis.edge_before)
                             .merged(moment_pair{x.mean[last], x.m2[last], count}.times(axis.edge_after));
            }
            for (std::int64_t i = k; i < n; i += channels_) {
                const auto all =
                    moment_pair{result.mean[i], result.m2[i], count * static_cast<f64>(axis.width())}.merged(beyond);
                to.mean[i] = all.mean;
                to.m2[i] = all.m2;
            }
        }
        return to;
    }

    const row_job& job_;
    f64 constant_;
    block_axis axis_;
    std::int64_t channels_;
    value_rows extended_, suffix_, prefix_, result_;
    work_buffer<f64> scan_f_, scan_g_, join_f_, join_g_;
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

    void replace_nan(std::int64_t row, f64* mean) {
        const f64 count = static_cast<f64>(job_.rows.count(row));
        const f64* const sums = windows_.compute(row);
        for (std::int64_t i = 0; i < job_.n(); ++i)
            if (std::isnan(mean[i])) mean[i] = sums[i] / (count * counts_[i]);
    }

  private:
    const row_job& job_;
    image_rows<Pixel> rows_;
    group_sums<Pixel> windows_;
    work_buffer<f64> counts_;
};

/// consume(row, first, n, moment_rows) for every row of the band, each in one piece: first = 0. The results are where
/// target(row, first) says.
template <typename Pixel, typename Target, typename Consume>
void floating_moments(const row_job& job, const band& b, Target&& target, Consume&& consume) {
    image_rows<Pixel> rows(job, b.plane);
    row_blocks windows(job, job.border_value);
    column_blocks<Pixel> columns(job, rows, windows.input());
    const work_buffer<f64> counts = floating_column_counts(job);
    std::optional<means_by_sums<Pixel>> sums;
    for (std::int64_t row = b.first; row < b.end; ++row) {
        const std::int64_t count = job.rows.count(row);
        const value_row pair = windows.compute(columns.compute(row), count);
        const moment_rows<f64> to = target(row, std::int64_t{0});
        if (job.kernels->block.finish_pairs(to.mean, to.spread, pair.mean, pair.m2, static_cast<f64>(count),
                                            counts.data(), job.n())) {
            if (!sums) sums.emplace(job, b);
            sums->replace_nan(row, to.mean);
        }
        consume(row, std::int64_t{0}, job.n(), to);
    }
}

}  // namespace boxsum::filters
