#pragma once

#include "cpu/filters/extend_row.hpp"
#include "cpu/filters/row_job.hpp"
#include "cpu/filters/row_source.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>

/// Window sums of 8- and 16-bit images without a table: running sums down every column, updated by the row that enters
/// and the row that leaves; along the row running sums of those, updated by the column that enters and the one that
/// leaves (McDonnell 1981), which is a prefix sum of differences and vectorises as such. All arithmetic is modulo
/// 2^bits of the sum's type, which holds every window, so every window is exact. Four or eight bytes per column stay in
/// the cache, whatever the radius.
namespace boxsum::filters {

/// How an image type enters the sums: signed 16-bit pixels as unsigned ones, 32768 higher.
template <typename Pixel>
struct stored_as {
    using type = Pixel;
    static constexpr type flip = 0;
    static constexpr std::int64_t offset = 0;
};
template <>
struct stored_as<s16> {
    using type = u16;
    static constexpr type flip = 0x8000;
    static constexpr std::int64_t offset = 32768;
};
template <>
struct stored_as<s32> {  // in variable_box_filter.cpp
    using type = u32;
    static constexpr type flip = 0x80000000;
    static constexpr std::int64_t offset = std::int64_t{1} << 31;
};

/// Column sums of one row of windows, with room for what lies beyond both ends of the row: a window's reach, and on the
/// left one column more, which leaves the first window.
template <typename A>
class extended_row {
  public:
    explicit extended_row(const row_job& job)
        : sums_(lead(job) + (job.cols.extended() - job.cols.before) * job.shape.channels),
          origin_(sums_.data() + lead(job)) {
        std::fill_n(sums_.data(), lead(job) + (job.cols.extended() - job.cols.before) * job.shape.channels, A{0});
    }

    A* origin() const noexcept { return origin_; }  ///< of the image's first column

  private:
    /// A multiple of a line of the cache.
    static std::int64_t lead(const row_job& job) { return ((job.cols.before + 1) * job.shape.channels + 15) / 16 * 16; }

    work_buffer<A> sums_;
    A* origin_;
};

/// add(row, weight) for the rows of the window around `row`: -1 beyond a border that repeats none.
template <typename F>
void for_each_row_of_window(const window_axis& axis, std::int64_t row, F&& add) {
    for (std::int64_t i = row - axis.before; i <= row + axis.after; ++i) add(axis.source(i), 1);
    if (axis.repeats > 0)
        for (std::int64_t i = 0; i < axis.extent; ++i) add(i, axis.repeated(i));
    if (axis.border == border_mode::replicate) {
        if (axis.edge_before > 0) add(0, axis.edge_before);
        if (axis.edge_after > 0) add(axis.extent - 1, axis.edge_after);
    }
}

/// Sums of x (or x * x) over the rows of a window, for every column.
template <typename Pixel, typename A, bool square>
class column_sums {
  public:
    using stored = typename stored_as<Pixel>::type;

    column_sums(const row_job& job, row_source<stored>& rows) : job_(job), rows_(rows), row_(job) {
        const auto& k = std::get<accumulate_kernels<stored, A>>(job.kernels->accumulate);
        add_ = square ? k.add_squares : k.add;
        slide_ = square ? k.slide_squares : k.slide;
    }

    A* data() const noexcept { return row_.origin(); }

    /// The window around `row`.
    void start(std::int64_t row) {
        std::fill_n(data(), job_.n(), A{0});
        for_each_row_of_window(job_.rows, row, [&](std::int64_t i, std::int64_t weight) { add(i, weight); });
    }

    /// From the window around `row` - 1 to that around `row`.
    void advance(std::int64_t row) {
        const std::int64_t in = job_.rows.source(row + job_.rows.after);
        const std::int64_t out = job_.rows.source(row - job_.rows.before - 1);
        if (in >= 0 && out >= 0) {
            const stored* const entering = rows_.row(in);
            slide_(data(), entering, rows_.row(out), flip, job_.n());
            if (square) return;  // the sums' turn comes first
            rows_.fetch(job_.rows.source(row + job_.rows.after + 1));
            rows_.fetch(job_.rows.source(row - job_.rows.before));
        } else {
            add(in, 1);
            add(out, -1);
        }
    }

  private:
    static constexpr stored flip = stored_as<Pixel>::flip;

    void add(std::int64_t row, std::int64_t weight) {
        if (row >= 0) add_(data(), rows_.row(row), flip, static_cast<A>(weight), job_.n());
    }

    const row_job& job_;
    row_source<stored>& rows_;
    extended_row<A> row_;
    void (*add_)(A*, const stored*, stored, A, std::int64_t);
    void (*slide_)(A*, const stored*, const stored*, stored, std::int64_t);
};

/// Elements of a row whose windows are computed and used together, so that they stay in the first-level cache; a
/// multiple of every number of channels and of a vector.
inline constexpr std::int64_t tile = 960;

/// Sums of column sums over the columns of a window, one tile of the row after the other.
template <typename A>
class row_windows {
  public:
    /// `constant`: what a pixel beyond the border adds (border_mode::constant).
    row_windows(const row_job& job, A constant)
        : job_(job),
          channels_(job.shape.channels),
          constant_(constant),
          kernels_(std::get<window_kernels<A>>(job.kernels->window)),
          windows_(lead + tile) {
        if (job.cols.border == border_mode::constant) {
            inside_ = work_buffer<A>(job.n());
            for (std::int64_t i = 0; i < job.n(); ++i) inside_[i] = static_cast<A>(job.cols.inside(i / channels_));
        }
    }

    /// The windows around `row`, from its column sums x, an extended row.
    void start(A* x, std::int64_t row) {
        x_ = x;
        row_ = row;
        // What shrink and constant leave out is 0 already.
        if (job_.cols.continues()) extend_row(x, job_.cols, channels_, A{0});
        // The window before the first: its last column is that before the one that enters next, its first leaves next.
        kernels_.total(windows() - channels_, x - job_.cols.before * channels_, job_.cols.before + job_.cols.after,
                       channels_);
        find_what_lies_beyond();
    }

    /// Elements first .. first + n - 1 of the row; n is `tile`, or less for the last. In order.
    const A* next(std::int64_t first, std::int64_t n) {
        A* const w = windows();
        if (first > 0) std::copy_n(w + tile - channels_, channels_, w - channels_);
        kernels_.slide(w, x_ + first + job_.cols.after * channels_, x_ + first - (job_.cols.before + 1) * channels_, n,
                       channels_);
        if (!beyond_) return w;
        // The next tile goes on from what is in w.
        if (adjusted_.data() == nullptr) adjusted_ = work_buffer<A>(tile);
        for (std::int64_t k = 0; k < channels_; ++k) {
            const A add = add_[static_cast<std::size_t>(k)];
            for (std::int64_t i = k; i < n; i += channels_) adjusted_[i] = static_cast<A>(w[i] + add);
        }
        if (inside_.data() != nullptr) {
            const A rows = static_cast<A>(job_.rows.inside(row_));
            const A area = static_cast<A>(job_.rows.full * job_.cols.full);
            for (std::int64_t i = 0; i < n; ++i)
                adjusted_[i] = static_cast<A>(adjusted_[i] + constant_ * (area - rows * inside_[first + i]));
        }
        return adjusted_.data();
    }

  private:
    static constexpr std::int64_t lead = 16;  ///< so that vectors of the tile lie in lines of the cache
    A* windows() const { return windows_.data() + lead; }

    void find_what_lies_beyond() {
        const window_axis& axis = job_.cols;
        beyond_ = inside_.data() != nullptr || axis.reduced();
        if (!beyond_) return;
        add_.fill(0);
        if (axis.repeats > 0) {
            kernels_.total(add_.data(), x_, axis.extent, channels_);
            for (std::int64_t k = 0; k < channels_; ++k) {
                A& a = add_[static_cast<std::size_t>(k)];
                a = static_cast<A>(a * static_cast<A>(axis.repeats));
                // Of which an edge that is repeated less often has too much.
                for (const std::int64_t i : {std::int64_t{0}, axis.extent - 1})
                    a = static_cast<A>(a - static_cast<A>(axis.repeats - axis.repeated(i)) * x_[i * channels_ + k]);
            }
        }
        if (axis.border == border_mode::replicate)
            for (std::int64_t k = 0; k < channels_; ++k)
                add_[static_cast<std::size_t>(k)] =
                    static_cast<A>(static_cast<A>(axis.edge_before) * x_[k] +
                                   static_cast<A>(axis.edge_after) * x_[(axis.extent - 1) * channels_ + k]);
    }

    const row_job& job_;
    std::int64_t channels_;
    A constant_;
    const window_kernels<A>& kernels_;
    work_buffer<A> windows_;  ///< the last window of each channel before the tile, then the tile
    work_buffer<A> adjusted_, inside_;
    A* x_ = nullptr;
    std::int64_t row_ = 0;
    bool beyond_ = false;
    std::array<A, 4> add_ = {};
};

/// What the windows of a row divide by, along the row: one count per element.
template <typename A>
work_buffer<A> column_counts(const row_job& job) {
    const std::int64_t channels = job.shape.channels;
    work_buffer<A> counts(job.n());
    for (std::int64_t i = 0; i < job.n(); ++i) counts[i] = static_cast<A>(job.cols.count(i / channels));
    return counts;
}

/// A border's constant as it enters the sums.
template <typename Pixel>
std::int64_t stored_constant(const row_job& job) {
    return job.rows.border == border_mode::constant
               ? static_cast<std::int64_t>(job.border_value) + stored_as<Pixel>::offset
               : 0;
}

/// The largest window whose sums of `Pixel` values fit the arithmetic of 32-bit sums: below 2^31, with half a window on
/// top (row_kernels_impl.hpp, quotient).
template <typename Pixel>
constexpr std::int64_t largest_32_bit_window = sizeof(Pixel) == 1 ? (std::int64_t{1} << 23) : 32767;

/// consume(row, first, n, windows, rows_in_window) for every tile of every row of the band: the windows of elements
/// first .. first + n - 1.
template <typename Pixel, typename A, typename Consume>
void integer_sums(const row_job& job, const band& b, Consume&& consume) {
    image_rows<typename stored_as<Pixel>::type> rows(job, b.plane);
    column_sums<Pixel, A, false> sums(job, rows);
    row_windows<A> windows(job, static_cast<A>(stored_constant<Pixel>(job)));
    for (std::int64_t row = b.first; row < b.end; ++row) {
        if (row == b.first)
            sums.start(row);
        else
            sums.advance(row);
        windows.start(sums.data(), row);
        for (std::int64_t first = 0; first < job.n(); first += tile) {
            const std::int64_t n = std::min(tile, job.n() - first);
            consume(row, first, n, windows.next(first, n), static_cast<A>(job.rows.count(row)));
        }
    }
}

/// The largest window whose numerator of a variance fits 64 bits, with n^2 below 2^48.
template <typename Pixel>
constexpr std::int64_t largest_narrow_window = sizeof(Pixel) == 1 ? (std::int64_t{1} << 24) - 1 : 65537;

/// consume(row, first, n, moment_rows) for every tile of every row of the band. choose(moment_kernels) says what is
/// made of sums; the numerator of the variance is exact.
template <typename Pixel, typename S, typename Q, typename Choose, typename Target, typename Consume>
void integer_moments_as(const row_job& job, const band& b, Choose&& choose, Target&& target, Consume&& consume) {
    const auto constant = static_cast<u64>(stored_constant<Pixel>(job));
    image_rows<typename stored_as<Pixel>::type> rows(job, b.plane);
    column_sums<Pixel, S, false> sums(job, rows);
    column_sums<Pixel, Q, true> squares(job, rows);
    row_windows<S> sum_windows(job, static_cast<S>(constant));
    row_windows<Q> square_windows(job, static_cast<Q>(constant * constant));
    const work_buffer<S> counts = column_counts<S>(job);

    const auto& kernel = choose(std::get<moment_kernels<S, Q>>(job.kernels->moment));
    const auto moments = job.largest_window <= largest_narrow_window<Pixel> ? kernel.narrow : kernel.wide;
    for (std::int64_t row = b.first; row < b.end; ++row) {
        if (row == b.first) {
            sums.start(row);
            squares.start(row);
        } else {
            sums.advance(row);
            squares.advance(row);
        }
        sum_windows.start(sums.data(), row);
        square_windows.start(squares.data(), row);
        for (std::int64_t first = 0; first < job.n(); first += tile) {
            const std::int64_t n = std::min(tile, job.n() - first);
            const auto to = target(row, first);
            moments(to.mean, to.spread, sum_windows.next(first, n), square_windows.next(first, n),
                    static_cast<S>(job.rows.count(row)), counts.data() + first,
                    static_cast<S>(stored_as<Pixel>::offset), n);
            consume(row, first, n, to);
        }
    }
}

template <typename Pixel, typename Choose, typename Target, typename Consume>
void integer_moments(const row_job& job, const band& b, Choose&& choose, Target&& target, Consume&& consume) {
    // 32-bit sums of squares of bytes, below 2^31, for windows up to 181 x 181.
    if constexpr (sizeof(Pixel) == 1)
        if (job.largest_window <= 33025) return integer_moments_as<Pixel, u32, u32>(job, b, choose, target, consume);
    if (job.largest_window <= largest_32_bit_window<Pixel>)
        return integer_moments_as<Pixel, u32, u64>(job, b, choose, target, consume);
    integer_moments_as<Pixel, u64, u64>(job, b, choose, target, consume);
}

}  // namespace boxsum::filters
