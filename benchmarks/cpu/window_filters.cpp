#include "cpu/window_filters.hpp"

#include "measure/host_data.hpp"
#include "measure/rounds.hpp"
#if defined(BOXSUM_BENCH_OPENCV)
#include "competitors/opencv_windows.hpp"
#endif

#include <boxsum/filters.hpp>
#include <boxsum/memory.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace boxsum::bench {
namespace {

constexpr std::array<std::int64_t, 4> radii{3, 15, 100, 300};
using marks = std::array<double, radii.size()>;

/// What a filter is to reach, by radius; 0: no mark. Of Wolf's, which takes two passes, twice Sauvola's copies.
struct goal {
    marks copies{}, speedup{};
};

enum class filter { mean, bradley, sauvola, wolf, deviation, masked_mean, masked_deviation };

const char* name_of(filter f) {
    constexpr const char* names[] = {"box mean",
                                     "Bradley",
                                     "Sauvola",
                                     "Wolf",
                                     "mean and deviation",
                                     "box mean, mask, count",
                                     "mean and deviation, mask, count"};
    return names[static_cast<std::size_t>(f)];
}

bool is_masked(filter f) {
    return f == filter::masked_mean || f == filter::masked_deviation;
}
bool is_threshold(filter f) {
    return f == filter::bradley || f == filter::sauvola || f == filter::wolf;
}
bool has_spread(filter f) {
    return f == filter::deviation || f == filter::masked_deviation;
}

/// Pixels, a mask, and room for all results of n x n pixels.
template <typename T>
struct images {
    explicit images(std::int64_t extent) : n(extent) {
        memory_pool& pool = memory_pool::shared();
        const auto room = [&](std::size_t element) {
            host_buffer b = pool.acquire(static_cast<std::size_t>(n * n) * element);
            std::memset(b.data(), 0, b.size());
            return b;
        };
        pixels = room(sizeof(T));
        fill_random(pixels.data(), dtype_of<T>, n * n);
        mask = room(1);
        fill_random(mask.data(), dtype::u8, n * n, 2);
        for (std::int64_t i = 0; i < n * n; ++i) static_cast<std::uint8_t*>(mask.data())[i] &= 1;
        result = room(std::max(sizeof(T), sizeof(float)));
        deviation = room(sizeof(float));
        count = room(sizeof(std::uint32_t));
    }

    view_shape shape(dtype type) const { return aligned_shape(type, n, n, 1); }
    const_any_view image() const { return {pixels.data(), shape(dtype_of<T>)}; }

    std::int64_t n;
    host_buffer pixels, mask, result, deviation, count;
};

/// What counts in a window: exact sums of integers; of floats in [0, 1), sums that double keeps to some 2^-30.
template <typename T>
struct window_sums {
    using sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    sum n, s, squares;

    double mean() const { return static_cast<double>(s) / static_cast<double>(n); }
    double variance() const {
        if constexpr (std::is_same_v<T, std::uint8_t>)  // n * squares fits
            return static_cast<double>(n * squares - s * s) / (static_cast<double>(n) * static_cast<double>(n));
        return std::max(0.0, static_cast<double>(squares) / static_cast<double>(n) - mean() * mean());
    }
};

/// Calls f(pixel's place, its window's sums) for every pixel: sums that slide down the columns and along the row.
template <typename T, typename F>
void for_each_window(const images<T>& in, bool masked, std::int64_t radius, F&& f) {
    using sums = window_sums<T>;
    const auto* const x = static_cast<const T*>(in.pixels.data());
    const auto* const mask = static_cast<const std::uint8_t*>(in.mask.data());
    std::vector<sums> columns(static_cast<std::size_t>(in.n), sums{});
    const auto add_row = [&](std::int64_t row, int sign) {
        if (row < 0 || row >= in.n) return;
        for (std::int64_t c = 0; c < in.n; ++c) {
            const std::int64_t i = row * in.n + c;
            if (masked && mask[i] == 0) continue;
            sums& column = columns[static_cast<std::size_t>(c)];
            const auto v = static_cast<typename sums::sum>(x[i]);
            column.n += static_cast<typename sums::sum>(sign);
            column.s += static_cast<typename sums::sum>(sign) * v;
            column.squares += static_cast<typename sums::sum>(sign) * v * v;
        }
    };
    for (std::int64_t row = 0; row < radius; ++row) add_row(row, 1);
    for (std::int64_t row = 0; row < in.n; ++row) {
        add_row(row + radius, 1);
        add_row(row - radius - 1, -1);
        sums w{};
        const auto add_column = [&](std::int64_t c, int sign) {
            if (c < 0 || c >= in.n) return;
            const sums& column = columns[static_cast<std::size_t>(c)];
            w.n += static_cast<typename sums::sum>(sign) * column.n;
            w.s += static_cast<typename sums::sum>(sign) * column.s;
            w.squares += static_cast<typename sums::sum>(sign) * column.squares;
        };
        for (std::int64_t c = 0; c < radius; ++c) add_column(c, 1);
        for (std::int64_t c = 0; c < in.n; ++c) {
            add_column(c + radius, 1);
            add_column(c - radius - 1, -1);
            f(row * in.n + c, w);
        }
    }
}

/// `slack`: what sums that slid may have lost.
bool is_close(double got, double wanted, double slack = 0) {
    return std::abs(got - wanted) <= 0x1p-21 * std::abs(wanted) + slack;
}

template <typename T>
bool is_right(const images<T>& in, filter f, std::int64_t radius) {
    const auto* const x = static_cast<const T*>(in.pixels.data());
    const auto* const result = static_cast<const T*>(in.result.data());
    const auto* const means = static_cast<const float*>(in.result.data());
    const auto* const deviations = static_cast<const float*>(in.deviation.data());
    const auto* const counts = static_cast<const std::uint32_t*>(in.count.data());
    double largest = 0, smallest = 255;  // deviation and pixel, for Wolf's threshold
    if (f == filter::wolf)
        for_each_window(in, false, radius, [&](std::int64_t i, const window_sums<T>& w) {
            largest = std::max(largest, w.variance());
            smallest = std::min(smallest, static_cast<double>(x[i]));
        });
    largest = std::sqrt(largest);
    std::int64_t wrong = 0;
    for_each_window(in, is_masked(f), radius, [&](std::int64_t i, const window_sums<T>& w) {
        if (is_masked(f) && static_cast<double>(counts[i]) != static_cast<double>(w.n)) ++wrong;
        if (w.n == 0) return;
        bool right = true;
        const double m = w.mean();
        if (is_threshold(f)) {
            const double s = f == filter::bradley ? 0 : std::sqrt(w.variance());
            const double limit = f == filter::bradley   ? m * (1 - 0.15)
                                 : f == filter::sauvola ? m * (1 + 0.2 * (s / 127.5 - 1))
                                                        : m - 0.5 * (1 - s / largest) * (m - smallest);
            const double above = static_cast<double>(x[i]) - limit;
            right = static_cast<double>(result[i]) == (above > 0 ? 255 : 0) || std::abs(above) < 1e-9;
        } else if (has_spread(f)) {
            const auto deviation = static_cast<double>(deviations[i]);
            right = is_close(static_cast<double>(means[i]), m) && is_close(deviation * deviation, w.variance(), 1e-10);
        } else if constexpr (std::is_integral_v<T>) {
            right = static_cast<std::int64_t>(result[i]) == (2 * w.s + w.n) / (2 * w.n);
        } else {
            right = is_close(static_cast<double>(result[i]), m);
        }
        wrong += right ? 0 : 1;
    });
    return wrong == 0;
}

template <typename T>
window_time time_filter(const images<T>& in, filter f, std::int64_t radius, int rounds) {
    const filter_options options{.window = window_radius(radius), .threads = 1};
    const const_any_view image = in.image();
    const any_view result{in.result.data(), in.shape(is_threshold(f) ? dtype::u8
                                                     : has_spread(f) ? dtype::f32
                                                                     : dtype_of<T>)};
    const any_view deviation{in.deviation.data(), in.shape(dtype::f32)};
    const any_view count{is_masked(f) ? in.count.data() : nullptr, in.shape(dtype::u32)};
    filter_inputs inputs{.image = image};
    if (is_masked(f)) inputs.mask = {in.mask.data(), in.shape(dtype::u8)};
    const auto run = [&] {
        if (is_threshold(f)) {
            const threshold_method method = f == filter::bradley   ? threshold_method::bradley
                                            : f == filter::sauvola ? threshold_method::sauvola
                                                                   : threshold_method::wolf;
            adaptive_threshold(inputs, {result}, {.method = method}, options);
        } else if (has_spread(f)) {
            local_statistics(inputs, {.mean = result, .deviation = deviation, .count = count}, options);
        } else {
            box_filter(inputs, {result, count}, options);
        }
    };
    const auto bytes_of = [&](const view_shape& s) { return static_cast<std::size_t>(in.n * in.n) * size_of(s.type); };
    std::size_t moved = bytes_of(image.shape) + bytes_of(result.shape);
    if (is_masked(f)) moved += bytes_of(inputs.mask.shape) + bytes_of(count.shape);
    if (has_spread(f)) moved += bytes_of(deviation.shape);

    window_time time;
    time.filter = name_of(f) + std::string(" ") + std::string(boxsum::name_of(dtype_of<T>));
    time.radius = radius;
    // Slow ones: fewer rounds, and turns that open at once, as what lies in the caches is a small part of them.
    const bool slow = host_us(run) > 15000;
    time.correct = is_right(in, f, radius);

    const host_buffer from = memory_pool::shared().acquire(moved / 2), to = memory_pool::shared().acquire(moved / 2);
    std::memset(from.data(), 1, from.size());
    std::vector<contestant> candidates{host_contestant("boxsum", run, 1),
                                       host_contestant(
                                           "copy", [&] { std::memcpy(to.data(), from.data(), moved / 2); }, 1)};
#if defined(BOXSUM_BENCH_OPENCV)
    std::function<void()> peer;
    if (f == filter::mean) {
        time.peer = "blur";
        peer = [&] { run_opencv_blur(image, result, radius); };
    } else if (f == filter::bradley || f == filter::sauvola) {
        time.peer = "adaptiveThreshold, of means";
        peer = [&] { run_opencv_threshold(image, result, radius); };
    } else if (f == filter::deviation) {
        time.peer = "boxFilter, sqrBoxFilter";
        peer = [&] { run_opencv_moments(image, result, deviation, radius); };
    }
    if (peer) candidates.push_back(host_contestant(time.peer, peer, 1));
#endif
    for (contestant& c : candidates)
        if (slow) c.before = {};
    const std::vector<spread> times = race(candidates, slow ? std::min(rounds, 3) : rounds, host_us);
    time.us = times[0].median;
    time.copy_us = times[1].median;
    if (times.size() > 2) time.peer_us = times[2].median;
    return time;
}

template <typename T>
void time_filters(std::vector<window_time>& all, std::int64_t n, int rounds,
                  const std::vector<std::pair<filter, goal>>& filters) {
    const images<T> in(n);
    for (const auto& [f, wanted] : filters)
        for (std::size_t i = 0; i < radii.size(); ++i) {
            if (f == filter::masked_deviation && radii[i] != 15) continue;  // a third of a second each
            window_time time = time_filter(in, f, radii[i], rounds);
            time.target_copies = wanted.copies[i];
            time.target_speedup = time.peer.empty() ? 0 : wanted.speedup[i];
            if (is_masked(f)) {
                const std::string plain = name_of(f == filter::masked_mean ? filter::mean : filter::deviation);
                for (const window_time& other : all)
                    if (other.radius == time.radius && other.filter == plain + " " + std::string(name_of(dtype_of<T>)))
                        time.over_unmasked = time.copies() / other.copies();
                time.target_most = 1.6;
            }
            all.push_back(std::move(time));
        }
}

}  // namespace

std::vector<window_time> time_window_filters(std::int64_t n, int rounds) {
    // At 4096^2 in AVX-512, as issues have them.
    const goal mean_8u{{2.45, 2.5, 3.3, 4.9}, {3.4, 3.4, 3.1, 3.2}};
    const goal mean_32f{{1.9, 2.8, 2.8, 3.2}, {2.9, 2.1, 2.2, 2.7}};
    const goal bradley{{4.1, 4.3, 3.9, 3.9}, {3.5, 3.8, 4.1, 5.0}};
    const goal sauvola{{7.0, 7.6, 7.1, 7.1}, {2.1, 2.1, 2.2, 2.8}};
    const goal wolf{{14, 15.2, 14.2, 14.2}, {}};
    const goal deviation{{2.8, 2.8, 2.8, 3.1}, {1.9, 2.0, 2.0, 2.3}};
    std::vector<window_time> all;
    time_filters<std::uint8_t>(all, n, rounds,
                               {{filter::mean, mean_8u},
                                {filter::masked_mean, {}},
                                {filter::bradley, bradley},
                                {filter::sauvola, sauvola},
                                {filter::wolf, wolf},
                                {filter::deviation, deviation}});
    time_filters<std::uint16_t>(all, n, rounds, {{filter::mean, {}}, {filter::masked_mean, {}}});
    time_filters<float>(
        all, n, rounds,
        {{filter::mean, mean_32f}, {filter::masked_mean, {}}, {filter::deviation, {}}, {filter::masked_deviation, {}}});
    return all;
}

}  // namespace boxsum::bench
