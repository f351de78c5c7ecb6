#include "cpu/window_filters.hpp"

#include "competitors/opencv_python.hpp"
#include "cpu/instruction_set.hpp"
#include "cpu/team.hpp"
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
#include <type_traits>
#include <utility>

namespace boxsum::bench {
namespace {

constexpr std::array<std::int64_t, 4> radii{3, 15, 100, 300};
using marks = std::array<double, radii.size()>;

enum class filter {
    mean,
    bradley,
    sauvola,
    niblack,
    nick,
    singh,
    phansalkar,
    wolf,
    deviation,
    masked_mean,
    masked_bradley,
    masked_sauvola,
    masked_niblack,
    masked_deviation
};

const char* name_of(filter f) {
    constexpr const char* names[] = {"box mean",
                                     "Bradley",
                                     "Sauvola",
                                     "Niblack",
                                     "NICK",
                                     "Singh",
                                     "Phansalkar",
                                     "Wolf",
                                     "mean and deviation",
                                     "box mean, mask, count",
                                     "Bradley, mask, count",
                                     "Sauvola, mask, count",
                                     "Niblack, mask, count",
                                     "mean and deviation, mask, count"};
    return names[static_cast<std::size_t>(f)];
}

bool is_masked(filter f) {
    return f >= filter::masked_mean;
}

/// The same of all pixels.
filter unmasked(filter f) {
    switch (f) {
        case filter::masked_mean:
            return filter::mean;
        case filter::masked_bradley:
            return filter::bradley;
        case filter::masked_sauvola:
            return filter::sauvola;
        case filter::masked_niblack:
            return filter::niblack;
        case filter::masked_deviation:
            return filter::deviation;
        default:
            return f;
    }
}

bool is_threshold(filter f) {
    return unmasked(f) != filter::mean && unmasked(f) != filter::deviation;
}
bool has_spread(filter f) {
    return unmasked(f) == filter::deviation;
}

threshold_method method_of(filter f) {
    switch (unmasked(f)) {
        case filter::bradley:
            return threshold_method::bradley;
        case filter::niblack:
            return threshold_method::niblack;
        case filter::nick:
            return threshold_method::nick;
        case filter::singh:
            return threshold_method::singh;
        case filter::phansalkar:
            return threshold_method::phansalkar;
        case filter::wolf:
            return threshold_method::wolf;
        default:
            return threshold_method::sauvola;
    }
}

/// What a filter of 4096^2 pixels is to reach in AVX-512, by radius, as issues have it; 0: no mark. Of Wolf's, which
/// takes two passes, twice Sauvola's copies.
struct goal {
    marks copies{}, speedup{};
};

goal goal_of(filter f, dtype type) {
    if (type == dtype::u16) return {};
    switch (f) {
        case filter::mean:
            return type == dtype::u8 ? goal{{2.45, 2.5, 3.3, 4.9}, {3.4, 3.4, 3.1, 3.2}}
                                     : goal{{1.9, 2.8, 2.8, 3.2}, {2.9, 2.1, 2.2, 2.7}};
        case filter::bradley:
            return {{4.1, 4.3, 3.9, 3.9}, {3.5, 3.8, 4.1, 5.0}};
        case filter::sauvola:
        case filter::niblack:
        case filter::nick:
            return {{7.0, 7.6, 7.1, 7.1}, {2.1, 2.1, 2.2, 2.8}};
        case filter::wolf:
            return {{14, 15.2, 14.2, 14.2}, {}};
        case filter::deviation:
            return type == dtype::u8 ? goal{{2.8, 2.8, 2.8, 3.1}, {1.9, 2.0, 2.0, 2.3}} : goal{};
        default:
            return {};
    }
}

std::size_t place_of(std::int64_t radius) {
    return static_cast<std::size_t>(std::find(radii.begin(), radii.end(), radius) - radii.begin());
}

/// What AVX2 is to reach of these speeds.
double least_share_of_avx2() {
#if defined(__x86_64__)
    if (__builtin_cpu_is("amd")) return 0.6;
#endif
    return 0.45;
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

/// One filter of one set of images: what calls it, and what it moves.
template <typename T>
struct filter_call {
    const images<T>& in;
    filter f;
    std::int64_t radius;
    const_any_view image = in.image();
    any_view result{in.result.data(), in.shape(is_threshold(f) ? dtype::u8 : has_spread(f) ? dtype::f32 : dtype_of<T>)};
    any_view deviation{in.deviation.data(), in.shape(dtype::f32)};
    any_view count{is_masked(f) ? in.count.data() : nullptr, in.shape(dtype::u32)};

    void operator()(int threads) const {
        const filter_options options{.window = window_radius(radius), .threads = threads};
        filter_inputs inputs{.image = image};
        if (is_masked(f)) inputs.mask = {in.mask.data(), in.shape(dtype::u8)};
        if (is_threshold(f))
            adaptive_threshold(inputs, {result, count}, {.method = method_of(f)}, options);
        else if (has_spread(f))
            local_statistics(inputs, {.mean = result, .deviation = deviation, .count = count}, options);
        else
            box_filter(inputs, {result, count}, options);
    }

    std::size_t moved() const {
        const std::size_t pixel = sizeof(T) + size_of(result.shape.type) +
                                  (is_masked(f) ? 1 + sizeof(std::uint32_t) : 0) + (has_spread(f) ? sizeof(float) : 0);
        return static_cast<std::size_t>(in.n * in.n) * pixel;
    }

    std::string name() const { return name_of(f) + std::string(" ") + std::string(boxsum::name_of(dtype_of<T>)); }
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

/// A threshold that a pixel is within 1e-9 of may be told either way, unless all is `exact`: pixels that are all alike.
template <typename T>
bool is_right(const images<T>& in, filter f, std::int64_t radius, bool exact = false) {
    const auto* const x = static_cast<const T*>(in.pixels.data());
    const auto* const result = static_cast<const T*>(in.result.data());
    const auto* const means = static_cast<const float*>(in.result.data());
    const auto* const deviations = static_cast<const float*>(in.deviation.data());
    const auto* const counts = static_cast<const std::uint32_t*>(in.count.data());
    const auto* const mask = static_cast<const std::uint8_t*>(in.mask.data());
    double largest = 0, smallest = 255;  // deviation and pixel, for Wolf's threshold
    if (f == filter::wolf)
        for_each_window(in, false, radius, [&](std::int64_t i, const window_sums<T>& w) {
            largest = std::max(largest, w.variance());
            smallest = std::min(smallest, static_cast<double>(x[i]));
        });
    largest = std::sqrt(largest);
    const auto threshold = [&](double pixel, double m, double s) {
        switch (method_of(f)) {
            case threshold_method::bradley:
                return m * (1 - 0.15);
            case threshold_method::niblack:
                return m - 0.2 * s;
            case threshold_method::nick:
                return m - 0.2 * std::sqrt(s * s + m * m);
            case threshold_method::singh: {
                const double d = std::min(std::abs(pixel - m), 254.0);
                return m * (1 + 0.2 * (d / (255 - d) - 1));
            }
            case threshold_method::phansalkar:
                return m * (1 + 2 * std::exp(-10 / 255.0 * m) + 0.25 * (s / 127.5 - 1));
            case threshold_method::wolf:
                return m - 0.5 * (1 - (largest > 0 ? s / largest : 0)) * (m - smallest);
            default:
                return m * (1 + 0.2 * (s / 127.5 - 1));
        }
    };
    std::int64_t wrong = 0;
    for_each_window(in, is_masked(f), radius, [&](std::int64_t i, const window_sums<T>& w) {
        if (is_masked(f) && static_cast<double>(counts[i]) != static_cast<double>(w.n)) ++wrong;
        if (w.n == 0) return;
        bool right = true;
        const double m = w.mean();
        if (is_threshold(f) && is_masked(f) && mask[i] == 0) {
            right = result[i] == 0;
        } else if (is_threshold(f)) {
            const double s = unmasked(f) == filter::bradley ? 0 : std::sqrt(w.variance());
            const auto pixel = static_cast<double>(x[i]);
            const double above = pixel - threshold(pixel, m, s);
            right = static_cast<double>(result[i]) == (above > 0 ? 255 : 0) || (!exact && std::abs(above) < 1e-9);
        } else if (has_spread(f)) {
            // What double keeps of squares of 16 bits, and of floats.
            const double slack = std::is_same_v<T, std::uint16_t> ? 1e-3 : 1e-10;
            const auto deviation = static_cast<double>(deviations[i]);
            right = is_close(static_cast<double>(means[i]), m) && is_close(deviation * deviation, w.variance(), slack);
        } else if constexpr (std::is_integral_v<T>) {
            right = static_cast<std::int64_t>(result[i]) == (2 * w.s + w.n) / (2 * w.n);
        } else {
            right = is_close(static_cast<double>(result[i]), m);
        }
        wrong += right ? 0 : 1;
    });
    return wrong == 0;
}

/// A copy of half as many bytes as a filter moves, in parts of one thread each.
struct measured_copy {
    explicit measured_copy(std::size_t moved)
        : bytes(moved / 2), from(memory_pool::shared().acquire(bytes)), to(memory_pool::shared().acquire(bytes)) {
        std::memset(from.data(), 1, bytes);
        std::memset(to.data(), 0, bytes);
    }

    void part(int thread, int threads) const {
        const std::size_t begin = bytes * static_cast<std::size_t>(thread) / static_cast<std::size_t>(threads);
        const std::size_t end = bytes * static_cast<std::size_t>(thread + 1) / static_cast<std::size_t>(threads);
        std::memcpy(static_cast<std::byte*>(to.data()) + begin, static_cast<const std::byte*>(from.data()) + begin,
                    end - begin);
    }
    void operator()(int threads) const {
        cpu::run_team(
            threads, [](void* all, int thread, int of) { static_cast<const measured_copy*>(all)->part(thread, of); },
            const_cast<measured_copy*>(this));
    }

    std::size_t bytes;
    host_buffer from, to;
};

/// What others have of a filter.
struct other_names {
    const char* linked = "";  ///< as rows say it
    const char* newest = "";  ///< as opencv_python.py has it
};

other_names others_of(filter f) {
    switch (f) {
        case filter::mean:
            return {"blur", "blur"};
        case filter::bradley:
        case filter::sauvola:
        case filter::niblack:
        case filter::nick:
        case filter::singh:
        case filter::phansalkar:
            return {"adaptiveThreshold, of means", "adaptiveThreshold"};
        case filter::deviation:
            return {"boxFilter, sqrBoxFilter", "moments"};
        default:
            return {};
    }
}

template <typename T>
std::function<void()> peer_of([[maybe_unused]] const filter_call<T>& call) {
#if defined(BOXSUM_BENCH_OPENCV)
    if (call.f == filter::mean) return [&call] { run_opencv_blur(call.image, call.result, call.radius); };
    if (call.f == filter::deviation)
        return [&call] { run_opencv_moments(call.image, call.result, call.deviation, call.radius); };
    if (*others_of(call.f).linked != '\0')
        return [&call] { run_opencv_threshold(call.image, call.result, call.radius); };
#endif
    return {};
}

/// Medians of turns of some `round_ms`. Slow calls: fewer rounds, and turns that open at once, as what lies in the
/// caches is a small part of them.
std::vector<double> medians(std::vector<contestant> all, const filter_settings& settings, double first_us) {
    const bool slow = first_us > 15000;
    for (contestant& c : all)
        if (slow) c.before = {};
    const std::vector<spread> times =
        race(all, slow ? std::min(settings.rounds, 3) : settings.rounds, settings.newest->watch());
    std::vector<double> result;
    for (const spread& time : times) result.push_back(time.median);
    return result;
}

template <typename T>
filter_time row_of(const char* group, const filter_call<T>& call) {
    return {.group = group,
            .filter = call.name(),
            .size = call.in.n,
            .radius = call.radius,
            .instruction_set = std::string(cpu::runnable_names().front())};
}

/// Least speeds of filters of small images over OpenCV's; of those that have no other mark, 0.
double least_speedup_of_small(filter f, dtype type) {
    if (f == filter::singh || f == filter::phansalkar) return 0;
    return type == dtype::u8 ? 2 : type == dtype::f32 ? 1.5 : 0;
}

enum class beside { copy, opencv };

/// One thread, beside a copy and, if asked for, OpenCV's.
template <typename T>
filter_time time_filter(const char* group, const images<T>& in, filter f, std::int64_t radius, beside others,
                        const filter_settings& settings) {
    const filter_call<T> call{in, f, radius};
    filter_time row = row_of(group, call);
    const auto run = [&] { call(1); };
    run();
    const double first_us = host_us(run);
    row.correct = is_right(in, f, radius);
    if (!row.correct) return row;

    constexpr double round_ms = 1;
    const measured_copy copy(call.moved());
    std::vector<contestant> all{host_contestant("boxsum", run, round_ms),
                                host_contestant(
                                    "copy", [&] { copy.part(0, 1); }, round_ms)};
    const other_names names = others_of(f);
    const std::function<void()> peer = others == beside::opencv ? peer_of(call) : nullptr;
    if (peer) {
        row.peer = names.linked;
        all.push_back(host_contestant(row.peer, peer, round_ms));
    }
    if (others == beside::opencv && *names.newest != '\0' &&
        settings.newest->prepare(names.newest, std::string(boxsum::name_of(dtype_of<T>)), in.n, radius)) {
        row.newest = names.linked;
        all.push_back(settings.newest->turns(round_ms));
    }
    const std::vector<double> us = medians(std::move(all), settings, first_us);
    row.us = us[0];
    row.copy_us = us[1];
    if (peer) row.peer_us = us[2];
    if (!row.newest.empty()) row.newest_us = us.back();

    // The figures are of 4096^2.
    const bool small = in.n < 4096;
    const goal wanted = small ? goal{} : goal_of(f, dtype_of<T>);
    const std::size_t place = place_of(radius);
    const double share = row.instruction_set == "avx2" ? least_share_of_avx2() : 1;
    row.ratios.push_back({"copies", "target_copies", row.us / row.copy_us, wanted.copies[place] / share});
    if (peer)
        row.ratios.push_back({"speedup_over_opencv", "target_speedup", row.peer_us / row.us,
                              small ? least_speedup_of_small(f, dtype_of<T>) : wanted.speedup[place] * share, false});
    if (row.newest_us > 0)
        row.ratios.push_back({"speedup_over_newest", "target_newest", row.newest_us / row.us, 0, false});
    return row;
}

/// Filters of 4096^2; masked ones follow those of all pixels.
template <typename T>
void time_large(const filter_settings& settings, const images<T>& in, const std::vector<filter>& filters) {
    std::vector<filter_time> rows;
    for (const filter f : filters)
        for (const std::int64_t radius : radii) {
            // A third of a second each, and some of its cost does not depend on the radius.
            if (is_masked(f) && f != filter::masked_mean && radius != 15) continue;
            filter_time row = time_filter("filters", in, f, radius, beside::opencv, settings);
            const std::string plain = filter_call<T>{in, unmasked(f), radius}.name();
            for (const filter_time& other : rows)
                if (is_masked(f) && row.correct && other.correct && other.radius == radius && other.filter == plain)
                    row.ratios.push_back(
                        {"over_unmasked", "target_most", row.us / row.copy_us / (other.us / other.copy_us), 1.6});
            settings.take(row);
            rows.push_back(std::move(row));
        }
}

template <typename T>
void time_each(const char* group, const filter_settings& settings, const images<T>& in,
               const std::vector<filter>& filters, const std::vector<std::int64_t>& of_radii, beside others) {
    for (const filter f : filters)
        for (const std::int64_t radius : of_radii) settings.take(time_filter(group, in, f, radius, others, settings));
}

/// Two threads beside one, and beside a copy by two.
template <typename T>
void time_threads(const filter_settings& settings, const images<T>& in, const std::vector<filter>& filters) {
    constexpr int threads = 2;
    for (const filter f : filters)
        for (const std::int64_t radius : {std::int64_t{15}, std::int64_t{300}}) {
            const filter_call<T> call{in, f, radius};
            filter_time row = row_of("filters-threads", call);
            row.threads = threads;
            const auto run = [&] { call(threads); };
            run();
            const double first_us = host_us(run);
            row.correct = is_right(in, f, radius);
            if (row.correct) {
                const measured_copy copy(call.moved());
                const std::vector<double> us = medians({host_contestant("boxsum", run, 1),
                                                        host_contestant(
                                                            "one thread", [&] { call(1); }, 1),
                                                        host_contestant(
                                                            "copy", [&] { copy(threads); }, 1)},
                                                       settings, first_us);
                row.us = us[0];
                row.copy_us = us[2];
                row.ratios = {{"speedup_over_one_thread", "target_threads", us[1] / us[0], 1.8, false},
                              {"copies_by_threads", "target_copies_by_threads", us[0] / us[2], 1.3}};
            }
            settings.take(row);
        }
}

/// Pixels that are all alike, where thresholds meet ties, beside random ones.
void time_flat(const filter_settings& settings, const images<std::uint8_t>& random) {
    using enum filter;
    constexpr std::int64_t radius = 15;
    const images<std::uint8_t> flat(random.n);
    for (const auto& [pixels, value] : {std::pair{"grey", 100}, std::pair{"black", 0}}) {
        std::memset(flat.pixels.data(), value, flat.pixels.size());
        for (const filter f : {mean, bradley, sauvola, niblack, nick, singh, phansalkar, wolf, deviation}) {
            const filter_call<std::uint8_t> call{flat, f, radius}, other{random, f, radius};
            filter_time row = row_of("filters-flat", call);
            row.pixels = pixels;
            const auto run = [&] { call(1); };
            run();
            const double first_us = host_us(run);
            row.correct = is_right(flat, f, radius, true);
            if (row.correct) {
                const std::vector<double> us =
                    medians({host_contestant("boxsum", run, 1), host_contestant(
                                                                    "random", [&] { other(1); }, 1)},
                            settings, first_us);
                row.us = us[0];
                row.ratios = {{"over_random", "target_over_random", us[0] / us[1], 1.05}};
            }
            settings.take(row);
        }
    }
}

/// Only AVX2, while it lives.
struct only_avx2 {
    only_avx2() { cpu::allow_features(cpu::has_avx2); }
    only_avx2(const only_avx2&) = delete;
    only_avx2& operator=(const only_avx2&) = delete;
    ~only_avx2() { cpu::allow_features(~0U); }
};

template <typename T>
void time_type(const filter_settings& settings, const std::vector<filter>& plain, const std::vector<filter>& masked) {
    constexpr std::int64_t n = 4096;
    const auto wants = [&](const char* group) { return settings.wants(group); };
    const bool flat = wants("filters-flat") && std::is_same_v<T, std::uint8_t>;
    if (wants("filters") || wants("filters-avx2") || wants("filters-threads") || flat) {
        const images<T> in(n);
        std::vector<filter> all = plain;
        all.insert(all.end(), masked.begin(), masked.end());
        if (wants("filters")) time_large(settings, in, all);
        if (wants("filters-avx2") && (cpu::machine_features() & cpu::has_avx512) != 0) {
            const only_avx2 forced;
            time_each("filters-avx2", settings, in, plain, {radii.begin(), radii.end()}, beside::copy);
        }
        if (wants("filters-threads") && settings.most_threads > 1) time_threads(settings, in, plain);
        if constexpr (std::is_same_v<T, std::uint8_t>)
            if (flat) time_flat(settings, in);
    }
    if (wants("filters-small"))
        for (const std::int64_t small : {512, 1024}) {
            const images<T> in(small);
            std::vector<filter> with_peer = plain;
            std::erase_if(with_peer, [](filter f) { return *others_of(f).linked == '\0'; });
            time_each("filters-small", settings, in, with_peer, {3, 15, 100}, beside::opencv);
        }
}

}  // namespace

void time_window_filters(const filter_settings& settings) {
    using enum filter;
    time_type<std::uint8_t>(settings, {mean, bradley, sauvola, niblack, nick, singh, phansalkar, wolf, deviation},
                            {masked_mean, masked_bradley, masked_sauvola, masked_niblack, masked_deviation});
    time_type<std::uint16_t>(settings, {mean, deviation}, {masked_mean, masked_deviation});
    time_type<float>(settings, {mean, deviation}, {masked_mean, masked_deviation});
}

}  // namespace boxsum::bench
