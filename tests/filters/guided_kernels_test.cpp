// The linear functions of the guided filter, on every instruction set that this machine runs.

#include "cpu/filters/guided_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace boxsum {
namespace {

using namespace filters;

std::vector<std::pair<std::string, const guided_kernels*>> guided_sets() {
    std::vector<std::pair<std::string, const guided_kernels*>> sets = {{"baseline", &baseline::guided}};
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) sets.emplace_back("avx2", &avx2::guided);
    if (&guided_of_this_machine() == &avx512::guided) sets.emplace_back("avx512", &avx512::guided);
#endif
    return sets;
}

/// Rows of n random numbers, with guards behind them.
struct random_rows {
    std::vector<std::vector<f64>> rows;
    std::mt19937 random{5};

    const f64* add(std::int64_t n, f64 least, f64 most) {
        std::vector<f64>& row = rows.emplace_back();
        for (std::int64_t i = 0; i < n; ++i) row.push_back(std::uniform_real_distribution<f64>(least, most)(random));
        return row.data();
    }
};

/// Each set's a and b have the bits of the first one's, and a solves its equations.
TEST(guided_kernels, solve_and_have_the_same_bits_everywhere) {
    for (const std::int64_t n : {1, 7, 8, 37})
        for (std::size_t guides = 1; guides <= 4; ++guides) {
            random_rows random;
            random.rows.reserve(32);
            fit_rows rows{};
            const std::size_t pairs = guides * (guides - 1) / 2;
            for (std::size_t i = 0; i < guides; ++i) {
                rows.mean[i] = random.add(n, 0, 100);
                rows.variance[i] = random.add(n, 50, 90);
            }
            rows.image_mean = random.add(n, 0, 100);
            rows.image_variance = random.add(n, 50, 90);
            // Variances of sums whose covariances are small beside the variances: matrices are positive.
            for (std::size_t i = 0; i < guides; ++i) rows.with_image[i] = random.add(n, 100, 180);
            for (std::size_t i = 0; i < pairs; ++i) rows.between[i] = random.add(n, 120, 160);
            std::vector<std::vector<f64>> first;
            for (const auto& [name, kernels] : guided_sets()) {
                std::vector<std::vector<f64>> to(guides + 1, std::vector<f64>(static_cast<std::size_t>(n) + 1, -7));
                for (std::size_t i = 0; i <= guides; ++i) rows.to[i] = to[i].data();
                kernels->fit[guides - 1](rows, 0.5, n);
                for (const auto& row : to) ASSERT_EQ(row.back(), -7) << name;
                if (first.empty()) first = to;
                ASSERT_EQ(to, first) << name << " " << guides << " guides, " << n;
            }
            for (std::size_t c = 0; c < static_cast<std::size_t>(n); ++c) {
                f64 b = rows.image_mean[c];
                for (std::size_t i = 0; i < guides; ++i) {
                    const f64 wanted = (rows.with_image[i][c] - rows.variance[i][c] - rows.image_variance[c]) / 2;
                    f64 found = (rows.variance[i][c] + 0.5) * first[i][c];
                    for (std::size_t j = 0; j < guides; ++j) {
                        if (j == i) continue;
                        const std::size_t high = i > j ? i : j, low = i > j ? j : i;
                        found +=
                            (rows.between[high * (high - 1) / 2 + low][c] - rows.variance[i][c] - rows.variance[j][c]) /
                            2 * first[j][c];
                    }
                    ASSERT_NEAR(found, wanted, 1e-10) << guides << " " << c;
                    b -= first[i][c] * rows.mean[i][c];
                }
                ASSERT_NEAR(first[guides][c], b, 1e-10);
            }
        }
}

TEST(guided_kernels, of_a_guide_that_is_the_image) {
    for (const auto& [name, kernels] : guided_sets()) {
        std::vector<f64> a, b;
        for (int i = 0; i < 21; ++i) {
            a.push_back(i);
            b.push_back(3 * i - 20);
        }
        const std::vector<f64> variance = a, mean = b;
        kernels->fit_itself(a.data(), b.data(), 0.25, 20);
        for (std::size_t i = 0; i < 20; ++i) {
            const f64 share = variance[i] / (variance[i] + 0.25);
            ASSERT_EQ(a[i], share) << name;
            ASSERT_EQ(b[i], mean[i] - share * mean[i]) << name;
        }
        ASSERT_EQ(a[20], 20);
        ASSERT_EQ(b[20], 40);
        std::vector<f64> q(21, 0.5);
        std::vector<u8> x(21, 3);
        std::get<guide_kernels<u8>>(kernels->guide).add_product(q.data(), variance.data(), x.data(), 20);
        for (std::size_t i = 0; i < 20; ++i) ASSERT_EQ(q[i], 0.5 + 3 * static_cast<f64>(i)) << name;
        ASSERT_EQ(q[20], 0.5);
    }
}

/// Sums of windows of 25 pixels become the same bits in each set, fits those of the definition.
TEST(guided_kernels, of_bytes_have_the_same_bits_everywhere) {
    constexpr std::size_t n = 37;
    constexpr f64 epsilon = 30;
    const byte_fit_scales scales{0x1p36, 0x1p28};
    std::mt19937 random(6);
    std::vector<u8> x(25 * n), y(25 * n);
    for (std::vector<u8>* pixels : {&x, &y})
        for (u8& p : *pixels) p = static_cast<u8>(random() >> 9);
    const std::vector<f64> cols(n, 5), inverse_cols(n, 0.2);
    const byte_window_counts counts{5, 0.2, cols.data(), inverse_cols.data()};
    for (const bool itself : {false, true}) {
        std::vector<s64> first_a, first_b;
        std::vector<u8> first_results;
        for (const auto& [name, kernels] : guided_sets()) {
            const byte_guide_kernels& k = kernels->bytes;
            std::vector<u32> image(n + 1, 0), guide(n + 1, 0), squares(n + 1, 9), products(n + 1, 9);
            k.add_products(squares.data(), y.data(), y.data(), 2, n);  // and out again
            k.add_products(squares.data(), y.data(), y.data(), ~0u, n);
            k.add_products(products.data(), x.data(), y.data(), 1, n);
            for (std::size_t row = 1; row < 25; ++row) {
                k.add_products(squares.data(), &y[row * n], &y[row * n], 1, n);
                k.slide_products(products.data(), &x[row * n], &y[row * n], x.data(), y.data(), n);
                k.add_products(products.data(), x.data(), y.data(), 1, n);
            }
            for (std::size_t c = 0; c < n; ++c) {
                u32 of_squares = 9, of_products = 9;
                for (std::size_t row = 0; row < 25; ++row) {
                    image[c] += x[row * n + c];
                    guide[c] += y[row * n + c];
                    of_squares += u32{y[row * n + c]} * y[row * n + c];
                    of_products += u32{x[row * n + c]} * y[row * n + c];
                }
                ASSERT_EQ(squares[c], of_squares) << name;
                ASSERT_EQ(products[c], of_products) << name;
                squares[c] -= 9;
                products[c] -= 9;
            }
            ASSERT_EQ(squares[n] + products[n], 18);
            byte_guide_sums sums{};
            sums.guide[0] = guide.data();
            sums.products[0] = squares.data();
            sums.image = image.data();
            sums.with_image[0] = products.data();
            std::vector<s64> a(n + 1, 7), b(n + 1, 7);
            s64* const to[] = {a.data(), b.data()};
            k.fit[itself ? 0 : 1](to, sums, counts, epsilon, scales, n);
            for (std::size_t c = 0; c < n; ++c) {
                const f64 g = guide[c] / 25.0, p = itself ? g : image[c] / 25.0;
                const f64 variance = squares[c] / 25.0 - g * g;
                const f64 slope = (itself ? variance : products[c] / 25.0 - g * p) / (variance + epsilon);
                ASSERT_NEAR(static_cast<f64>(a[c]) / scales.a, slope, 0x1p-36) << name;
                ASSERT_NEAR(static_cast<f64>(b[c]) / scales.b, p - slope * g, 0x1p-28) << name;
            }
            // Windows of fits whose sums have both signs: 25 times what was found.
            std::vector<u64> of_a(n + 1, 3), of_b(n + 1, 3);
            std::vector<u64> bits_a(a.begin(), a.end()), bits_b(b.begin(), b.end());
            k.add_fits(of_a.data(), bits_a.data(), 25, n);
            k.add_fits(of_b.data(), bits_b.data(), 24, n);
            k.slide_fits(of_b.data(), bits_b.data(), std::vector<u64>(n).data(), n);
            for (std::size_t c = 0; c < n; ++c) {
                of_a[c] -= 3;
                of_b[c] -= 3;
                ASSERT_EQ(static_cast<s64>(of_a[c]), 25 * a[c]) << name;
                ASSERT_EQ(static_cast<s64>(of_b[c]), 25 * b[c]) << name;
            }
            std::vector<u8> results(n + 1, 7);
            const u64* const fits[] = {of_a.data(), of_b.data()};
            const u8* const guides[] = {y.data()};
            k.apply[0](results.data(), fits, guides, counts, scales, 0.5, n);
            for (std::size_t c = 0; c < n; ++c) {
                const f64 value = static_cast<f64>(a[c]) / scales.a * y[c] + static_cast<f64>(b[c]) / scales.b;
                ASSERT_NEAR(results[c], std::min(std::max(value, 0.0), 255.0), 0.5 + 1e-6) << name;
            }
            ASSERT_EQ(a[n] + b[n] + results[n] + static_cast<s64>(of_a[n] + of_b[n]), 7 * 3 + 3 + 3);
            if (first_a.empty()) {
                first_a = a;
                first_b = b;
                first_results = results;
            }
            ASSERT_TRUE(a == first_a && b == first_b && results == first_results) << name;
        }
    }
}

/// The same of several guides, beside the solution in double.
TEST(guided_kernels, of_bytes_solve_as_of_doubles) {
    constexpr std::size_t n = 21, pixels = 25;
    constexpr f64 epsilon = 30;
    const byte_fit_scales scales{0x1p36, 0x1p28};
    const std::vector<f64> cols(n, 5), inverse_cols(n, 0.2);
    const byte_window_counts counts{5, 0.2, cols.data(), inverse_cols.data()};
    std::mt19937 random(8);
    for (std::size_t guides = 2; guides <= 4; ++guides) {
        std::vector<std::vector<s64>> first;
        std::vector<u8> first_results;
        std::vector<std::vector<u8>> planes(guides + 1, std::vector<u8>(pixels * n));  // the image's is the last
        for (auto& plane : planes)
            for (u8& p : plane) p = static_cast<u8>(random() >> 9);
        // Sums, and what they are as rows of doubles: means, variances and those of sums.
        std::vector<std::vector<u32>> sums(guides + 1, std::vector<u32>(n)), products;
        std::vector<std::vector<f64>> real(2 * (guides + 1), std::vector<f64>(n)), real_pairs;
        const auto product = [&](std::size_t i, std::size_t j) {
            std::vector<u32> sum(n);
            for (std::size_t p = 0; p < pixels * n; ++p) sum[p % n] += u32{planes[i][p]} * planes[j][p];
            return sum;
        };
        byte_guide_sums given{};
        fit_rows rows{};
        products.reserve(20);
        real_pairs.reserve(20);
        for (std::size_t i = 0; i <= guides; ++i) {
            for (std::size_t p = 0; p < pixels * n; ++p) sums[i][p % n] += planes[i][p];
            const std::vector<u32> squares = product(i, i);
            for (std::size_t c = 0; c < n; ++c) {
                const f64 mean = sums[i][c] / 25.0;
                real[2 * i][c] = mean;
                real[2 * i + 1][c] = squares[c] / 25.0 - mean * mean;
            }
            for (std::size_t j = 0; j <= i && i < guides; ++j) products.push_back(product(i, j));
        }
        const std::size_t pairs = products.size();
        for (std::size_t i = 0; i < guides; ++i) products.push_back(product(i, guides));
        const auto of_sum = [&](const std::vector<u32>& of_products, std::size_t i, std::size_t j) {
            std::vector<f64>& row = real_pairs.emplace_back(n);
            for (std::size_t c = 0; c < n; ++c)
                row[c] = real[2 * i + 1][c] + real[2 * j + 1][c] +
                         2 * (of_products[c] / 25.0 - real[2 * i][c] * real[2 * j][c]);
            return row.data();
        };
        for (std::size_t i = 0; i < guides; ++i) {
            given.guide[i] = sums[i].data();
            given.with_image[i] = products[pairs + i].data();
            rows.mean[i] = real[2 * i].data();
            rows.variance[i] = real[2 * i + 1].data();
            rows.with_image[i] = of_sum(products[pairs + i], i, guides);
            for (std::size_t j = 0; j < i; ++j)
                rows.between[i * (i - 1) / 2 + j] = of_sum(products[i * (i + 1) / 2 + j], i, j);
        }
        for (std::size_t i = 0; i < pairs; ++i) given.products[i] = products[i].data();
        given.image = sums[guides].data();
        rows.image_mean = real[2 * guides].data();
        rows.image_variance = real[2 * guides + 1].data();
        std::vector<std::vector<f64>> wanted(guides + 1, std::vector<f64>(n));
        for (std::size_t i = 0; i <= guides; ++i) rows.to[i] = wanted[i].data();
        baseline::guided.fit[guides - 1](rows, epsilon, n);
        for (const auto& [name, kernels] : guided_sets()) {
            std::vector<std::vector<s64>> found(guides + 1, std::vector<s64>(n + 1, 7));
            std::vector<u8> results(n + 1, 7);
            s64* to[5];
            const u64* fits[5];
            const u8* of_guides[4];
            for (std::size_t i = 0; i <= guides; ++i) {
                to[i] = found[i].data();
                fits[i] = reinterpret_cast<const u64*>(found[i].data());  // windows that are one fit
                if (i < guides) of_guides[i] = planes[i].data();
            }
            kernels->bytes.fit[guides](to, given, counts, epsilon, scales, n);
            const std::vector<f64> one(n, 1);
            kernels->bytes.apply[guides - 1](results.data(), fits, of_guides, {1, 1, one.data(), one.data()}, scales,
                                             0.5, n);
            for (std::size_t c = 0; c < n; ++c) {
                f64 value = wanted[guides][c];
                for (std::size_t i = 0; i < guides; ++i) {
                    ASSERT_NEAR(static_cast<f64>(found[i][c]) / scales.a, wanted[i][c], 0x1p-35) << name << guides;
                    value += wanted[i][c] * planes[i][c];
                }
                ASSERT_NEAR(static_cast<f64>(found[guides][c]) / scales.b, wanted[guides][c], 0x1p-27) << name;
                ASSERT_NEAR(results[c], std::min(std::max(value, 0.0), 255.0), 0.5 + 1e-6) << name;
            }
            for (const auto& row : found) ASSERT_EQ(row[n], 7);
            ASSERT_EQ(results[n], 7);
            if (first.empty()) {
                first = found;
                first_results = results;
            }
            ASSERT_TRUE(found == first && results == first_results) << name;
        }
    }
}

}  // namespace
}  // namespace boxsum
