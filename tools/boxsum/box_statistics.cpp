#include "box_statistics.hpp"

#include "pixels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace boxsum::cli {
namespace {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

template <typename T>
scalar integer_sum(int128 sum) {
    scalar s;
    s.type = std::is_signed_v<T> ? dtype::s64 : dtype::u64;
    if constexpr (std::is_signed_v<T>)
        s.s = static_cast<std::int64_t>(sum);
    else
        s.u = static_cast<std::uint64_t>(sum);
    return s;
}

/// Sums of integer pixels: exact, so that parts are merged by adding them.
template <typename T>
class integer_moments {
  public:
    void add_run(const T* pixel, std::int64_t count, std::int64_t step) {
        // Of a run of 2^16 pixels sum and squares of 8- and 16-bit pixels fit 64 bits, which the compiler vectorises.
        using narrow = std::conditional_t<sizeof(T) <= 2, std::int64_t, int128>;
        using narrow_square = std::conditional_t<sizeof(T) <= 2, std::uint64_t, uint128>;
        while (count > 0) {
            const std::int64_t part = std::min<std::int64_t>(count, 1 << 16);
            narrow sum = 0;
            narrow_square squares = 0;
            for (std::int64_t i = 0; i < part; ++i, pixel += step) {
                const auto x = static_cast<narrow>(*pixel);
                sum += x;
                squares += static_cast<narrow_square>(x * x);
            }
            sum_ += static_cast<int128>(sum);
            squares_ += squares;
            pixels_ += part;
            count -= part;
        }
    }

    void merge(const integer_moments& other) {
        sum_ += other.sum_;
        squares_ += other.squares_;
        pixels_ += other.pixels_;
    }

    scalar sum() const { return integer_sum<T>(sum_); }
    double mean() const {
        return static_cast<double>(static_cast<long double>(sum_) / static_cast<long double>(pixels_));
    }
    double variance() const {
        // n*S2 - S*S; beyond 128 bits (2^32 pixels of 32 bits) its parts are rounded.
        uint128 left = 0, right = 0;
        const uint128 magnitude = sum_ < 0 ? static_cast<uint128>(-sum_) : static_cast<uint128>(sum_);
        const auto n = static_cast<long double>(pixels_);
        if (__builtin_mul_overflow(squares_, static_cast<uint128>(pixels_), &left) ||
            __builtin_mul_overflow(magnitude, magnitude, &right)) {
            const auto mean = static_cast<long double>(sum_) / n;
            return static_cast<double>(std::max(0.0L, static_cast<long double>(squares_) / n - mean * mean));
        }
        return static_cast<double>(static_cast<long double>(left - right) / n / n);
    }

  private:
    int128 sum_ = 0;
    uint128 squares_ = 0;
    std::int64_t pixels_ = 0;
};

/// Sum, mean and squared deviations of pixels. long double: with an offset of 1e6 a mean in double would leave
/// deviations of 1e-10.
class float_moments {
  public:
    template <typename T>
    void add_run(const T* pixel, std::int64_t count, std::int64_t step) {
        // Differences from the first pixel are small where pixels are close to each other, and 0 where they are equal.
        const auto first = static_cast<long double>(number_of(*pixel));
        float_moments run;
        long double sum = 0, squares = 0;
        for (std::int64_t i = 0; i < count; ++i, pixel += step) {
            const auto x = static_cast<double>(number_of(*pixel));
            run.add_to_sum(x);
            const long double d = static_cast<long double>(x) - first;
            sum += d;
            squares += d * d;
        }
        run.pixels_ = count;
        run.mean_ = first + sum / static_cast<long double>(count);
        run.deviations_ = std::max(0.0L, squares - sum * (sum / static_cast<long double>(count)));
        if (std::isnan(squares)) run.deviations_ = squares;
        merge(run);
    }

    void merge(const float_moments& other) {
        add_to_sum(other.sum_);
        rest_ += other.rest_;
        if (pixels_ == 0) {
            pixels_ = other.pixels_;
            mean_ = other.mean_;
            deviations_ = other.deviations_;
            return;
        }
        const auto ours = static_cast<long double>(pixels_), theirs = static_cast<long double>(other.pixels_);
        const long double delta = other.mean_ - mean_;
        pixels_ += other.pixels_;
        mean_ += delta * (theirs / (ours + theirs));
        deviations_ += other.deviations_ + delta * delta * (ours * theirs / (ours + theirs));
    }

    scalar sum() const {
        scalar s;
        s.type = dtype::f64;
        s.f = std::isfinite(rest_) ? sum_ + rest_ : sum_;
        return s;
    }
    double mean() const {
        if (!std::isfinite(sum_) || !std::isfinite(rest_)) return sum_ / static_cast<double>(pixels_);
        const long double exact = static_cast<long double>(sum_) + static_cast<long double>(rest_);
        return static_cast<double>(exact / static_cast<long double>(pixels_));
    }
    double variance() const {
        const long double v = deviations_ / static_cast<long double>(pixels_);
        return std::isfinite(v) ? static_cast<double>(v) : std::numeric_limits<double>::quiet_NaN();
    }

  private:
    /// Knuth's TwoSum: rest_ collects what rounding loses.
    void add_to_sum(double x) {
        const double sum = sum_ + x, part = sum - sum_;
        rest_ += (sum_ - (sum - part)) + (x - part);
        sum_ = sum;
    }

    double sum_ = 0, rest_ = 0;
    long double mean_ = 0, deviations_ = 0;
    std::int64_t pixels_ = 0;
};

/// 64-bit integers: sums are exact, squares would not fit.
template <typename T>
class long_moments {
  public:
    void add_run(const T* pixel, std::int64_t count, std::int64_t step) {
        deviations_.add_run(pixel, count, step);
        for (std::int64_t i = 0; i < count; ++i, pixel += step) sum_ += static_cast<int128>(*pixel);
        pixels_ += count;
    }
    void merge(const long_moments& other) {
        deviations_.merge(other.deviations_);
        sum_ += other.sum_;
        pixels_ += other.pixels_;
    }
    scalar sum() const { return integer_sum<T>(sum_); }
    double mean() const {
        return static_cast<double>(static_cast<long double>(sum_) / static_cast<long double>(pixels_));
    }
    double variance() const { return deviations_.variance(); }

  private:
    float_moments deviations_;
    int128 sum_ = 0;
    std::int64_t pixels_ = 0;
};

template <typename T>
using moments_of = std::conditional_t<!std::is_integral_v<T>, float_moments,
                                      std::conditional_t<sizeof(T) == 8, long_moments<T>, integer_moments<T>>>;

/// Moments of tiles of 8 x 8 and 64 x 64 pixels of the part of an image that boxes lie in.
template <typename T>
class tiled_channel {
  public:
    using moments = moments_of<T>;

    tiled_channel(const image& source, std::int64_t channel) : view_(source.view), channel_(channel) {
        levels_[0].side = 64;
        levels_[1].side = 8;
    }

    /// Sums up the tiles that lie in `part`, whole ones only.
    void make_tiles(const box& part) {
        for (level& l : levels_) {
            l.row = (part.row + l.side - 1) / l.side;
            l.col = (part.col + l.side - 1) / l.side;
            l.rows = std::max<std::int64_t>(0, (part.row + part.rows) / l.side - l.row);
            l.cols = std::max<std::int64_t>(0, (part.col + part.cols) / l.side - l.col);
        }
        for (std::size_t n = levels_.size(); n-- > 0;) {  // the smaller tiles first: the larger are made of them
            level& l = levels_[n];
            l.tiles.resize(static_cast<std::size_t>(l.rows * l.cols));
            for (std::int64_t r = 0; r < l.rows; ++r)
                for (std::int64_t c = 0; c < l.cols; ++c)
                    add({(l.row + r) * l.side, (l.col + c) * l.side, l.side, l.side}, n + 1,
                        l.tiles[static_cast<std::size_t>(r * l.cols + c)]);
        }
    }

    moments of(const box& b) const {
        moments result;
        add(b, 0, result);
        return result;
    }

  private:
    struct level {
        std::int64_t side = 0;
        std::int64_t row = 0, col = 0, rows = 0, cols = 0;  // of tiles
        std::vector<moments> tiles;
    };

    /// Adds a box from level n of tiles on, the largest first; behind the last level there are pixels.
    void add(const box& b, std::size_t n, moments& result) const {
        if (b.rows <= 0 || b.cols <= 0) return;
        if (n == levels_.size()) {
            const std::int64_t step = view_.shape.channels;
            for (std::int64_t r = b.row; r < b.row + b.rows; ++r)
                result.add_run(row_as<T>(view_, r) + b.col * step + channel_, b.cols, step);
            return;
        }
        const level& l = levels_[n];
        const std::int64_t first_row = std::max(l.row, (b.row + l.side - 1) / l.side);
        const std::int64_t first_col = std::max(l.col, (b.col + l.side - 1) / l.side);
        const std::int64_t end_row = std::min(l.row + l.rows, (b.row + b.rows) / l.side);
        const std::int64_t end_col = std::min(l.col + l.cols, (b.col + b.cols) / l.side);
        if (first_row >= end_row || first_col >= end_col) return add(b, n + 1, result);
        for (std::int64_t r = first_row - l.row; r < end_row - l.row; ++r)
            for (std::int64_t c = first_col - l.col; c < end_col - l.col; ++c)
                result.merge(l.tiles[static_cast<std::size_t>(r * l.cols + c)]);
        const std::int64_t top = first_row * l.side, bottom = end_row * l.side;
        const std::int64_t left = first_col * l.side, right = end_col * l.side;
        add({b.row, b.col, top - b.row, b.cols}, n + 1, result);
        add({bottom, b.col, b.row + b.rows - bottom, b.cols}, n + 1, result);
        add({top, b.col, bottom - top, left - b.col}, n + 1, result);
        add({top, right, bottom - top, b.col + b.cols - right}, n + 1, result);
    }

    const_any_view view_;
    std::int64_t channel_;
    std::array<level, 2> levels_;
};

}  // namespace

box_extent extent_of(std::span<const box> boxes) {
    box_extent extent;
    for (const box& b : boxes) {
        box& a = extent.around;
        if (extent.pixels == 0) a = b;
        const std::int64_t bottom = std::max(a.row + a.rows, b.row + b.rows);
        const std::int64_t right = std::max(a.col + a.cols, b.col + b.cols);
        a.row = std::min(a.row, b.row);
        a.col = std::min(a.col, b.col);
        a.rows = bottom - a.row;
        a.cols = right - a.col;
        extent.pixels += static_cast<double>(b.rows) * static_cast<double>(b.cols);
    }
    return extent;
}

box_statistics statistics_of_boxes(const image& source, std::int64_t channel, std::span<const box> boxes) {
    box_statistics result;
    const box_extent extent = extent_of(boxes);
    const double around = static_cast<double>(extent.around.rows) * static_cast<double>(extent.around.cols);
    visit_type(source.view.shape.type, [&]<typename T>(std::type_identity<T>) {
        tiled_channel<T> pixels(source, channel);
        if (extent.pixels > around) pixels.make_tiles(extent.around);
        for (const box& b : boxes) {
            const auto moments = pixels.of(b);
            result.sums.push_back(moments.sum());
            result.means.push_back(moments.mean());
            result.variances.push_back(moments.variance());
        }
    });
    return result;
}

}  // namespace boxsum::cli
