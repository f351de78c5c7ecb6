#include "cpu/filters/row_kernels.hpp"

#include "cpu/filters/filters.hpp"
#include "cpu/filters/moments.hpp"
#include "filters/oracle.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using namespace filters;

struct kernel_set {
    std::string name;
    const row_kernels* kernels;
};

/// Every instruction set that this machine runs.
std::vector<kernel_set> runnable() {
    std::vector<kernel_set> sets = {{"baseline", &baseline::rows}};
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) sets.push_back({"avx2", &avx2::rows});
    if (&rows_of_this_machine() == &avx512::rows) sets.push_back({"avx512", &avx512::rows});
#endif
    return sets;
}

/// floor(w / n + 1/2) at every place where it steps, the wrong side of it by one, and at both ends.
template <typename A, typename Out>
void check_rounding(const row_kernels& kernels, A n) {
    const auto& k = std::get<window_kernels<A>>(kernels.window);
    const A top = std::numeric_limits<Out>::max();
    std::vector<A> w;
    const A step = sizeof(Out) == 1 ? 1 : 37;
    for (A q = 0; q <= top - step; q = static_cast<A>(q + step)) {
        const A edge = static_cast<A>(q * n + (n + 1) / 2);  // the first sum that rounds to q + 1
        w.push_back(static_cast<A>(edge - 1));
        w.push_back(edge);
        w.push_back(static_cast<A>(q * n));
        if (q > 0) w.push_back(static_cast<A>(q * n - 1));
    }
    w.push_back(static_cast<A>(top * n));
    w.push_back(static_cast<A>(top * n - 1));
    const auto count = static_cast<std::int64_t>(w.size());
    const A half = static_cast<A>(-1);
    std::vector<Out> uniform(w.size()), each(w.size()), down(w.size());
    const std::vector<A> ones(w.size(), 1);
    if constexpr (sizeof(Out) == 1) {
        k.mean_8u(uniform.data(), w.data(), n, half, 0, count);
        k.mean_8u(down.data(), w.data(), n, 0, 0, count);
        k.mean_8u_each(each.data(), w.data(), n, ones.data(), half, 0, count);
    } else {
        k.mean_16u(uniform.data(), w.data(), n, half, 0, count);
        k.mean_16u(down.data(), w.data(), n, 0, 0, count);
        k.mean_16u_each(each.data(), w.data(), n, ones.data(), half, 0, count);
    }
    for (std::size_t i = 0; i < w.size(); ++i) {
        __extension__ typedef unsigned __int128 u128;
        const u128 expected = (2 * static_cast<u128>(w[i]) + n) / (2 * static_cast<u128>(n));
        ASSERT_EQ(uniform[i], static_cast<Out>(expected)) << w[i] << " / " << n;
        ASSERT_EQ(each[i], static_cast<Out>(expected)) << w[i] << " / " << n;
        ASSERT_EQ(down[i], static_cast<Out>(w[i] / n)) << w[i] << " / " << n;
    }
}

TEST(row_kernels, means_round_exactly) {
    for (const kernel_set& set : runnable()) {
        SCOPED_TRACE(set.name);
        for (const u32 n : {1u, 2u, 3u, 6u, 9u, 49u, 1000u, 3721u, 65537u, 361201u, 4194305u, 8388607u, 8388608u})
            check_rounding<u32, u8>(*set.kernels, n);
        for (const u32 n : {1u, 2u, 9u, 225u, 10001u, 32766u, 32767u}) check_rounding<u32, u16>(*set.kernels, n);
        for (const u64 n : {u64{1}, u64{2}, u64{8388609}, u64{1} << 32, (u64{1} << 46) - 1, u64{1} << 46}) {
            check_rounding<u64, u8>(*set.kernels, n);
            check_rounding<u64, u16>(*set.kernels, n);
        }
    }
}

TEST(row_kernels, sliding_sums_for_every_length_and_number_of_channels) {
    std::mt19937_64 random(3);
    for (const kernel_set& set : runnable()) {
        SCOPED_TRACE(set.name);
        const auto check = [&]<typename A>() {
            const auto& k = std::get<window_kernels<A>>(set.kernels->window);
            for (std::int64_t channels = 1; channels <= 4; ++channels)
                for (std::int64_t cols = 1; cols < 70; ++cols) {
                    const std::int64_t n = cols * channels;
                    std::vector<A> high, low, w(static_cast<std::size_t>(n + channels + 1), 42);
                    for (std::int64_t i = 0; i < n; ++i) {
                        high.push_back(static_cast<A>(random()));
                        low.push_back(static_cast<A>(random()));
                    }
                    for (std::int64_t i = 0; i < channels; ++i)
                        w[static_cast<std::size_t>(i)] = static_cast<A>(random());
                    std::vector<A> expected = w;
                    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
                        expected[i + static_cast<std::size_t>(channels)] =
                            static_cast<A>(expected[i] + high[i] - low[i]);
                    k.slide(w.data() + channels, high.data(), low.data(), n, channels);
                    ASSERT_EQ(w, expected) << channels << " channels, " << cols << " columns";
                    std::vector<A> totals(static_cast<std::size_t>(channels)), sums(totals.size(), 0);
                    k.total(totals.data(), high.data(), cols, channels);
                    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
                        sums[i % sums.size()] = static_cast<A>(sums[i % sums.size()] + high[i]);
                    ASSERT_EQ(totals, sums);
                }
        };
        check.template operator()<u32>();
        check.template operator()<u64>();
    }
}

/// Against sums by definition; whole numbers, so that every order of additions gives the same. One number too large for
/// the others to survive is in no window but its own, and nothing is written beyond the result and the scratch memory.
TEST(row_kernels, sliding_sums_of_doubles_for_every_width) {
    std::mt19937_64 random(5);
    for (const kernel_set& set : runnable()) {
        SCOPED_TRACE(set.name);
        std::int64_t turn = 0;
        for (std::int64_t width = 1; width <= 650; width += width < 70 || (width > 120 && width < 200) ? 1 : 9) {
            const std::int64_t channels = 1 + turn % 4;
            const std::int64_t n = std::array{1, 63, 64, 200, 511, 512, 513, 1300}[static_cast<std::size_t>(turn % 8)];
            ++turn;
            const auto length = static_cast<std::size_t>(n + (width - 1) * channels);
            std::vector<double> x(length);
            for (double& v : x) v = static_cast<double>(static_cast<std::int64_t>(random() % 2001) - 1000);
            const std::size_t huge = random() % length;
            x[huge] = 1e300;
            const auto room = static_cast<std::size_t>(5 * width * channels + 2048 + 384 * channels);
            std::vector<double> scratch(room + 8, -7), sums(static_cast<std::size_t>(n + 8), -7);
            set.kernels->block.sliding_sums(sums.data(), x.data(), n, width, channels, scratch.data());
            for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
                double expected = 0;
                for (std::size_t k = 0; k < static_cast<std::size_t>(width); ++k)
                    expected += x[i + k * static_cast<std::size_t>(channels)];
                ASSERT_EQ(sums[i], expected)
                    << "width " << width << ", " << channels << " channels, " << n << " positions, at " << i;
            }
            for (std::size_t i = 0; i < 8; ++i) {
                ASSERT_EQ(sums[static_cast<std::size_t>(n) + i], -7);
                ASSERT_EQ(scratch[room + i], -7);
            }
        }
    }
}

/// The same bits from every instruction set, for whole filters.
template <typename T>
class row_kernels_of : public testing::Test {};
using types = testing::Types<std::uint8_t, std::uint16_t, std::int16_t, float, double>;
TYPED_TEST_SUITE(row_kernels_of, types);

TYPED_TEST(row_kernels_of, instruction_sets_agree) {
    using T = TypeParam;
    for (const std::int64_t channels : {1, 3, 4}) {
        oracle::picture<T> image(1, 23, 331, channels);
        oracle::fill_random(image, 8);
        for (const std::int64_t r : {0, 1, 4, 60, 200, 2000}) {
            std::vector<T> blurred[3];
            std::vector<double> moment[3];
            std::size_t which = 0;
            for (const kernel_set& set : runnable()) {
                row_job job(
                    windows_of({image.view().shape()},
                               {.window = window_radius(r / 2, r), .border = border_mode::reflect, .threads = 1}),
                    {image.view()});
                job.kernels = set.kernels;
                oracle::picture<T> out(1, 23, 331, channels);
                filters::box_filter(job, {out.view()});
                oracle::each(out.view(), [&](auto... at) { blurred[which].push_back(out.view()(at...)); });
                moments<T>(job, {0, 0, 23},
                           [&](std::int64_t, std::int64_t, std::int64_t n, const f64* mean, const f64* variance) {
                               moment[which].insert(moment[which].end(), mean, mean + n);
                               moment[which].insert(moment[which].end(), variance, variance + n);
                           });
                EXPECT_EQ(blurred[which], blurred[0]) << set.name;
                EXPECT_EQ(moment[which], moment[0]) << set.name;
                ++which;
            }
        }
    }
}

/// Bytes have windows of their own; the same pixels in 16 bits do not, and are the oracle. Noise, ties (flat areas,
/// black ones, too), and ramps; windows in 16 bits and taller ones; every border.
TEST(byte_windows, are_as_of_wider_pixels) {
    const struct {
        std::int64_t rows, cols;
        window reach;
    } cases[] = {{40, 131, 3},
                 {37, 64, window(8, 5)},
                 {150, 97, window_radius(64, 20)},
                 {150, 200, window_radius(70, 33)},
                 {9, 700, window_radius(2, 160)},
                 {33, 1, 5},
                 {1, 65, window_radius(0, 7)},
                 {170, 70, window_extents{.above = 128, .below = 3, .left = 1, .right = 40}}};
    for (const auto& c : cases)
        for (int kind = 0; kind < 3; ++kind) {
            oracle::picture<u8> bytes(2, c.rows, c.cols, 1, 5);
            oracle::picture<u16> words(2, c.rows, c.cols, 1, 1);
            oracle::fill_random(bytes, 21);
            if (kind > 0)
                bytes.fill([&](std::int64_t p, std::int64_t row, std::int64_t col, std::int64_t) {
                    const bool black = col < c.cols / 3, flat = row < c.rows / 2;
                    const int value = flat ? 201 + static_cast<int>(p) : static_cast<int>(row * 2 + col / 3);
                    return black ? 0 : kind == 1 ? value : 255 - value % 2;
                });
            words.fill([&](std::int64_t p, std::int64_t row, std::int64_t col, std::int64_t) {
                return bytes.view()(row, col, 0, p);
            });
            for (const border_mode border : {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                             border_mode::constant, border_mode::mirror, border_mode::wrap})
                for (const rounding_mode rounding : {rounding_mode::half_up, rounding_mode::floor}) {
                    const filter_options options{.window = c.reach,
                                                 .border = border,
                                                 .border_value = border == border_mode::constant ? 77.0 : 0.0,
                                                 .rounding = rounding,
                                                 .threads = 1};
                    oracle::picture<u8> out(2, c.rows, c.cols, 1, 3);
                    oracle::picture<u16> expected(2, c.rows, c.cols, 1);
                    box_filter({words.view()}, {expected.view()}, options);
                    const auto run = [&](const kernel_set& set, auto&& filter) {
                        SCOPED_TRACE(set.name + " " + std::to_string(c.rows) + "x" + std::to_string(c.cols) + " kind " +
                                     std::to_string(kind) + " " + std::string(name_of(border)));
                        out.fill([](auto...) { return 99; });
                        filter();
                        ASSERT_TRUE(out.guards_intact());
                    };
                    const auto job_of = [&](const kernel_set& set) {
                        row_job job(windows_of({bytes.view().shape()}, options), {bytes.view()});
                        job.kernels = set.kernels;
                        return job;
                    };
                    for (const kernel_set& set : runnable())
                        run(set, [&] {
                            filters::box_filter(job_of(set), {out.view()});
                            ASSERT_EQ(
                                oracle::first_difference(
                                    out.view(), [&](auto... at) { return static_cast<u8>(expected.view()(at...)); }),
                                "");
                        });
                    if (rounding == rounding_mode::floor) continue;
                    oracle::picture<f32> mean(2, c.rows, c.cols, 1, 1), deviation(2, c.rows, c.cols, 1, 3),
                        wide_mean(2, c.rows, c.cols, 1), wide_deviation(2, c.rows, c.cols, 1);
                    local_statistics({words.view()}, {.mean = wide_mean.view(), .deviation = wide_deviation.view()},
                                     options);
                    for (const kernel_set& set : runnable()) {
                        filters::local_statistics(job_of(set), {.mean = mean.view(), .deviation = deviation.view()});
                        ASSERT_EQ(
                            oracle::first_difference(mean.view(), [&](auto... at) { return wide_mean.view()(at...); }),
                            "");
                        ASSERT_EQ(oracle::first_difference(deviation.view(),
                                                           [&](auto... at) { return wide_deviation.view()(at...); }),
                                  "");
                        ASSERT_TRUE(mean.guards_intact() && deviation.guards_intact());
                    }
                    oracle::picture<u8> verdict(2, c.rows, c.cols, 1);
                    for (const threshold_method method : {threshold_method::bradley, threshold_method::niblack,
                                                          threshold_method::sauvola, threshold_method::nick})
                        for (const double k : {default_k(method), -default_k(method), 0.0, 1.5}) {
                            threshold_rule rule{.method = method, .k = k, .output = threshold_output::zero_one};
                            if (method == threshold_method::sauvola) rule.range = 128;
                            adaptive_threshold({words.view()}, {verdict.view()}, rule, options);
                            for (const kernel_set& set : runnable())
                                run(set, [&] {
                                    filters::adaptive_threshold(
                                        job_of(set),
                                        make_threshold_job({bytes.view().shape()}, {out.view().shape()}, rule, options),
                                        {out.view()});
                                    ASSERT_EQ(oracle::first_difference(
                                                  out.view(), [&](auto... at) { return verdict.view()(at...); }),
                                              "")
                                        << name_of(method) << " " << k;
                                });
                        }
                    ASSERT_FALSE(testing::Test::HasFatalFailure());
                }
        }
}

}  // namespace
}  // namespace boxsum
