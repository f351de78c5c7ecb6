// The linear functions of the guided filter, on every instruction set that this machine runs.

#include "cpu/filters/guided_kernels.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace boxsum
