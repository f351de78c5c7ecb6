#include "cpu/filters/row_kernels.hpp"

#include "cpu/filters/filters.hpp"
#include "cpu/filters/moments.hpp"
#include "filters/oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
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

/// Windows of two values, of all numbers that take the one way and some that take the other.
TEST(row_kernels, variances_of_large_windows_are_rounded_once) {
    __extension__ typedef unsigned __int128 u128;
    std::mt19937_64 random(3);
    std::vector<u64> s, q, counts;
    const auto add = [&](u64 n, u64 some, u64 x, u64 y) {
        counts.push_back(n);
        s.push_back(some * x + (n - some) * y);
        q.push_back(some * x * x + (n - some) * y * y);
    };
    for (const u64 n : {u64{1}, u64{65538}, u64{361201}, u64{8388607}})
        for (const u64 some : {u64{0}, u64{1}, n / 2, n - 1, n})
            for (const u64 x : {0u, 1u, 255u, 32768u, 65535u})
                for (const u64 y : {0u, 65534u, 65535u}) add(n, some, x, y);
    for (int i = 0; i < 3000; ++i) {
        const u64 n = random() % 8388607 + 1, x = random() % 65536;
        add(n, random() % (n + 1), x, i % 2 == 0 ? random() % 65536 : x ^ 1);
    }
    for (const bool large : {false, true}) {
        if (large) add(u64{1} << 31, u64{1} << 30, 3, 65535);
        const auto n = static_cast<std::int64_t>(s.size());
        for (const u64 offset : {u64{0}, u64{32768}})
            for (const kernel_set& set : runnable()) {
                std::vector<f64> mean(s.size()), variance(s.size());
                std::get<moment_kernels<u64, u64>>(set.kernels->moment)
                    .variances.wide(mean.data(), variance.data(), s.data(), q.data(), 1, counts.data(), offset, n);
                for (std::size_t i = 0; i < s.size(); ++i) {
                    const f64 count = static_cast<f64>(counts[i]);
                    const u128 numerator = static_cast<u128>(counts[i]) * q[i] - static_cast<u128>(s[i]) * s[i];
                    ASSERT_EQ(variance[i], static_cast<f64>(numerator) / (count * count)) << set.name << " " << i;
                    ASSERT_EQ(mean[i], static_cast<f64>(static_cast<s64>(s[i] - offset * counts[i])) / count);
                }
            }
    }
}

/// Windows of two values, in pieces of one size and of several: products with inverses, where sets have them, have the
/// bits of quotients.
TEST(row_kernels, moments_are_rounded_as_quotients) {
    std::mt19937_64 random(5);
    const auto check = [&]<typename S, typename Q>(u64 largest, u64 most) {
        std::vector<S> s, cols;
        std::vector<Q> q;
        const S rows = 3;
        for (int i = 0; i < 20000; ++i) {
            const bool begins = i % 500 == 0, several = i / 500 % 2 != 0;
            if (begins || several) cols.push_back(static_cast<S>(random() % (largest / rows) + 1));
            if (cols.size() < s.size() + 1) cols.push_back(cols.back());
            const u64 n = rows * cols.back(), some = random() % (n + 1), x = random() % (most + 1);
            const u64 y = i % 3 == 0 ? x : i % 3 == 1 && x > 0 ? x - 1 : random() % (most + 1);
            s.push_back(static_cast<S>(some * x + (n - some) * y));
            q.push_back(static_cast<Q>(some * x * x + (n - some) * y * y));
        }
        const auto n = static_cast<std::int64_t>(s.size());
        for (const S offset : {S{0}, S{32768}})
            for (const kernel_set& set : runnable()) {
                if (offset != 0 && most < 65535) continue;
                const auto& kernels = std::get<moment_kernels<S, Q>>(set.kernels->moment);
                std::vector<f64> mean(s.size()), variance(s.size()), again(s.size()), deviation(s.size());
                std::vector<f32> real_mean(s.size()), real_deviation(s.size());
                kernels.variances.narrow(mean.data(), variance.data(), s.data(), q.data(), rows, cols.data(), offset,
                                         n);
                kernels.deviations.narrow(again.data(), deviation.data(), s.data(), q.data(), rows, cols.data(), offset,
                                          n);
                kernels.deviations_32f.narrow(real_mean.data(), real_deviation.data(), s.data(), q.data(), rows,
                                              cols.data(), offset, n);
                for (std::size_t i = 0; i < s.size(); ++i) {
                    const u64 count = u64{rows} * cols[i];
                    const u64 numerator = count * q[i] - u64{s[i]} * s[i];
                    const f64 of = static_cast<f64>(count), spread = static_cast<f64>(numerator) / (of * of);
                    const f64 m = static_cast<f64>(static_cast<s64>(s[i]) - static_cast<s64>(offset * count)) / of;
                    ASSERT_EQ(mean[i], m) << set.name << " " << i;
                    ASSERT_EQ(again[i], m) << set.name << " " << i;
                    ASSERT_EQ(variance[i], spread) << set.name << " " << i;
                    ASSERT_EQ(deviation[i], std::sqrt(spread)) << set.name << " " << i;
                    ASSERT_EQ(real_mean[i], static_cast<f32>(m)) << set.name << " " << i;
                    ASSERT_EQ(real_deviation[i], static_cast<f32>(std::sqrt(spread))) << set.name << " " << i;
                }
            }
    };
    check.operator()<u32, u32>(33025, 255);
    check.operator()<u32, u64>(32767, 65535);
    check.operator()<u64, u64>(65537, 65535);
    check.operator()<u64, u64>((1 << 24) - 1, 255);
}

/// Divisions, whether products with inverses make them or not: of pieces that have zeros of both signs, infinities,
/// NaN, tiny and huge numbers, by numbers of pixels and by weights.
TEST(row_kernels, rows_are_divided) {
    constexpr f64 infinity = std::numeric_limits<f64>::infinity(), nan = std::numeric_limits<f64>::quiet_NaN();
    std::mt19937_64 random(7);
    const auto any = [&] { return std::ldexp(static_cast<f64>(random() >> 11), static_cast<int>(random() % 40) - 60); };
    const f64 odd[] = {0.0, -0.0, infinity, -infinity, nan, 5e-324, 1e-300, 1e300, 1.7e308};
    std::vector<f64> x, cols;
    for (int i = 0; i < 30000; ++i) {
        const int kind = i / 300;
        x.push_back(kind % 10 == 9 && i % 7 == 0 ? odd[random() % std::size(odd)] : i % 2 == 0 ? any() : -any());
        const f64 fresh = kind % 3 == 2 ? any() : static_cast<f64>(random() % (u64{1} << (kind % 5 * 8 + 8)) + 1);
        cols.push_back(i % 300 == 0 || kind % 4 == 3 ? fresh : cols.back());
    }
    const auto n = static_cast<std::int64_t>(x.size());
    const auto bits = [](f64 value) { return value != value ? ~u64{0} : std::bit_cast<u64>(value); };
    for (const f64 rows : {1.0, 31.0})
        for (const kernel_set& set : runnable()) {
            std::vector<f64> quotient(x.size());
            set.kernels->block.divide_64f(quotient.data(), x.data(), rows, cols.data(), n);
            for (std::size_t i = 0; i < x.size(); ++i) {
                const f64 wanted = x[i] / (rows * cols[i]);
                ASSERT_EQ(bits(quotient[i]), bits(wanted)) << set.name << " " << x[i] << " by " << cols[i];
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
/// the others to survive is in no window but its own. Poison lies around what is read and what is written.
template <typename T>
void check_windows_of_eight_rows(const kernel_set& set, std::int64_t width, std::int64_t channels, std::int64_t cols,
                                 std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::int64_t n = cols * channels, groups = 5, rows = 8 * groups + width - 1;
    const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    const bool any_huge = random() % 2 == 0;
    const T huge = static_cast<T>(1e30);
    std::vector<T> image(at(rows * n));
    for (T& v : image) v = static_cast<T>(static_cast<std::int64_t>(random() % 2001) - 1000);
    const std::size_t place = random() % image.size();
    if (any_huge) image[place] = huge;

    // Along columns: each eight windows from the eight before.
    group_memory memory(width, n);
    group_windows& w = memory.windows;
    const auto& samples = std::get<sample_kernels<T>>(set.kernels->sample);
    const auto sum_rows = [&](f64* to, std::int64_t first, std::int64_t count) {
        samples.load(to, &image[at(first * n)], n);
        for (std::int64_t i = first + 1; i < first + count; ++i) samples.add(to, to, &image[at(i * n)], n);
    };
    for (std::int64_t k = 0; k < w.whole; ++k) sum_rows(w.slots + k * w.stride, 8 * (k + 1), 8);
    if (width > 8 && w.rest > 0) sum_rows(w.part, 8 * (w.whole + 1), w.rest);
    if (w.whole > 0) set.kernels->block.close_block(w.slots, w.whole, w.stride, n);
    std::vector<f64> beyond(at((n + 7) / 8 * 8), 0);
    for (std::int64_t i = 0; i < n; ++i) beyond[at(i)] = static_cast<f64>(i % 7);
    const std::int64_t room = (n + 7) / 8 * 64;
    for (std::int64_t group = 0; group < groups; ++group) {
        const T *first[8], *last[8];
        for (std::int64_t i = 0; i < 8; ++i) {
            first[i] = &image[at((8 * group + i) * n)];
            last[i] = &image[at((8 * group + i + width - 1) * n)];
        }
        const bool more = group % 2 == 1;
        std::vector<f64> line(at(room + 16), -7);
        samples.down(line.data() + 8, first, last, w, more ? beyond.data() : nullptr, n);
        if (++w.phase >= w.whole) {
            set.kernels->block.close_block(w.slots, w.whole, w.stride, n);
            w.phase = 0;
        }
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t r = 0; r < 8; ++r) {
                f64 expected = more ? beyond[at(i)] : 0;
                for (std::int64_t k = 0; k < width; ++k)
                    expected += static_cast<f64>(image[at((8 * group + r + k) * n + i)]);
                ASSERT_EQ(line[at(8 + 8 * i + r)], expected) << "row " << 8 * group + r << ", element " << i;
            }
        for (std::int64_t i = 0; i < 8; ++i) ASSERT_TRUE(line[at(i)] == -7 && line[at(8 + room + i)] == -7);
    }

    // Along rows, of which some are not wanted.
    std::vector<f64> line(at(((cols + 15) / 16 * 16 + width - 1) * 8 * channels), -7e9);
    const std::int64_t used = (cols + width - 1) * 8 * channels;
    for (std::int64_t i = 0; i < used; ++i)
        line[at(i)] = static_cast<f64>(static_cast<std::int64_t>(random() % 2001) - 1000);
    if (any_huge) line[random() % at(used)] = 1e300;
    std::vector<f64> each(at(8 * channels));
    for (f64& v : each) v = static_cast<f64>(random() % 100);
    const bool more = random() % 2 == 0;
    std::vector<f64> sums[8], counts(at(cols));
    std::vector<f32> means[8];
    f64 *sums_to[8], row_counts[8], full[8];
    f32* means_to[8];
    std::int64_t margin[8];
    for (std::int64_t c = 0; c < cols; ++c) counts[at(c)] = c < 3 ? 2 : c > cols - 4 ? 8 : 4;
    for (std::int64_t r = 0; r < 8; ++r) {
        sums[at(r)].assign(at(n + 16), -7);
        means[at(r)].assign(at(n + 32), -7);
        sums_to[r] = r == 5 ? nullptr : sums[at(r)].data() + 8;
        // Every other row begins with a line of the cache, as rows do that are stored past it.
        const std::uintptr_t behind = reinterpret_cast<std::uintptr_t>(means[at(r)].data() + 8) % 64;
        margin[r] = 8 + (r % 2 == 0 ? static_cast<std::int64_t>((64 - behind) % 64 / sizeof(f32)) : 0);
        means_to[r] = r == 2 ? nullptr : means[at(r)].data() + margin[r];
        row_counts[r] = static_cast<f64>(1 << r);
        full[r] = 1 / (row_counts[r] * 4);
    }
    const group_memory along(width, 8 * channels);
    const mean_factors factors{
        row_counts,       counts.data(), full, std::min<std::int64_t>(3, cols), std::max<std::int64_t>(cols - 3, 3),
        random() % 2 == 0};
    const f64* const past = more ? each.data() : nullptr;
    set.kernels->block.along_sums(sums_to, line.data(), along.windows, past, {}, cols, channels);
    set.kernels->block.along_means(means_to, line.data(), along.windows, past, factors, cols, channels);
    for (std::int64_t r = 0; r < 8; ++r) {
        for (std::int64_t i = 0; i < n; ++i) {
            f64 expected = more ? each[at(i % channels * 8 + r)] : 0;
            for (std::int64_t k = 0; k < width; ++k) expected += line[at((i + k * channels) * 8 + r)];
            if (r != 5) {
                ASSERT_EQ(sums[at(r)][at(8 + i)], expected) << "row " << r << ", element " << i;
            }
            if (r != 2) {  // powers of two: one rounding
                ASSERT_EQ(means[at(r)][at(margin[r] + i)],
                          static_cast<f32>(expected / (row_counts[r] * counts[at(i / channels)])))
                    << "row " << r << ", element " << i;
            }
        }
        const std::int64_t written = r == 5 ? 0 : n, means_written = r == 2 ? 0 : n;
        for (std::int64_t i = 0; i < 8; ++i) {
            ASSERT_TRUE(sums[at(r)][at(i)] == -7 && sums[at(r)][at(8 + written + i)] == -7);
            ASSERT_TRUE(means[at(r)][at(margin[r] - 8 + i)] == -7 &&
                        means[at(r)][at(margin[r] + means_written + i)] == -7);
        }
    }
}

TEST(row_kernels, windows_of_eight_rows_for_every_width) {
    for (const kernel_set& set : runnable()) {
        std::uint64_t turn = 0;
        for (std::int64_t width = 1; width <= 260; width += width < 50 ? 1 : 7) {
            const std::int64_t channels = 1 + static_cast<std::int64_t>(turn % 4);
            const std::int64_t cols = std::array{1, 7, 8, 16, 29, 64, 101}[turn % 7];
            ++turn;
            SCOPED_TRACE(set.name + " width " + std::to_string(width) + ", " + std::to_string(channels) +
                         " channels, " + std::to_string(cols) + " columns");
            check_windows_of_eight_rows<float>(set, width, channels, cols, turn);
            check_windows_of_eight_rows<double>(set, width, channels, cols, turn + 1000);
            if (testing::Test::HasFatalFailure()) return;
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
    int turn = 0;
    for (const std::int64_t channels : {1, 3, 4}) {
        oracle::picture<T> image(1, 23, 331, channels);
        oracle::fill_random(image, 8);
        oracle::picture<u8> mask(1, 23, 331, 1);
        mask.fill([](auto, std::int64_t row, std::int64_t col, auto) { return col % 7 < 3 && row * col % 5 != 1; });
        oracle::picture<f32> weights(1, 23, 331, 1);
        weights.fill([](auto, std::int64_t row, std::int64_t col, auto) {
            return static_cast<f32>((row * 7 + col * 11) % 61) * 0.37f;
        });
        ++turn;
        for (const std::int64_t r : {0, 1, 4, 60, 200, 2000}) {
            // Addresses: every other radius for each number of channels.
            if (oracle::sanitized && turn++ % 2 == 0) continue;
            std::vector<T> blurred[3];
            std::vector<double> of_some[3], moment[3];
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
                const filter_inputs masked{.image = image.view(), .mask = mask.view()};
                row_job some(windows_of(part_of(masked), {.window = window_radius(r / 2, r),
                                                          .border = border_mode::reflect,
                                                          .min_count = 2,
                                                          .fill = 3,
                                                          .threads = 1}),
                             masked);
                some.kernels = set.kernels;
                oracle::picture<float> number(1, 23, 331, channels);
                filters::box_filter(some, {out.view(), number.view()});
                oracle::each(out.view(), [&](auto... at) {
                    of_some[which].push_back(static_cast<double>(out.view()(at...)));
                    of_some[which].push_back(static_cast<double>(number.view()(at...)));
                });
                const filter_inputs heavy{.image = image.view(), .weights = weights.view()};
                for (const filter_inputs& in : {masked, heavy}) {
                    row_job of(windows_of(part_of(in), {.window = window_radius(r / 2, r),
                                                        .border = border_mode::reflect,
                                                        .fill = 3,
                                                        .threads = 1}),
                               in);
                    of.kernels = set.kernels;
                    oracle::picture<double> mean(1, 23, 331, channels), variance(1, 23, 331, channels);
                    filters::local_statistics(of, {.mean = mean.view(), .variance = variance.view()});
                    filters::local_statistics(of, {.deviation = number.view()});
                    oracle::each(mean.view(), [&](auto... at) {
                        of_some[which].push_back(mean.view()(at...));
                        of_some[which].push_back(variance.view()(at...));
                        of_some[which].push_back(static_cast<double>(number.view()(at...)));
                    });
                }
                const piece_buffer<T> mean(job), variance(job);
                moments<T>(
                    job, {0, 0, 23},
                    [&](std::int64_t row, std::int64_t) {
                        return moment_rows<f64>{mean.row(row), variance.row(row)};
                    },
                    [&](std::int64_t, std::int64_t, std::int64_t n, const moment_rows<f64>& at) {
                        moment[which].insert(moment[which].end(), at.mean, at.mean + n);
                        moment[which].insert(moment[which].end(), at.spread, at.spread + n);
                    });
                EXPECT_EQ(blurred[which], blurred[0]) << set.name;
                EXPECT_EQ(of_some[which], of_some[0]) << set.name;
                EXPECT_EQ(moment[which], moment[0]) << set.name;
                ++which;
            }
        }
    }
}

constexpr threshold_method methods[] = {
    threshold_method::bradley, threshold_method::niblack, threshold_method::sauvola,    threshold_method::wolf,
    threshold_method::nick,    threshold_method::singh,   threshold_method::phansalkar,
};

/// Whether a threshold's turn has come: with sanitizers three of seven methods have, as all read and write the same
/// places.
bool has_its_turn(threshold_method method, int turn) {
    return !oracle::sanitized || (static_cast<int>(method) + turn) % 7 < 3;
}

/// R, p and q by turns, where the method has them: some are out of the bounds of decisions in 32 bits.
threshold_rule rule_of(threshold_method method, double k, int turn) {
    const auto one_of = [turn](const auto& values) {
        return values[static_cast<std::size_t>(turn) % std::size(values)];
    };
    const bool decays = method == threshold_method::phansalkar;
    threshold_rule rule{.method = method, .k = k};
    if (method == threshold_method::sauvola || method == threshold_method::singh || decays)
        rule.range = one_of(std::array{128.0, 127.5, 1.0, 40.25, 200.0, 65536.0, 128.0, 100000.0, 0.5});
    if (decays) {
        rule.p = one_of(std::array{2.0, -0.5, 9.0, 0.0, 20.0});
        rule.q = one_of(std::array{10.0, 2.5, 80.0, 0.4, 3000.0, 0.0, 5.0, -1.0});
    }
    return rule;
}

/// Bytes have windows of their own; the same pixels in 16 bits do not, and are the oracle. Noise, ties (flat areas,
/// black ones, too), ramps, and images of one value but for a pixel; windows in 16 bits and taller ones; every border.
TEST(byte_windows, are_as_of_wider_pixels) {
    const struct {
        std::int64_t rows, cols;
        window reach;
        std::int64_t channels = 1;
    } cases[] = {{40, 131, 3},
                 {37, 64, window(8, 5)},
                 {150, 97, window_radius(64, 20)},
                 {150, 200, window_radius(70, 33)},
                 {9, 700, window_radius(2, 160)},
                 {33, 1, 5},
                 {40, 131, window_radius(15, 0)},
                 {190, 67, window_extents{.above = 90, .below = 89}},
                 {190, 67, window_radius(90, 0)},
                 {45, 50, window_extents{.above = 0, .below = 1}, 3},
                 {1, 65, window_radius(0, 7)},
                 {170, 70, window_extents{.above = 128, .below = 3, .left = 1, .right = 40}},
                 {150, 67, window_radius(140, 9)},
                 {12, 67, window(8, 5), 2},
                 {10, 45, 3, 3},
                 {150, 31, window_radius(70, 12), 3},
                 {9, 50, window_radius(2, 30), 4}};
    int turn = 0;
    for (const auto& c : cases)
        for (int kind = 0; kind < 4; kind += oracle::sanitized ? 3 : 1) {  // noise and one value reach all addresses
            oracle::picture<u8> bytes(2, c.rows, c.cols, c.channels, 5);
            oracle::picture<u16> words(2, c.rows, c.cols, c.channels, 1);
            oracle::fill_random(bytes, 21);
            if (kind > 0)
                bytes.fill([&](std::int64_t p, std::int64_t row, std::int64_t col, std::int64_t k) {
                    if (kind == 3) return p == 1 && row == c.rows / 2 && col == c.cols / 2 ? 41 : 40;
                    const bool black = col < c.cols / 3, flat = row < c.rows / 2;
                    const int value = static_cast<int>(flat ? 201 + p + 7 * k : row * 2 + col / 3 + k);
                    return black ? 0 : kind == 1 ? value : 255 - value % 2;
                });
            words.fill([&](std::int64_t p, std::int64_t row, std::int64_t col, std::int64_t k) {
                return bytes.view()(row, col, k, p);
            });
            for (const border_mode border : {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                             border_mode::constant, border_mode::mirror, border_mode::wrap})
                for (const rounding_mode rounding : {rounding_mode::half_up, rounding_mode::floor}) {
                    const filter_options options{.window = c.reach,
                                                 .border = border,
                                                 .border_value = border == border_mode::constant ? 77.0 : 0.0,
                                                 .rounding = rounding,
                                                 .threads = 1};
                    oracle::picture<u8> out(2, c.rows, c.cols, c.channels, 3);
                    oracle::picture<u16> expected(2, c.rows, c.cols, c.channels);
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
                    oracle::picture<f32> mean(2, c.rows, c.cols, c.channels, 1),
                        deviation(2, c.rows, c.cols, c.channels, 3), wide_mean(2, c.rows, c.cols, c.channels),
                        wide_deviation(2, c.rows, c.cols, c.channels);
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
                    oracle::picture<u8> verdict(2, c.rows, c.cols, c.channels);
                    for (const double epsilon : {1e-6, 2.0, 1e-320}) {
                        if (oracle::sanitized && epsilon != 2.0) continue;
                        local_contrast({words.view()}, {wide_mean.view()}, {.epsilon = epsilon}, options);
                        for (const kernel_set& set : runnable()) {
                            mean.fill([](auto...) { return 99; });
                            filters::local_contrast(job_of(set), epsilon, {mean.view()});
                            ASSERT_EQ(oracle::first_difference(mean.view(),
                                                               [&](auto... at) { return wide_mean.view()(at...); }),
                                      "")
                                << set.name << " " << epsilon;
                            ASSERT_TRUE(mean.guards_intact());
                        }
                    }
                    ++turn;
                    for (const threshold_method method : methods)
                        for (const double k : {default_k(method), -default_k(method), 0.0, 1.5}) {
                            if ((c.channels > 1 || oracle::sanitized) && k != default_k(method)) continue;
                            if (!has_its_turn(method, turn)) continue;
                            threshold_rule rule = rule_of(method, k, turn);
                            rule.output = threshold_output::zero_one;
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

/// Runs a threshold of bytes in every instruction set; the same pixels in 16 bits are the oracle.
void check_threshold(const oracle::picture<u8>& bytes, const oracle::picture<u16>& words, const threshold_rule& rule,
                     const filter_options& options) {
    const auto& v = bytes.view();
    oracle::picture<u8> out(1, v.rows(), v.cols(), 1), expected(1, v.rows(), v.cols(), 1);
    adaptive_threshold({words.view()}, {expected.view()}, rule, options);
    for (const kernel_set& set : runnable()) {
        row_job job(windows_of({v.shape()}, options), {v});
        job.kernels = set.kernels;
        out.fill([](auto...) { return 99; });
        filters::adaptive_threshold(job, make_threshold_job({v.shape()}, {out.view().shape()}, rule, options),
                                    {out.view()});
        ASSERT_EQ(oracle::first_difference(out.view(), [&](auto... at) { return expected.view()(at...); }), "")
            << set.name << " " << name_of(rule.method) << " k " << *rule.k << " R " << rule.range.value_or(0) << " p "
            << rule.p.value_or(0) << " q " << rule.q.value_or(0);
    }
}

/// Means so near to a pixel that 32 bits take them for it, and no spread that decides: numbers with k = 0 or tiny.
/// Where pixels are asked whether they count, k = 0 has no kernel of its own.
TEST(byte_windows, thresholds_of_large_windows_are_those_of_the_definition) {
    const std::int64_t n = 640;
    oracle::picture<u8> bytes(1, n, n, 1);
    oracle::picture<u16> words(1, n, n, 1);
    filter_options options{.window = window_radius(310), .threads = 1};
    for (const int other : {199, 201}) {
        bytes.fill([&](std::int64_t, std::int64_t row, std::int64_t col, std::int64_t) {
            return row == 320 && col == 320 ? other : 200;
        });
        words.fill([&](auto, std::int64_t row, std::int64_t col, auto) { return bytes.view()(row, col); });
        for (const threshold_method method : methods)
            for (const double k : {0.0, 1e-7, -1e-5})
                for (const bool asked : {false, true}) {
                    if (oracle::sanitized && (k != 0 || asked)) continue;
                    options.nodata = asked ? std::optional<double>(7) : std::nullopt;
                    threshold_rule rule = rule_of(method, k, 0);
                    if (rule.p) rule.p = k;
                    check_threshold(bytes, words, rule, options);
                    ASSERT_FALSE(testing::Test::HasFatalFailure()) << other;
                }
    }
}

/// The k by which the threshold of the pixel is `value`: all methods are linear in k.
double k_that_gives(double value, std::int64_t row, std::int64_t col, const oracle::picture<u16>& words,
                    threshold_rule rule, const filter_options& options) {
    oracle::picture<f64> limits(1, words.view().rows(), words.view().cols(), 1);
    const auto limit_at = [&](double k) {
        rule.k = k;
        rule.output = threshold_output::threshold;
        adaptive_threshold({words.view()}, {limits.view()}, rule, options);
        return limits.view()(row, col);
    };
    const double without = limit_at(0);
    return (value - without) / (limit_at(1) - without);
}

/// Large windows, whose means differ by millionths, with a threshold that is one of the values.
TEST(byte_windows, pixels_next_to_their_threshold_are_as_of_wider_pixels) {
    std::mt19937 random(31);
    const std::int64_t n = oracle::sanitized ? 100 : 400;
    const filter_options options{.window = window_radius(n / 2 - 10), .border = border_mode::wrap, .threads = 1};
    oracle::picture<u8> bytes(1, n, n, 1);
    oracle::picture<u16> words(1, n, n, 1);
    int turn = 0;
    for (const int value : {110, 140, 40, 231, 3}) {
        bytes.fill([&](auto, auto, std::int64_t col, auto) -> int {
            return col % 3 == 1 ? value : random() % 16 == 0 ? 127 + static_cast<int>(random() % 3) : 128;
        });
        words.fill([&](auto, std::int64_t row, std::int64_t col, auto) { return bytes.view()(row, col); });
        for (const threshold_method method : methods)
            for (const double more : {0.0, 0x1p-19, -0x1p-19, 0x1p-22, -0x1p-22, 0x1p-25}) {
                threshold_rule rule = rule_of(method, 0, turn++);
                const double k = k_that_gives(value, n / 2, n / 2 / 3 * 3 + 1, words, rule, options);
                if (!(std::abs(k) < 1e6)) continue;  // Wolf's where the deviation is the largest
                rule.k = k * (1 + more);
                check_threshold(bytes, words, rule, options);
                ASSERT_FALSE(testing::Test::HasFatalFailure()) << value << " " << more;
            }
    }
}

/// Of every value, with k of which the threshold is that value, too.
TEST(byte_windows, flat_images_are_as_of_wider_pixels) {
    oracle::picture<u8> bytes(1, 4, 131, 1);
    oracle::picture<u16> words(1, 4, 131, 1);
    const filter_options options{.window = window(5), .threads = 1};
    for (int value = 0; value < 256; value += oracle::sanitized ? 51 : 1) {
        bytes.fill([&](auto...) { return value; });
        words.fill([&](auto...) { return value; });
        for (const threshold_method method : methods)
            for (const double sign : {1.0, -1.0}) {
                threshold_rule rule = rule_of(method, sign * default_k(method), value % 2);
                check_threshold(bytes, words, rule, options);
                const double k = k_that_gives(value, 2, 64, words, rule, options);
                if (!(std::abs(k) < 1e6)) continue;
                rule.k = k + sign * 0x1p-40;
                check_threshold(bytes, words, rule, options);
                ASSERT_FALSE(testing::Test::HasFatalFailure()) << value;
            }
    }
}

/// Means of sums on both sides of where they step, which images seldom have: a row that runs on from given windows and
/// changes none of them. Numbers of pixels at both ends of what each way of rounding holds for.
TEST(byte_windows, means_round_exactly) {
    for (const kernel_set& set : runnable())
        for (const u32 n : {1u,     2u,     3u,     48u,    49u,    15999u, 16000u, 31998u, 31999u,  32000u,
                            32766u, 32767u, 32768u, 40401u, 65024u, 65025u, 65026u, 65027u, 361201u, 8388607u})
            for (const bool half_up : {true, false}) {
                const std::int64_t block = set.kernels->byte->block;
                std::vector<u32> sums;
                for (u32 q = 0; q <= 255; ++q)
                    for (const s64 sum : {s64{q} * n - 1, s64{q} * n, s64{q} * n + (n + 1) / 2 - 1,
                                          s64{q} * n + (n + 1) / 2, s64{q} * n + n / 2})
                        sums.push_back(static_cast<u32>(std::clamp<s64>(sum, 0, s64{255} * n)));
                const auto count = static_cast<std::int64_t>(sums.size());
                const std::int64_t blocks = (count + block - 1) / block;
                std::vector<u32> running(static_cast<std::size_t>(blocks * block)), cols(running.size(), n);
                for (std::int64_t i = 0; i < count; ++i)
                    running[static_cast<std::size_t>(i / block * block + i % 4 * (block / 4) + i % block / 4)] =
                        sums[static_cast<std::size_t>(i)];
                const std::vector<f32> reciprocals(running.size(), 1 / static_cast<f32>(n));
                const std::vector<u16> nothing(running.size());
                byte_windows row{};
                row.in_even = row.in_odd = row.out_even = row.out_odd = nothing.data();
                row.channels = 1;
                row.running = running.data();
                for (const std::int64_t first_full : {std::int64_t{0}, blocks * block}) {
                    const byte_counts counts{1,      cols.data(), reciprocals.data(), n, first_full, blocks * block,
                                             nullptr};
                    std::vector<u8> out(sums.size());
                    set.kernels->byte->means(out.data(), row, counts, half_up, count);
                    for (std::size_t i = 0; i < sums.size(); ++i)
                        ASSERT_EQ(out[i], half_up ? (2 * u64{sums[i]} + n) / (2 * u64{n}) : sums[i] / n)
                            << set.name << " " << sums[i] << " / " << n << " " << half_up << " " << first_full;
                }
            }
}

TEST(byte_windows, means_of_columns_round_exactly) {
    for (const kernel_set& set : runnable())
        for (u32 rows = 2; rows <= most_column_rows; ++rows) {
            const std::int64_t block = set.kernels->byte->block, n = 255 * rows + 1;
            std::vector<u16> even(static_cast<std::size_t>((n + block) / 2 + block)), odd(even);
            for (u32 sum = 0; sum < n; ++sum) (sum % 2 == 0 ? even : odd)[sum / 2] = static_cast<u16>(sum);
            for (const bool half_up : {true, false}) {
                std::vector<u8> out(static_cast<std::size_t>(n) + 1, 99);
                set.kernels->byte->column_means(out.data(), even.data(), odd.data(), rows, half_up, n);
                for (u32 sum = 0; sum < n; ++sum)
                    ASSERT_EQ(out[sum], half_up ? (2 * sum + rows) / (2 * rows) : sum / rows)
                        << set.name << " " << sum << " / " << rows << " " << half_up;
                ASSERT_EQ(out.back(), 99) << set.name << " " << rows;
            }
        }
}

/// The largest of variances that 32 bits do not tell apart: windows of one value but for a few pixels that are one more
/// or one less, of which some have the sum of flat ones, in rows that run on from given windows.
TEST(byte_windows, largest_variance_is_that_of_the_definition) {
    std::mt19937 random(4);
    constexpr std::int64_t count = 203;
    constexpr u32 value = 119;
    for (const kernel_set& set : runnable())
        for (const u32 n : {1u, 2u, 961u, 361201u})
            for (const u32 most_others : {0u, 1u, n / 3})
                for (const bool balanced : {true, false}) {
                    const std::int64_t block = set.kernels->byte->block, room = (count + block - 1) / block * block;
                    const auto elements = static_cast<std::size_t>(room);
                    std::vector<u32> sums(elements), spreads(elements), cols(elements, n);
                    std::vector<f64> variances;
                    for (std::int64_t i = 0; i < room; ++i) {
                        const u32 more = static_cast<u32>(random() % (most_others + 1)),
                                  less = balanced ? std::min(more, n - more) : 0;
                        const auto spread = [](u32 x) { return x * (255 - x) / 2; };
                        const u32 s = n * value + more - less;
                        const u32 p =
                            (n - more - less) * spread(value) + more * spread(value + 1) + less * spread(value - 1);
                        const auto at =
                            static_cast<std::size_t>(i / block * block + i % 4 * (block / 4) + i % block / 4);
                        sums[at] = s;
                        spreads[at] = p;
                        const u64 numerator = u64{s} * (255 * u64{n} - s) - 2 * u64{n} * p;
                        if (i < count)
                            variances.push_back(static_cast<f64>(numerator) /
                                                (static_cast<f64>(n) * static_cast<f64>(n)));
                    }
                    const std::vector<f32> reciprocals(elements, 1 / static_cast<f32>(n));
                    const std::vector<u16> nothing(elements);
                    const std::vector<u8> x(elements, u8{value});
                    std::vector<f64> ordered = variances;
                    std::sort(ordered.begin(), ordered.end());
                    for (const f64 before : {0.0, ordered.back() * (1 - 0x1p-30), ordered.back(), 2.0})
                        for (const std::int64_t first_full : {std::int64_t{0}, room}) {
                            std::vector<u32> kept_sums = sums, kept_spreads = spreads;
                            byte_windows s{}, p{};
                            for (byte_windows* row : {&s, &p})
                                row->in_even = row->in_odd = row->out_even = row->out_odd = nothing.data();
                            s.running = kept_sums.data();
                            p.running = kept_spreads.data();
                            const byte_counts counts{1, cols.data(), reciprocals.data(), n, first_full, room, nullptr};
                            ASSERT_EQ(set.kernels->byte->largest_variance(before, x.data(), s, p, counts, count),
                                      std::max(before, ordered.back()))
                                << set.name << " " << n << " " << most_others << " " << balanced << " " << before;
                        }
                }
}

/// Past the caches or not, to rows that begin at a line of theirs or not.
TEST(row_kernels, numbers_are_stored) {
    std::mt19937 random(11);
    constexpr u32 guard = 0xabcdef01;
    std::vector<u32> given(300);
    for (u32& n : given) n = static_cast<u32>(random() % 1000) + 9;
    for (const kernel_set& set : runnable())
        for (const bool streaming : {false, true})
            for (const std::int64_t shift : {0, 1})
                for (const std::int64_t n : {0, 1, 15, 16, 33, 300}) {
                    alignas(64) std::array<u32, 320> to;
                    to.fill(guard);
                    set.kernels->block.number_32u(to.data() + shift, given.data(), n, streaming);
                    ASSERT_TRUE(std::equal(given.begin(), given.begin() + n, to.begin() + shift)) << set.name << n;
                    ASSERT_EQ(to[static_cast<std::size_t>(n + shift)], guard) << set.name << n;
                    std::vector<u32> one_less(given.begin(), given.begin() + n);
                    ASSERT_FALSE(set.kernels->block.any_below(one_less.data(), 9, n)) << set.name << n;
                    if (n == 0) continue;
                    one_less[random() % one_less.size()] = 8;
                    ASSERT_TRUE(set.kernels->block.any_below(one_less.data(), 9, n)) << set.name << n;
                }
}

/// Numbers of windows of bytes in the order of lanes and of pixels, and whether some of the row are too few.
TEST(byte_windows, numbers_and_their_inverses) {
    std::mt19937 random(12);
    for (const kernel_set& set : runnable())
        for (const std::int64_t count : {1, 64, 203, 256})
            for (int turn = 0; turn < 12; ++turn) {
                const std::int64_t block = set.kernels->byte->block, room = (count + block - 1) / block * block;
                const auto elements = static_cast<std::size_t>(room);
                const auto place = [&](std::int64_t i) {
                    return static_cast<std::size_t>(i / block * block + i % 4 * (block / 4) + i % block / 4);
                };
                std::vector<u32> running(elements), cols(elements);
                std::vector<f32> reciprocals(elements);
                const std::vector<u16> nothing(elements);
                for (std::int64_t i = 0; i < count; ++i)
                    running[place(i)] = static_cast<u32>(random() % (turn % 2 == 0 ? 50 : 500000)) + 5;
                const std::int64_t one = static_cast<std::int64_t>(random() % static_cast<u32>(count));
                if (turn % 3 == 0) running[place(one)] = turn % 2 == 0 ? 0 : 4;
                alignas(64) std::array<u32, 321> counted;
                counted.fill(99);
                byte_samples samples{};
                samples.numbers.in_even = samples.numbers.in_odd = nothing.data();
                samples.numbers.out_even = samples.numbers.out_odd = nothing.data();
                samples.numbers.running = running.data();
                samples.least = 5;
                const std::int64_t shift = turn / 6;
                samples.counted = counted.data() + shift;
                samples.streaming = turn % 4 < 2;
                samples.cols = cols.data();
                samples.reciprocals = reciprocals.data();
                ASSERT_EQ(set.kernels->byte->numbers(samples, count), turn % 3 == 0) << set.name << count;
                for (std::int64_t i = 0; i < count; ++i) {
                    const u32 n = running[place(i)];
                    ASSERT_EQ(cols[place(i)], n) << set.name << i;
                    ASSERT_EQ(counted[static_cast<std::size_t>(i + shift)], n) << set.name << i;
                    const f64 inverse = 1 / static_cast<f64>(std::max(n, 1u));
                    ASSERT_NEAR(static_cast<f64>(reciprocals[place(i)]), inverse, inverse * 0x3p-24) << set.name << n;
                }
                ASSERT_EQ(counted[static_cast<std::size_t>(count + shift)], 99u) << set.name << count;
            }
}

/// The same where pixels may not count, with their numbers: again as of wider pixels, whose windows know no bytes.
TEST(byte_windows, of_pixels_that_count_are_as_of_wider_pixels) {
    std::mt19937 random(9);
    const struct {
        window reach;
        std::int64_t channels, rows = 53;
    } cases[] = {{window(3), 1},
                 {window(8, 5), 3},
                 {window_radius(70, 33), 1},
                 {window_radius(2, 90), 4},
                 {window_extents{.above = 130, .below = 3, .left = 1, .right = 40}, 2},
                 {window_extents{.above = 130, .below = 3, .left = 1, .right = 40}, 1},
                 {window_radius(140, 5), 1, 150}};
    int turn = 0;
    for (const auto& c : cases) {
        const window& reach = c.reach;
        const std::int64_t channels = c.channels, rows = c.rows, cols = channels == 1 ? 150 : 41;
        const std::int64_t of_mask = channels == 4 ? 4 : 1;
        oracle::picture<u8> bytes(2, rows, cols, channels, 5), mask(1, rows, cols, of_mask, 2),
            out(2, rows, cols, channels, 3);
        oracle::picture<u16> words(2, rows, cols, channels, 1), expected(2, rows, cols, channels);
        oracle::picture<u32> number(2, rows, cols, channels, 1), expected_number(2, rows, cols, channels);
        oracle::picture<f32> real_number(2, rows, cols, channels, 2), mean(2, rows, cols, channels, 3),
            deviation(2, rows, cols, channels, 1), wide_mean(2, rows, cols, channels),
            wide_deviation(2, rows, cols, channels);
        oracle::picture<u8> verdict(2, rows, cols, channels);
        // Noise above, areas of one value, of which some do not count, below.
        bytes.fill([&](std::int64_t, std::int64_t row, std::int64_t col, std::int64_t) {
            return row > 40 ? (col < cols / 2 ? 40 : 77) : random() % 4 == 0 ? 77 : random();
        });
        mask.fill([&](std::int64_t, std::int64_t row, std::int64_t col, std::int64_t) {
            return row > 30 && col < cols / 3 ? 0 : random() % 3;
        });
        words.fill([&](std::int64_t p, std::int64_t row, std::int64_t col, std::int64_t k) {
            return bytes.view()(row, col, k, p);
        });
        for (const border_mode border : {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                         border_mode::constant, border_mode::mirror, border_mode::wrap})
            for (const bool masked : {true, false}) {
                filter_options options{.window = reach, .border = border, .threads = 1};
                if (border == border_mode::constant) options.border_value = turn % 2 == 0 ? 77 : 200;
                if (turn % 3 == 0) options.rounding = rounding_mode::floor;
                if (!masked || turn % 2 == 0) options.nodata = 77;
                if (turn % 4 == 1) options.min_count = 9;
                if (turn++ % 5 < 3) options.fill = 13;
                filter_inputs of_words{.image = words.view()}, of_bytes{.image = bytes.view()};
                if (masked) of_words.mask = of_bytes.mask = mask.view();
                const auto for_each_set = [&](auto&& check) {
                    for (const kernel_set& set : runnable()) {
                        SCOPED_TRACE(set.name + " " + std::string(name_of(border)) + ", " + std::to_string(channels) +
                                     " channels, turn " + std::to_string(turn));
                        row_job job(windows_of(part_of(of_bytes), options), of_bytes);
                        job.kernels = set.kernels;
                        for (auto* image : {&mean, &deviation, &real_number}) image->fill([](auto...) { return 99; });
                        for (auto* image : {&out}) image->fill([](auto...) { return 99; });
                        number.fill([](auto...) { return 99; });
                        check(job);
                        ASSERT_TRUE(out.guards_intact() && number.guards_intact() && real_number.guards_intact());
                        ASSERT_TRUE(mean.guards_intact() && deviation.guards_intact());
                    }
                };
                const auto same = [](const auto& got, const auto& wanted) {
                    using type = std::remove_cvref_t<decltype(got.view()(0, 0))>;
                    return oracle::first_difference(
                        got.view(), [&](auto... at) { return static_cast<type>(wanted.view()(at...)); });
                };
                box_filter(of_words, {expected.view(), expected_number.view()}, options);
                for_each_set([&](const row_job& job) {
                    filters::box_filter(job, {out.view(), number.view()});
                    ASSERT_EQ(same(out, expected), "");
                    ASSERT_EQ(same(number, expected_number), "");
                });
                local_statistics(of_words, {.mean = wide_mean.view(), .deviation = wide_deviation.view()}, options);
                for_each_set([&](const row_job& job) {
                    filters::local_statistics(
                        job, {.mean = mean.view(), .deviation = deviation.view(), .count = real_number.view()});
                    ASSERT_EQ(same(mean, wide_mean), "");
                    ASSERT_EQ(same(deviation, wide_deviation), "");
                    ASSERT_EQ(same(real_number, expected_number), "");
                });
                local_contrast(of_words, {wide_mean.view()}, {.epsilon = 2}, options);
                for_each_set([&](const row_job& job) {
                    filters::local_contrast(job, 2, {mean.view(), number.view()});
                    ASSERT_EQ(same(mean, wide_mean), "");
                    ASSERT_EQ(same(number, expected_number), "");
                });
                for (const threshold_method method : methods) {
                    if (!has_its_turn(method, turn)) continue;
                    const threshold_rule rule = rule_of(method, default_k(method), turn);
                    adaptive_threshold(of_words, {verdict.view()}, rule, options);
                    for_each_set([&](const row_job& job) {
                        filters::adaptive_threshold(
                            job, make_threshold_job(part_of(of_bytes), {out.view().shape()}, rule, options),
                            {out.view(), real_number.view()});
                        ASSERT_EQ(same(out, verdict), "") << name_of(method);
                        ASSERT_EQ(same(real_number, expected_number), "");
                    });
                }
                ASSERT_FALSE(testing::Test::HasFatalFailure());
            }
    }
}

}  // namespace
}  // namespace boxsum
