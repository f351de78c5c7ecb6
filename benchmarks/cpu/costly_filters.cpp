#include "cpu/costly_filters.hpp"

#include "competitors/opencv_python.hpp"
#include "cpu/instruction_set.hpp"
#include "measure/host_data.hpp"
#include "measure/rounds.hpp"

#include <boxsum/blobs.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/guided_filter.hpp>
#include <boxsum/memory.hpp>
#include <boxsum/non_local_means.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <tuple>
#include <type_traits>
#include <utility>

namespace boxsum::bench {
namespace {

using plane = std::vector<double>;  ///< n x n

/// The place in 0 .. n - 1 that `i`, at most n beyond it, is a mirror image of, the edge repeated.
std::int64_t mirrored(std::int64_t i, std::int64_t n) {
    return i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i;
}

/// Means of windows, the border mirrored: sums that slide down the columns of what slid along the rows.
plane means_of(const plane& x, std::int64_t n, std::int64_t radius) {
    const auto at = [&](std::int64_t row, std::int64_t col) { return static_cast<std::size_t>(row * n + col); };
    const auto edge = static_cast<double>(2 * radius + 1);
    plane along(x.size()), means(x.size());
    for (std::int64_t row = 0; row < n; ++row) {
        double sum = 0;
        for (std::int64_t c = -radius - 1; c < radius; ++c) sum += x[at(row, mirrored(c, n))];
        for (std::int64_t c = 0; c < n; ++c) {
            sum += x[at(row, mirrored(c + radius, n))] - x[at(row, mirrored(c - radius - 1, n))];
            along[at(row, c)] = sum;
        }
    }
    plane sums(static_cast<std::size_t>(n));
    const auto add = [&](std::int64_t row, double sign) {
        for (std::int64_t c = 0; c < n; ++c) sums[static_cast<std::size_t>(c)] += sign * along[at(mirrored(row, n), c)];
    };
    for (std::int64_t row = -radius - 1; row < radius; ++row) add(row, 1);
    for (std::int64_t row = 0; row < n; ++row) {
        add(row + radius, 1);
        add(row - radius - 1, -1);
        for (std::int64_t c = 0; c < n; ++c) means[at(row, c)] = sums[static_cast<std::size_t>(c)] / (edge * edge);
    }
    return means;
}

template <typename F>
plane each_pixel(std::size_t pixels, F&& f) {
    plane result(pixels);
    for (std::size_t i = 0; i < pixels; ++i) result[i] = f(i);
    return result;
}

/// Solves a system of up to three equations, symmetric and positive definite, by elimination.
std::array<double, 3> solve(std::array<std::array<double, 3>, 3> m, std::array<double, 3> b, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k)
        for (std::size_t i = k + 1; i < n; ++i) {
            const double share = m[i][k] / m[k][k];
            for (std::size_t j = k; j < n; ++j) m[i][j] -= share * m[k][j];
            b[i] -= share * b[k];
        }
    for (std::size_t k = n; k-- > 0;) {
        for (std::size_t j = k + 1; j < n; ++j) b[k] -= m[k][j] * b[j];
        b[k] /= m[k][k];
    }
    return b;
}

/// The definition of guided_filter(), from means of products, which is precise enough for random pixels.
plane guided(const plane& x, const std::vector<plane>& guide, std::int64_t n, std::int64_t radius, double epsilon) {
    const std::size_t channels = guide.size(), pixels = x.size();
    const plane mean = means_of(x, n, radius);
    std::vector<plane> means, with_image;
    std::array<std::array<plane, 3>, 3> products;
    for (std::size_t i = 0; i < channels; ++i) {
        means.push_back(means_of(guide[i], n, radius));
        with_image.push_back(
            means_of(each_pixel(pixels, [&](std::size_t p) { return guide[i][p] * x[p]; }), n, radius));
        for (std::size_t j = 0; j <= i; ++j)
            products[i][j] =
                means_of(each_pixel(pixels, [&](std::size_t p) { return guide[i][p] * guide[j][p]; }), n, radius);
    }
    std::vector<plane> fits(channels + 1, plane(pixels));
    for (std::size_t p = 0; p < pixels; ++p) {
        std::array<std::array<double, 3>, 3> m{};
        std::array<double, 3> b{};
        for (std::size_t i = 0; i < channels; ++i) {
            b[i] = with_image[i][p] - means[i][p] * mean[p];
            for (std::size_t j = 0; j <= i; ++j)
                m[i][j] = m[j][i] = products[i][j][p] - means[i][p] * means[j][p] + (i == j ? epsilon : 0);
        }
        const std::array<double, 3> a = solve(m, b, channels);
        fits[channels][p] = mean[p];
        for (std::size_t i = 0; i < channels; ++i) {
            fits[i][p] = a[i];
            fits[channels][p] -= a[i] * means[i][p];
        }
    }
    plane result = means_of(fits[channels], n, radius);
    for (std::size_t i = 0; i < channels; ++i) {
        const plane slope = means_of(fits[i], n, radius);
        for (std::size_t p = 0; p < pixels; ++p) result[p] += slope[p] * guide[i][p];
    }
    return result;
}

/// Random pixels of one channel or more, side by side, and a result of one.
template <typename T>
struct random_pixels {
    random_pixels(std::int64_t extent, std::int64_t channel_count, std::uint64_t seed)
        : n(extent),
          channels(channel_count),
          memory(memory_pool::shared().acquire(static_cast<std::size_t>(n * n * channels) * sizeof(T))) {
        fill_random(memory.data(), dtype_of<T>, n * n * channels, seed);
    }

    T* data() const { return static_cast<T*>(memory.data()); }
    any_view view() const {
        return {data(), {dtype_of<T>, 1, n, n, channels, n * channels * static_cast<std::int64_t>(sizeof(T))}};
    }
    plane channel(std::int64_t c) const {
        return each_pixel(static_cast<std::size_t>(n * n), [&](std::size_t i) {
            return static_cast<double>(data()[i * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c)]);
        });
    }
    std::size_t bytes() const { return static_cast<std::size_t>(n * n * channels) * sizeof(T); }

    std::int64_t n, channels;
    host_buffer memory;
};

filter_time row_of(std::string filter, std::int64_t n, std::int64_t radius) {
    return {.group = "filters-costly",
            .filter = std::move(filter),
            .size = n,
            .radius = radius,
            .instruction_set = std::string(cpu::runnable_names().front())};
}

/// Ours, beside what the newest OpenCV has prepared, if it has.
void time_row(filter_time& row, const std::function<void()>& run, bool newest, double least_speedup,
              const filter_settings& settings) {
    std::vector<contestant> all{host_contestant("boxsum", run, 1)};
    if (newest) all.push_back(settings.newest->turns(1));
    const std::vector<spread> us = race(all, std::min(settings.rounds, 3), settings.newest->watch());
    row.us = us[0].median;
    if (!newest) return;
    row.newest_us = us[1].median;
    row.ratios.push_back({"speedup_over_newest", "target_newest", row.newest_us / row.us, least_speedup, false});
}

template <typename T>
void time_guided(const filter_settings& settings) {
    constexpr std::int64_t n = 1024;
    constexpr double epsilon = std::is_integral_v<T> ? 650.25 : 0.01;
    const random_pixels<T> image(n, 1, 1), grey(n, 1, 2), colour(n, 3, 3), result(n, 1, 4);
    struct guide_kind {
        const char* name;
        const char* newest;
        const random_pixels<T>* pixels;
    };
    const std::string type(name_of(dtype_of<T>));
    for (const guide_kind& kind :
         {guide_kind{"guided by itself ", "guidedFilterSelf", nullptr}, guide_kind{"guided ", "guidedFilter", &grey},
          guide_kind{"guided by colours ", "guidedFilterColour", &colour}})
        for (const std::int64_t radius : {3, 15, 60}) {
            filter_time row = row_of(kind.name + type, n, radius);
            guided_inputs inputs{.image = image.view()};
            if (kind.pixels) inputs.guide = kind.pixels->view();
            const auto run = [&] {
                guided_filter(inputs, {result.view()}, {.epsilon = epsilon},
                              {.window = window_radius(radius), .border = border_mode::reflect, .threads = 1});
            };
            run();
            std::vector<plane> guide;
            const random_pixels<T>& of = kind.pixels ? *kind.pixels : image;
            for (std::int64_t c = 0; c < of.channels; ++c) guide.push_back(of.channel(c));
            const plane wanted = guided(image.channel(0), guide, n, radius, epsilon);
            row.correct = true;
            for (std::size_t i = 0; i < wanted.size(); ++i) {
                const double exact = std::is_integral_v<T> ? std::clamp(wanted[i], 0.0, 255.0) : wanted[i];
                const double off = std::abs(static_cast<double>(result.data()[i]) - exact);
                row.correct = row.correct && off <= (std::is_integral_v<T> ? 0.5 + 1e-6 : 1e-6);
            }
            if (row.correct) {
                const bool newest = settings.newest->prepare(kind.newest, type, n, radius);
                if (newest) row.newest = "guidedFilter";
                time_row(row, run, newest, 4, settings);
            }
            settings.take(row);
        }
}

/// Patches of 7 x 7. Of the results 4096 are compared, of which a quarter lies at a side, as each takes 441 patches.
void time_non_local(const filter_settings& settings) {
    constexpr std::int64_t n = 512, radius = 10, patch = 3;
    const random_pixels<std::uint8_t> image(n, 1, 1), result(n, 1, 2);
    for (std::int64_t i = 0; i < n * n; ++i) image.data()[i] /= 8;  // else all weights are 0 but one
    filter_time row = row_of("non-local means 8u", n, radius);
    const auto run = [&] {
        non_local_means({image.view()}, {result.view()}, {.patch = window_radius(patch), .strength = 10},
                        {.window = window_radius(radius), .border = border_mode::reflect, .threads = 1});
    };
    run();
    const auto pixel = [&](std::int64_t r, std::int64_t c) {
        return static_cast<double>(image.data()[mirrored(r, n) * n + mirrored(c, n)]);
    };
    std::mt19937_64 random(1);
    row.correct = true;
    for (int i = 0; i < 4096; ++i) {
        const auto place = [&] { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
        const std::int64_t r = i % 4 == 0 ? place() % (radius + patch) : place(), c = place();
        double total = 0, weights = 0;
        for (std::int64_t y = r - radius; y <= r + radius; ++y)
            for (std::int64_t x = c - radius; x <= c + radius; ++x) {
                double squares = 0;
                for (std::int64_t dy = -patch; dy <= patch; ++dy)
                    for (std::int64_t dx = -patch; dx <= patch; ++dx) {
                        const double difference = pixel(r + dy, c + dx) - pixel(y + dy, x + dx);
                        squares += difference * difference;
                    }
                const double weight = std::exp(-squares / ((2 * patch + 1) * (2 * patch + 1)) / 100);
                total += weight * pixel(y, x);
                weights += weight;
            }
        const double off = std::abs(static_cast<double>(result.data()[r * n + c]) - total / weights);
        row.correct = row.correct && off <= 0.5 + 1.0 / 1024;
    }
    if (row.correct) {
        const bool newest = settings.newest->prepare("fastNlMeansDenoising", "8u", n, radius);
        if (newest) row.newest = "fastNlMeansDenoising";
        time_row(row, run, newest, 0, settings);
    }
    settings.take(row);
}

/// box_hessian()'s definition at every pixel, from exact sums of bytes.
plane hessian(const random_pixels<std::uint8_t>& image, double sigma) {
    const std::int64_t extent = image.n, n = static_cast<std::int64_t>(3 * sigma), l = n / 3, h = (n - 1) / 2;
    std::vector<std::int64_t> table(static_cast<std::size_t>(extent * extent));
    const auto entry = [&](std::int64_t r, std::int64_t c) -> std::int64_t& {
        return table[static_cast<std::size_t>(r * extent + c)];
    };
    for (std::int64_t r = 0; r < extent; ++r)
        for (std::int64_t c = 0, sum = 0; c < extent; ++c) {
            sum += image.data()[r * extent + c];
            entry(r, c) = sum + (r > 0 ? entry(r - 1, c) : 0);
        }
    const auto inside = [&](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, extent - 1); };
    const auto sum = [&](std::int64_t r, std::int64_t c, std::int64_t rows, std::int64_t cols) {
        const std::int64_t top = inside(r), left = inside(c), end = inside(top + rows), right = inside(left + cols);
        return static_cast<double>(entry(end, right) - entry(top, right) - entry(end, left) + entry(top, left));
    };
    const double unit = 1 / (255.0 * static_cast<double>(n) * static_cast<double>(n));
    plane result(table.size());
    for (std::int64_t y = 0; y < extent; ++y)
        for (std::int64_t x = 0; x < extent; ++x) {
            const double dxx = 3 * sum(y - l + 1, x - l / 2, 2 * l - 1, l) - sum(y - l + 1, x - h, 2 * l - 1, n);
            const double dyy = 3 * sum(y - l / 2, x - l + 1, l, 2 * l - 1) - sum(y - h, x - l + 1, n, 2 * l - 1);
            const double dxy =
                sum(y - l, x - l, l, l) + sum(y + 1, x + 1, l, l) - sum(y - l, x + 1, l, l) - sum(y + 1, x - l, l, l);
            result[static_cast<std::size_t>(y * extent + x)] = (dxx * dyy - 0.81 * dxy * dxy) * unit * unit;
        }
    return result;
}

void time_blobs(const filter_settings& settings) {
    constexpr std::int64_t n = 1024;
    const random_pixels<std::uint8_t> image(n, 1, 1);
    const random_pixels<double> determinants(n, 1, 2);
    const std::vector<double> sigmas = blob_scales(1, 30, 10);
    std::vector<plane> found;
    bool correct = true;
    for (const double sigma : sigmas) {
        box_hessian({image.view()}, {determinants.view()}, {.sigma = sigma, .threads = 1});
        found.push_back(determinants.channel(0));
        const plane wanted = hessian(image, sigma);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            correct = correct && std::abs(found.back()[i] - wanted[i]) <= 1e-12 * (1 + std::abs(wanted[i]));
    }
    for (const double sigma : {sigmas.front(), sigmas.back()}) {
        filter_time row = row_of("box Hessian 8u", n, static_cast<std::int64_t>(sigma));
        row.correct = correct;
        const auto run = [&] { box_hessian({image.view()}, {determinants.view()}, {.sigma = sigma, .threads = 1}); };
        if (correct) time_row(row, run, false, 0, settings);
        settings.take(row);
    }

    // All of them, so that each maximum can be compared.
    const blob_options options{.sigmas = sigmas, .threshold = 0.001, .overlap = 1, .threads = 1};
    std::vector<blob> blobs;
    const auto run = [&] { blobs = find_blobs({image.view()}, options); };
    run();
    filter_time row = row_of("blobs of 10 scales 8u", n, static_cast<std::int64_t>(sigmas.back()));
    std::vector<blob> maxima;
    const auto scales = static_cast<std::int64_t>(sigmas.size());
    const auto at = [&](std::int64_t s, std::int64_t r, std::int64_t c) {
        return found[static_cast<std::size_t>(s)][static_cast<std::size_t>(r * n + c)];
    };
    for (std::int64_t s = 0; s < scales; ++s)
        for (std::int64_t r = 0; r < n; ++r)
            for (std::int64_t c = 0; c < n; ++c) {
                const double here = at(s, r, c);
                if (here <= *options.threshold) continue;
                bool greatest = true;
                for (std::int64_t i = std::max<std::int64_t>(s - 1, 0); i <= std::min(s + 1, scales - 1); ++i)
                    for (std::int64_t y = std::max<std::int64_t>(r - 1, 0); y <= std::min(r + 1, n - 1); ++y)
                        for (std::int64_t x = std::max<std::int64_t>(c - 1, 0); x <= std::min(c + 1, n - 1); ++x)
                            greatest = greatest && at(i, y, x) <= here;
                if (greatest) maxima.push_back({r, c, sigmas[static_cast<std::size_t>(s)], here});
            }
    const auto order = [](const blob& a, const blob& b) {
        return std::tuple(-a.determinant, a.row, a.col, a.sigma) < std::tuple(-b.determinant, b.row, b.col, b.sigma);
    };
    std::sort(maxima.begin(), maxima.end(), order);
    row.correct = correct && !maxima.empty() && blobs == maxima;
    if (row.correct) time_row(row, run, false, 0, settings);
    settings.take(row);
}

}  // namespace

void time_costly_filters(const filter_settings& settings) {
    if (!settings.wants("filters-costly")) return;
    time_guided<std::uint8_t>(settings);
    time_guided<float>(settings);
    time_non_local(settings);
    time_blobs(settings);
}

}  // namespace boxsum::bench
