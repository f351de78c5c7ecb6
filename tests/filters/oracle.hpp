#pragma once

#include <boxsum/filters.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

/// The definitions of filters.hpp, pixel by pixel in wide types, and what compares results with them. Shares nothing
/// with the library's filters.
namespace boxsum::oracle {

/// Whether this is compiled with a sanitizer of addresses. Those look at where values are, not at what they are: tests
/// then go through fewer values, and through every place.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BOXSUM_ORACLE_SANITIZED
#endif
#endif
#if defined(BOXSUM_ORACLE_SANITIZED) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// Ways to get a filter wrong. The tests show that the comparison rejects each.
enum class fault {
    none,
    one_column_more,  ///< the window reaches one column too far to the right
    one_row_less,     ///< ... and one row too short at the bottom
    axes_swapped,
    sides_swapped,      ///< left for right
    edge_not_repeated,  ///< reflect as cb|abc (OpenCV's reflect 101)
    full_count,         ///< shrink, but divided by the full window
    value_forgotten,    ///< constant taken as 0
    truncated,          ///< integers rounded down
    half_to_even,       ///< integers rounded half to even
    sample_variance,    ///< divided by n - 1
    channels_mixed,     ///< every channel from channel 0
};

struct bordered_window {
    boxsum::window reach;
    border_mode border = border_mode::shrink;
    double value = 0;
    rounding_mode rounding = rounding_mode::half_up;
};

/// An image in memory of its own: rows further apart than they must be, guard bytes in between.
template <typename T>
class picture {
  public:
    picture(std::int64_t planes, std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t gap = 0)
        : row_stride_((cols * channels + gap) * static_cast<std::int64_t>(sizeof(T))),
          plane_stride_(rows * row_stride_ + gap * static_cast<std::int64_t>(sizeof(T))),
          memory_(static_cast<std::size_t>(planes * plane_stride_), std::byte{0xa5}),
          view_(reinterpret_cast<T*>(memory_.data()), rows, cols, row_stride_, channels, planes, plane_stride_) {}
    picture(const picture&) = delete;

    const image_view<T>& view() const { return view_; }

    template <typename F>
    void fill(F&& value) {
        for (std::int64_t p = 0; p < view_.planes(); ++p)
            for (std::int64_t r = 0; r < view_.rows(); ++r)
                for (std::int64_t c = 0; c < view_.cols(); ++c)
                    for (std::int64_t k = 0; k < view_.channels(); ++k)
                        view_(r, c, k, p) = static_cast<T>(value(p, r, c, k));
    }

    /// Whether the bytes that belong to no pixel are as they were.
    bool guards_intact() const {
        const auto used = static_cast<std::size_t>(view_.cols() * view_.channels()) * sizeof(T);
        std::size_t at = 0;
        for (std::int64_t p = 0; p < view_.planes(); ++p)
            for (std::int64_t r = 0; r < view_.rows(); ++r) {
                const auto begin = static_cast<std::size_t>(p * plane_stride_ + r * row_stride_);
                for (; at < begin; ++at)
                    if (memory_[at] != std::byte{0xa5}) return false;
                at = begin + used;
            }
        for (; at < memory_.size(); ++at)
            if (memory_[at] != std::byte{0xa5}) return false;
        return true;
    }

  private:
    std::int64_t row_stride_, plane_stride_;
    std::vector<std::byte> memory_;
    image_view<T> view_;
};

/// Full range of the type, reproducible.
template <typename T>
void fill_random(picture<T>& image, unsigned seed) {
    std::mt19937_64 random(seed);
    image.fill([&](auto...) {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(random());
        else
            return static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-52 - 0.5);
    });
}

/// How often each sample of an axis lies in the window around `at` (reflections found by bouncing, one at a time), and
/// how many places of the window lie beyond the image.
struct multiplicities {
    std::vector<std::int64_t> times;
    std::int64_t beyond = 0;
    std::int64_t first = 0, end = 0;  ///< of the samples that the window has
};

inline multiplicities along(std::int64_t extent, std::int64_t at, std::int64_t before, std::int64_t after,
                            border_mode border, fault wrong) {
    multiplicities m;
    m.times.resize(static_cast<std::size_t>(extent));
    for (std::int64_t i = at - before; i <= at + after; ++i) {
        std::int64_t j = i;
        if (border == border_mode::replicate) j = j < 0 ? 0 : j >= extent ? extent - 1 : j;
        if (border == border_mode::wrap) j = ((i % extent) + extent) % extent;
        if (border == border_mode::mirror && extent == 1) j = 0;
        if (border == border_mode::reflect || border == border_mode::mirror) {
            const bool once = border == border_mode::mirror || (wrong == fault::edge_not_repeated && extent > 1);
            const std::int64_t edge = once ? 0 : 1;
            while (j < 0 || j >= extent) j = j < 0 ? -edge - j : 2 * extent - 2 + edge - j;
        }
        if (j < 0 || j >= extent)
            ++m.beyond;
        else
            ++m.times[static_cast<std::size_t>(j)];
    }
    for (m.end = extent; m.end > 0 && m.times[static_cast<std::size_t>(m.end - 1)] == 0;) --m.end;
    while (m.first < m.end && m.times[static_cast<std::size_t>(m.first)] == 0) ++m.first;
    return m;
}

/// Sums over one window: exact for integers, long double for floats.
template <typename T>
struct window_sums {
    __extension__ typedef __int128 int128;
    using wide = std::conditional_t<std::is_integral_v<T>, int128, long double>;
    wide n = 0, sum = 0, squares = 0;
    long double magnitude = 0;  ///< sum of |x|
    bool whole_window = false;

    long double mean() const { return static_cast<long double>(sum) / static_cast<long double>(n); }
};

template <typename T>
class filter {
  public:
    filter(const image_view<const T>& image, const bordered_window& w, fault wrong = fault::none)
        : image_(image), window_(w), wrong_(wrong) {
        boxsum::window reach = w.reach;
        if (wrong == fault::axes_swapped) {
            std::swap(reach.above, reach.left);
            std::swap(reach.below, reach.right);
        }
        if (wrong == fault::sides_swapped) std::swap(reach.left, reach.right);
        if (wrong == fault::one_row_less) --reach.below;
        if (wrong == fault::one_column_more) ++reach.right;
        for (std::int64_t r = 0; r < image.rows(); ++r)
            rows_.push_back(along(image.rows(), r, reach.above, reach.below, w.border, wrong));
        for (std::int64_t c = 0; c < image.cols(); ++c)
            cols_.push_back(along(image.cols(), c, reach.left, reach.right, w.border, wrong));
    }

    /// Kept, as several results of a window are made of them.
    const window_sums<T>& sums(std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) const {
        if (known_.empty())
            known_.resize(
                static_cast<std::size_t>(image_.planes() * image_.rows() * image_.cols() * image_.channels()));
        const std::int64_t at = ((p * image_.rows() + r) * image_.cols() + c) * image_.channels() + k;
        window_sums<T>& s = known_[static_cast<std::size_t>(at)];
        if (s.n == 0) s = sum(r, c, k, p);
        return s;
    }

    /// Exactly what filters.hpp promises for integer images.
    double mean(const window_sums<T>& s) const { return static_cast<double>(s.sum) / static_cast<double>(s.n); }

    T rounded(const window_sums<T>& s) const {
        using wide = typename window_sums<T>::wide;
        static_assert(std::is_integral_v<T>);
        const bool down = wrong_ == fault::truncated || window_.rounding == rounding_mode::floor;
        const wide twice = 2 * s.sum + (down ? wide{0} : s.n), n2 = 2 * s.n;
        wide q = twice / n2;
        if (q * n2 > twice) --q;
        if (wrong_ == fault::half_to_even && q * n2 == twice && (q & 1) != 0) --q;
        return static_cast<T>(q);
    }

    double variance(const window_sums<T>& s) const {
        const double n = static_cast<double>(s.n);
        const double numerator = static_cast<double>(s.n * s.squares - s.sum * s.sum);
        return numerator / (wrong_ == fault::sample_variance ? n * (n - 1) : n * n);
    }

    /// The variance of a floating image by two passes.
    long double variance_in_two_passes(std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p,
                                       const window_sums<T>& s) const {
        const multiplicities &vertical = rows_[static_cast<std::size_t>(r)],
                             &horizontal = cols_[static_cast<std::size_t>(c)];
        const long double m = s.mean();
        long double total = 0, count = 0;
        for (std::int64_t i = vertical.first; i < vertical.end; ++i)
            for (std::int64_t j = horizontal.first; j < horizontal.end; ++j) {
                const long double times = static_cast<long double>(vertical.times.data()[i]) *
                                          static_cast<long double>(horizontal.times.data()[j]);
                if (times == 0) continue;
                const long double d = static_cast<long double>(image_(i, j, k, p)) - m;
                total += times * d * d;
                count += times;
            }
        const long double d = static_cast<long double>(static_cast<T>(window_.value)) - m;
        return (total + (s.n - count) * d * d) / s.n;
    }

    const image_view<const T>& image() const { return image_; }

  private:
    window_sums<T> sum(std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) const {
        using wide = typename window_sums<T>::wide;
        const multiplicities &vertical = rows_[static_cast<std::size_t>(r)],
                             &horizontal = cols_[static_cast<std::size_t>(c)];
        if (wrong_ == fault::channels_mixed) k = 0;
        window_sums<T> s;
        const auto add = [&](wide times, T x) {
            s.n += times;
            s.sum += times * static_cast<wide>(x);
            s.squares += times * static_cast<wide>(x) * static_cast<wide>(x);
            s.magnitude += static_cast<long double>(times) * std::abs(static_cast<long double>(x));
        };
        wide places_r = 0, places_c = 0;
        for (const std::int64_t t : vertical.times) places_r += t;
        for (const std::int64_t t : horizontal.times) places_c += t;
        for (std::int64_t i = vertical.first; i < vertical.end; ++i) {
            const std::int64_t rows = vertical.times.data()[i];
            if (rows == 0) continue;
            for (std::int64_t j = horizontal.first; j < horizontal.end; ++j)
                if (const std::int64_t cols = horizontal.times.data()[j]; cols != 0)
                    add(static_cast<wide>(rows) * static_cast<wide>(cols), image_(i, j, k, p));
        }
        const wide full = (places_r + vertical.beyond) * (places_c + horizontal.beyond);
        if (window_.border == border_mode::constant && full > s.n)
            add(full - s.n, wrong_ == fault::value_forgotten ? T{0} : static_cast<T>(window_.value));
        if (wrong_ == fault::full_count) s.n = full;
        return s;
    }

    image_view<const T> image_;
    bordered_window window_;
    fault wrong_;
    std::vector<multiplicities> rows_, cols_;
    mutable std::vector<window_sums<T>> known_;
};

/// The largest deviation and smallest pixel of a channel, for Wolf.
struct extremes {
    double largest_deviation = 0;
    double smallest_pixel = std::numeric_limits<double>::infinity();
};

/// T of a pixel x in a window of mean m and deviation s. Its exp is the standard library's.
inline double threshold_of(threshold_method method, double k, double range, double x, double m, double s,
                           const extremes& e) {
    switch (method) {
        case threshold_method::bradley:
            return m * (1 - k);
        case threshold_method::niblack:
            return m + k * s;
        case threshold_method::sauvola:
            return m * (1 + k * (s / range - 1));
        case threshold_method::nick:
            return m + k * std::sqrt(s * s + m * m);
        case threshold_method::singh: {
            const double d = std::min(std::abs(x - m), 2 * range * 254 / 255);
            return m * (1 + k * (d / (2 * range - d) - 1));
        }
        case threshold_method::phansalkar:
            return m * (1 + 2 * std::exp(-10 / (2 * range) * m) + k * (s / range - 1));
        case threshold_method::wolf:
            break;
    }
    return m - k * (1 - (e.largest_deviation > 0 ? s / e.largest_deviation : 0)) * (m - e.smallest_pixel);
}

/// Calls f(r, c, k, p) for every element of a view.
template <typename View, typename F>
void each(const View& v, F&& f) {
    for (std::int64_t p = 0; p < v.planes(); ++p)
        for (std::int64_t r = 0; r < v.rows(); ++r)
            for (std::int64_t c = 0; c < v.cols(); ++c)
                for (std::int64_t k = 0; k < v.channels(); ++k) f(r, c, k, p);
}

/// "" when same(expected, actual) everywhere, else the first element where it is not. expect(r, c, k, p) gives what is
/// expected.
template <typename T, typename Expect, typename Same>
std::string first_difference(const image_view<T>& actual, Expect&& expect, Same&& same) {
    std::string text;
    each(actual, [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
        if (!text.empty()) return;
        const auto expected = expect(r, c, k, p);
        if (same(expected, actual(r, c, k, p))) return;
        std::ostringstream out;
        out.precision(17);
        out << "at plane " << p << ", row " << r << ", col " << c << ", channel " << k << ": " << +actual(r, c, k, p)
            << ", expected " << +expected;
        text = out.str();
    });
    return text;
}

template <typename T, typename Expect>
std::string first_difference(const image_view<T>& actual, Expect&& expect) {
    return first_difference(actual, expect, [](auto a, auto b) { return a == b || (a != a && b != b); });
}

}  // namespace boxsum::oracle
