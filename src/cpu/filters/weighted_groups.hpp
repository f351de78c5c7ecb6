#pragma once

#include "cpu/filters/group_windows.hpp"
#include "cpu/filters/row_job.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>

/// Windows of samples with weights, eight rows at a time, cut as in group_windows.hpp. A value has `parts` numbers
/// (weighted_kernels), the same ones wherever it is kept.
namespace boxsum::filters {

/// `Rows::at(row)`: a weighted_row of the image, or with -1 that beyond a constant border; sixteen that were asked for
/// live.
template <typename Sample, typename Rows>
class weighted_groups {
  public:
    /// `counted`: whether what lies beyond a constant border does.
    weighted_groups(const row_job& job, Rows& rows, const weighted_kernels<Sample>& kernels, bool counted)
        : job_(job),
          rows_(rows),
          kernels_(kernels),
          counted_(counted),
          n_(job.n()),
          step_(8 * job.shape.channels),
          line_plane_((whole_vectors(job.cols.extent) + job.cols.width()) * step_),
          down_(job.rows.width(), n_, kernels.parts),
          along_(job.cols.width(), step_, kernels.parts),
          line_(zeros(kernels.parts * line_plane_)),
          nothing_(n_),
          no_weight_(n_),
          no_count_(n_) {
        std::fill_n(nothing_.data(), n_, Sample{0});
        std::fill_n(no_weight_.data(), n_, f32{0});
        std::fill_n(no_count_.data(), n_, u8{0});
        if (job.rows.reduced()) join_rows_beyond();
        if (job.cols.reduced()) beyond_cols_ = zeros(kernels.parts * step_);
    }

    /// Of rows 8 group .. 8 group + 7 of the whole image. Groups must be asked for in increasing order.
    void compute(std::int64_t group, const weighted_results& results) {
        if (group != group_ + 1 || group_ < 0) start(group);
        group_ = group;
        weighted_row<Sample> first[8], last[8];
        group_windows& w = down_.windows;
        for (std::int64_t i = 0; i < 8; ++i) {
            first[i] = row(8 * group + i);
            last[i] = row(8 * group + i + w.width - 1);
        }
        f64* const line = line_.data() + job_.cols.before * step_;
        kernels_.down(line, line_plane_, first, last, w, beyond_rows_.data(), n_);
        if (++w.phase >= w.whole) {
            close_block(0);
            w.phase = 0;
        }
        const f64 rows_beyond = counted_ ? static_cast<f64>(job_.rows.full) : 0;
        for (std::int64_t part = 0; part < kernels_.parts; ++part)
            extend_line(line + part * line_plane_, job_.cols, step_, of_constant(part, rows_beyond));
        if (job_.cols.reduced()) join_columns_beyond(line, rows_beyond);
        kernels_.along(results, line_.data(), line_plane_, along_.windows, beyond_cols_.data(), job_.cols.extent,
                       job_.shape.channels);
    }

  private:
    /// Of so many pixels of a constant border: weight, sum, mean, squared deviations.
    f64 of_constant(std::int64_t part, f64 weight) const {
        const f64 x = weight > 0 ? job_.border_value : 0;
        return part == 0 ? weight : part == 1 ? weight * x : part == 2 ? x : 0;
    }

    /// At a position of the extended axis: nothing where there is none or this part of the image does not have it.
    weighted_row<Sample> row(std::int64_t j) {
        const window_axis& axis = job_.rows;
        const std::int64_t row = j < axis.extended() ? axis.source(j - axis.before) : -1;
        const bool given = row >= job_.part_row && row < job_.part_row + job_.image.shape.rows;
        const bool constant = j < axis.extended() && row < 0 && axis.border == border_mode::constant;
        return given || constant ? rows_.at(row)
                                 : weighted_row<Sample>{nothing_.data(), no_weight_.data(), no_count_.data()};
    }

    std::int64_t plane() const { return down_.windows.stride / kernels_.parts; }
    void join(f64* to, const f64* a, const f64* b) const { kernels_.join(to, a, b, plane(), n_); }

    /// to = positions first .. first + count - 1
    void chain(f64* to, std::int64_t first, std::int64_t count) {
        for (std::int64_t j = first; j < first + count; ++j) kernels_.add(to, row(j), j == first, plane(), n_);
    }

    /// Slots from the first on become suffixes of their block.
    void close_block(std::int64_t first) const {
        const group_windows& w = down_.windows;
        for (std::int64_t k = w.whole - 2; k >= first; --k) {
            f64* const slot = w.slots + k * w.stride;
            join(slot, slot + w.stride, slot);
        }
    }

    void start(std::int64_t group) {
        group_windows& w = down_.windows;
        if (w.width <= 8) return;
        if (w.rest > 0) chain(w.part, 8 * (group + w.whole + 1), w.rest);
        if (w.whole == 0) return;
        w.phase = group % w.whole;
        const std::int64_t block = group - w.phase;
        const work_buffer<f64> others(w.stride);
        for (std::int64_t k = 0; k < w.whole; ++k) {
            f64* const to = w.slots + k * w.stride;
            const std::int64_t first = 8 * ((k < w.phase ? block + w.whole : block) + k + 1);
            chain(to, first, w.rest > 0 ? w.rest : 8);
            if (w.rest == 0) continue;
            chain(others.data(), first + w.rest, 8 - w.rest);
            join(to, to, others.data());
        }
        for (std::int64_t k = 0; k < w.phase; ++k)
            if (k == 0)
                std::copy_n(w.slots, w.stride, w.prefix);
            else
                join(w.prefix, w.prefix, w.slots + k * w.stride);
        close_block(w.phase);
    }

    /// Means are the same; by 0 of what is not finite, too, which is in no window then.
    void multiply(f64* x, std::int64_t stride, std::int64_t n, std::int64_t times) const {
        for (std::int64_t part = 0; part < kernels_.parts; ++part)
            for (std::int64_t i = 0; i < n; ++i) {
                f64& v = x[part * stride + i];
                v = times == 0 ? 0 : part == 2 ? v : v * static_cast<f64>(times);
            }
    }

    void join_rows_beyond() {
        const window_axis& axis = job_.rows;
        beyond_rows_ = zeros(down_.windows.stride);
        f64* const to = beyond_rows_.data();
        const auto add = [&](f64* sum, const weighted_row<Sample>& x, bool alone) {
            kernels_.add(sum, x, alone, plane(), n_);
        };
        if (axis.repeats > 0) {
            const std::int64_t periods = axis.for_each_repeated([&](std::int64_t i) { add(to, rows_.at(i), i == 0); });
            return multiply(to, plane(), plane(), periods);
        }
        const work_buffer<f64> behind = zeros(down_.windows.stride);
        add(to, row(0), true);
        multiply(to, plane(), plane(), axis.edge_before);
        add(behind.data(), row(axis.extended() - 1), true);
        multiply(behind.data(), plane(), plane(), axis.edge_after);
        join(to, to, behind.data());
    }

    void join_columns_beyond(const f64* line, f64 rows_beyond) const {
        const window_axis& axis = job_.cols;
        f64* const to = beyond_cols_.data();
        const work_buffer<f64> other(kernels_.parts * step_);
        const auto take = [&](f64* value, std::int64_t c) {
            for (std::int64_t part = 0; part < kernels_.parts; ++part)
                for (std::int64_t i = 0; i < step_; ++i)
                    value[part * step_ + i] = axis.border == border_mode::constant
                                                  ? of_constant(part, rows_beyond)
                                                  : line[part * line_plane_ + c * step_ + i];
        };
        if (axis.repeats > 0) {
            std::fill_n(to, kernels_.parts * step_, 0.0);
            const std::int64_t periods = axis.for_each_repeated([&](std::int64_t c) {
                take(other.data(), c);
                kernels_.join(to, to, other.data(), step_, step_);
            });
            return multiply(to, step_, step_, periods);
        }
        take(to, 0);
        multiply(to, step_, step_, axis.edge_before);
        take(other.data(), axis.extent - 1);
        multiply(other.data(), step_, step_, axis.edge_after);
        kernels_.join(to, to, other.data(), step_, step_);
    }

    const row_job& job_;
    Rows& rows_;
    const weighted_kernels<Sample>& kernels_;
    bool counted_;
    std::int64_t n_, step_, line_plane_, group_ = -2;
    group_memory down_, along_;
    work_buffer<f64> line_, beyond_rows_, beyond_cols_;
    work_buffer<Sample> nothing_;
    work_buffer<f32> no_weight_;
    work_buffer<u8> no_count_;
};

}  // namespace boxsum::filters
