#pragma once

#include "cpu/filters/extend_row.hpp"
#include "cpu/filters/row_job.hpp"
#include "cpu/filters/row_source.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>

/// Sums of windows of floating images, eight rows at a time (group_windows_impl.hpp has the scheme). Groups of rows and
/// blocks of groups begin at the first row of the whole image, never of a thread's band or of a part: the bits do not
/// depend on either.
namespace boxsum::filters {

/// Zeros, a multiple of a vector's length.
template <typename T = f64>
work_buffer<T> zeros(std::int64_t count) {
    work_buffer<T> values(count);
    std::fill_n(values.data(), count, T{0});
    return values;
}

/// Room for rows that are read, or written, by whole vectors of up to 16 elements.
constexpr std::int64_t whole_vectors(std::int64_t n) noexcept {
    return (n + 15) / 16 * 16;
}

/// What windows along an axis keep between one eight and the next: in each row of it `values` times `elements` numbers.
class group_memory {
  public:
    group_memory(std::int64_t width, std::int64_t elements, std::int64_t values = 1)
        : windows{width, 0, 0, (elements + 7) / 8 * 8 * values, 0, nullptr, nullptr, nullptr} {
        if (width <= 8) return;
        windows.rest = (width - 1) % 8;
        windows.whole = (width - 1) / 8 - 1;
        values_ = zeros((windows.whole + 2) * windows.stride);
        windows.part = values_.data();
        windows.prefix = windows.part + windows.stride;
        windows.slots = windows.prefix + windows.stride;
    }

    group_windows windows;

  private:
    work_buffer<f64> values_;
};

/// Rows by their positions on the extended axis.
template <typename Pixel>
class row_positions {
  public:
    row_positions(const row_job& job, row_source<Pixel>& rows)
        : job_(job), rows_(rows), outside_(zeros<Pixel>(whole_vectors(job.n()))) {}

    /// Zeros where there is none or this part of the image does not have it; no window that has a result takes the
    /// latter.
    const Pixel* pixels(std::int64_t j) const {
        const window_axis& axis = job_.rows;
        if (j >= axis.extended()) return outside_.data();
        const std::int64_t row = axis.source(j - axis.before);
        if (row < 0) return axis.border == border_mode::constant ? rows_.row(row) : outside_.data();
        const bool given = row >= job_.part_row && row < job_.part_row + job_.image.shape.rows;
        return given ? rows_.row(row) : outside_.data();
    }

  private:
    const row_job& job_;
    row_source<Pixel>& rows_;
    work_buffer<Pixel> outside_;
};

/// Continues a line, whose first column x points to, beyond both ends; `outside` is beyond a constant border.
template <typename T>
void extend_line(T* x, const window_axis& axis, std::int64_t step, T outside) {
    if (axis.continues()) {
        for_each_run(axis, [&](std::int64_t to, std::int64_t from, std::int64_t count, std::int64_t forwards) {
            if (forwards > 0) {
                std::copy_n(x + from * step, count * step, x + to * step);
                return;
            }
            for (std::int64_t i = 0; i < count; ++i)
                std::copy_n(x + (from + i * forwards) * step, step, x + (to + i) * step);
        });
    } else if (axis.border == border_mode::constant) {
        std::fill_n(x - axis.before * step, axis.before * step, outside);
        std::fill_n(x + axis.extent * step, axis.after * step, outside);
    }
}

/// Rows as they are and which of their pixels count, 1 or 0, in whole vectors.
template <typename Pixel>
struct counted_positions {
    const row_positions<Pixel>& pixels;
    const row_positions<u8>& counts;
};

template <typename Pixel>
class group_sums {
  public:
    /// `rows`: sixteen rows that were asked for live. `constant`: of what lies beyond a constant border. `counted`,
    /// unless it is null, has the rows that are clean in `rows`, which then are only asked for where a band begins.
    group_sums(const row_job& job, row_source<Pixel>& rows, f64 constant,
               const counted_positions<Pixel>* counted = nullptr)
        : job_(job),
          rows_(rows),
          constant_(constant),
          n_(job.n()),
          step_(8 * job.shape.channels),
          down_(job.rows.width(), n_),
          along_(job.cols.width(), step_),
          line_(zeros((whole_vectors(job.cols.extent) + job.cols.width()) * step_)),
          positions_(job, rows),
          counted_(counted) {
        if (job.rows.reduced()) sum_what_lies_beyond();
        if (job.cols.reduced()) beyond_cols_ = zeros(step_);
    }

    /// Sums of the windows around `row`; rows must be asked for in increasing order. They live until the next call.
    const f64* compute(std::int64_t row) {
        if (sums_.data() == nullptr) sums_ = work_buffer<f64>(8 * n_);
        if (move_to(row / 8)) {
            std::array<f64*, 8> rows;
            for (std::size_t i = 0; i < 8; ++i) rows[i] = sums_.data() + static_cast<std::int64_t>(i) * n_;
            job_.kernels->block.along_sums(rows.data(), line_.data(), along_.windows, beyond_cols_.data(), {},
                                           job_.cols.extent, job_.shape.channels);
        }
        return sums_.data() + row % 8 * n_;
    }

    /// along(line, windows, beyond): of rows 8 group .. 8 group + 7 of the whole image.
    template <typename Along>
    void windows(std::int64_t group, Along&& along) {
        move_to(group);
        along(line_.data(), along_.windows, beyond_cols_.data());
    }

    /// Means of 32 bits, to rows 8 group .. 8 group + 7 of the whole image; those that are null are left out.
    void means(std::int64_t group, f32* const* rows, const mean_factors& factors) {
        move_to(group);
        job_.kernels->block.along_means(rows, line_.data(), along_.windows, beyond_cols_.data(), factors,
                                        job_.cols.extent, job_.shape.channels);
    }

  private:
    const Pixel* pixels(std::int64_t j) const { return positions_.pixels(j); }

    /// Whether there are new windows, along columns, in `line_`.
    bool move_to(std::int64_t group) {
        if (group == group_) return false;
        if (group != group_ + 1 || group_ < 0) start(group);
        group_ = group;
        const Pixel *first[8], *last[8];
        const u8 *first_counts[8], *last_counts[8];
        group_windows& w = down_.windows;
        f64* const line = line_.data() + job_.cols.before * step_;
        const auto find = [&](const auto& positions, auto** at_first, auto** at_last) {
            for (std::int64_t i = 0; i < 8; ++i) {
                at_first[i] = positions.pixels(8 * group + i);
                at_last[i] = positions.pixels(8 * group + i + w.width - 1);
            }
        };
        find(counted_ != nullptr ? counted_->pixels : positions_, first, last);
        if (counted_ != nullptr) {
            find(counted_->counts, first_counts, last_counts);
            samples_.counted_down(line, first, last, first_counts, last_counts, w, beyond_rows_.data(), n_);
        } else {
            samples_.down(line, first, last, w, beyond_rows_.data(), n_);
        }
        if (++w.phase >= w.whole) {
            job_.kernels->block.close_block(w.slots, w.whole, w.stride, n_);
            w.phase = 0;
        }
        extend_line();
        return true;
    }

    void start(std::int64_t group) {
        group_windows& w = down_.windows;
        if (w.width <= 8) return;
        const auto sum = [&](f64* to, std::int64_t first, std::int64_t count) {
            samples_.load(to, pixels(first), n_);
            for (std::int64_t j = first + 1; j < first + count; ++j) samples_.add(to, to, pixels(j), n_);
        };
        if (w.rest > 0) sum(w.part, 8 * (group + w.whole + 1), w.rest);
        if (w.whole == 0) return;
        w.phase = group % w.whole;
        const std::int64_t block = group - w.phase;
        const work_buffer<f64> others(w.stride);
        for (std::int64_t k = 0; k < w.whole; ++k) {
            f64* const to = w.slots + k * w.stride;
            const std::int64_t first = 8 * ((k < w.phase ? block + w.whole : block) + k + 1);
            sum(to, first, w.rest > 0 ? w.rest : 8);
            if (w.rest == 0) continue;
            sum(others.data(), first + w.rest, 8 - w.rest);
            job_.kernels->block.add(to, to, others.data(), n_);
        }
        for (std::int64_t k = 0; k < w.phase; ++k)
            if (k == 0)
                std::copy_n(w.slots, n_, w.prefix);
            else
                job_.kernels->block.add(w.prefix, w.prefix, w.slots + k * w.stride, n_);
        job_.kernels->block.close_block(w.slots + w.phase * w.stride, w.whole - w.phase, w.stride, n_);
    }

    /// Continues the line beyond both ends, and sums what lies further out.
    void extend_line() {
        const window_axis& axis = job_.cols;
        f64* const x = line_.data() + axis.before * step_;
        const f64 outside = constant_ * static_cast<f64>(job_.rows.full);
        filters::extend_line(x, axis, step_, outside);
        if (!axis.reduced()) return;
        for (std::int64_t i = 0; i < step_; ++i) {
            f64 beyond = 0;
            if (axis.repeats > 0) {
                const std::int64_t periods =
                    axis.for_each_repeated([&](std::int64_t c) { beyond += x[c * step_ + i]; });
                beyond *= static_cast<f64>(periods);
            } else {  // not 0 times what may be infinite
                const bool constant = axis.border == border_mode::constant;
                if (axis.edge_before > 0) beyond = (constant ? outside : x[i]) * static_cast<f64>(axis.edge_before);
                if (axis.edge_after > 0)
                    beyond +=
                        (constant ? outside : x[(axis.extent - 1) * step_ + i]) * static_cast<f64>(axis.edge_after);
            }
            beyond_cols_[i] = beyond;
        }
    }

    void sum_what_lies_beyond() {
        const window_axis& axis = job_.rows;
        beyond_rows_ = zeros((n_ + 7) / 8 * 8);
        f64* const to = beyond_rows_.data();
        if (axis.repeats > 0) {
            const f64 periods = static_cast<f64>(
                axis.for_each_repeated([&](std::int64_t i) { samples_.add(to, to, rows_.row(i), n_); }));
            for (std::int64_t i = 0; i < n_; ++i) to[i] *= periods;
            return;
        }
        const auto add = [&](std::int64_t j, std::int64_t times) {
            if (times == 0) return;
            const Pixel* const x = pixels(j);
            for (std::int64_t i = 0; i < n_; ++i) to[i] += static_cast<f64>(x[i]) * static_cast<f64>(times);
        };
        add(0, axis.edge_before);
        add(axis.extended() - 1, axis.edge_after);
    }

    const row_job& job_;
    row_source<Pixel>& rows_;
    f64 constant_;
    std::int64_t n_, step_, group_ = -2;
    group_memory down_, along_;
    work_buffer<f64> line_, sums_, beyond_rows_, beyond_cols_;
    row_positions<Pixel> positions_;
    const counted_positions<Pixel>* counted_;
    const sample_kernels<Pixel>& samples_ = std::get<sample_kernels<Pixel>>(job_.kernels->sample);
};

inline work_buffer<f64> floating_column_counts(const row_job& job) {
    const std::int64_t channels = job.shape.channels;
    work_buffer<f64> counts(job.n());
    for (std::int64_t i = 0; i < job.n(); ++i) counts[i] = static_cast<f64>(job.cols.count(i / channels));
    return counts;
}

/// consume(row, sums, rows_in_window) for every row of the band.
template <typename Pixel, typename Consume>
void floating_sums(const row_job& job, const band& b, Consume&& consume) {
    image_rows<Pixel> rows(job, b.plane);
    group_sums<Pixel> windows(job, rows, job.border_value);
    for (std::int64_t row = b.first; row < b.end; ++row)
        consume(row, windows.compute(row), static_cast<f64>(job.rows.count(row)));
}

/// Means of 32 bits.
template <typename Pixel>
void floating_means(const row_job& job, const any_view& result, const band& b) {
    image_rows<Pixel> rows(job, b.plane);
    group_sums<Pixel> windows(job, rows, job.border_value);
    work_buffer<f64> cols(job.cols.extent);
    for (std::int64_t c = 0; c < job.cols.extent; ++c) cols[c] = static_cast<f64>(job.cols.count(c));
    const bool streaming = job.streams(sizeof(f32));
    for (std::int64_t group = b.first / 8; 8 * group < b.end; ++group) {
        f64 counts[8], full[8];
        f32* to[8];
        for (std::int64_t i = 0; i < 8; ++i) {
            const std::int64_t row = 8 * group + i;
            const bool wanted = row >= b.first && row < b.end;
            counts[i] = wanted ? static_cast<f64>(job.rows.count(row)) : 1;
            full[i] = 1 / (counts[i] * static_cast<f64>(job.cols.full));
            to[i] = wanted ? job.row_to<f32>(result, row, b.plane) : nullptr;
        }
        windows.means(group, to, {counts, cols.data(), full, job.cols.first_uncut(), job.cols.end_uncut(), streaming});
    }
}

}  // namespace boxsum::filters
