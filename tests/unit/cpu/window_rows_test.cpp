#include "cpu/queries/window_rows.hpp"

#include "cpu/instruction_set.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

namespace boxsum::cpu {
namespace {

std::vector<const window_row_kernels*> sets_of_this_machine() {
    std::vector<const window_row_kernels*> sets;
#if defined(__x86_64__)
    if ((machine_features() & has_avx2) != 0) sets.push_back(&avx2::window_rows);
    if ((machine_features() & has_avx512) != 0) sets.push_back(&avx512::window_rows);
#endif
    return sets;
}

/// Rows of any bits; floats are numbers, or their sums and quotients would be NaNs of any sign.
template <typename T>
std::vector<T> random_row(std::size_t n, std::mt19937_64& random) {
    std::vector<T> row(n);
    for (T& x : row) {
        if constexpr (std::is_floating_point_v<T>)
            x = static_cast<T>(static_cast<double>(random()) / 1e15 - 9000);
        else
            x = static_cast<T>(random());
    }
    return row;
}

#if defined(__x86_64__)
/// Measurements of a lesser machine: nothing beyond what is allowed, and all again afterwards.
TEST(window_rows, come_from_the_best_set_that_is_allowed) {
    const unsigned all = machine_features();
    allow_features(has_avx2);
    EXPECT_EQ(machine_features(), all & has_avx2);
    EXPECT_EQ(&window_rows_of_this_machine(), (all & has_avx2) != 0 ? &avx2::window_rows : &baseline::window_rows);
    allow_features(0);
    EXPECT_EQ(machine_features(), 0U);
    EXPECT_EQ(&window_rows_of_this_machine(), &baseline::window_rows);
    allow_features(~0U);
    EXPECT_EQ(machine_features(), all);
}
#endif

/// Every set has the bits of the plain one, for every remainder of its vectors, and writes nothing behind a row. (What
/// the plain one computes is tested through the API, tests/unit/api/window_queries_test.cpp.)
TEST(window_rows, all_sets_have_the_same_bits) {
    std::mt19937_64 random(3);
    const window_row_kernels& plain = baseline::window_rows;
    for (const window_row_kernels* set : sets_of_this_machine())
        for (std::int64_t n = 0; n < 70; ++n) {
            const auto size = static_cast<std::size_t>(n);
            const auto counts = std::vector<f64>(size, 7);
            const auto check_type = [&]<typename T>(const table_row_kernels<T>& a, const table_row_kernels<T>& b) {
                const auto x = random_row<T>(size + 9, random), y = random_row<T>(size + 9, random);
                const auto check = [&]<typename Out>(std::type_identity<Out>, const auto& call) {
                    std::vector<Out> wanted(size + 1, Out{77}), got(size + 1, Out{77});
                    call(a, wanted.data());
                    call(b, got.data());
                    EXPECT_EQ(std::memcmp(wanted.data(), got.data(), wanted.size() * sizeof(Out)), 0) << n;
                };
                using std::type_identity;
                check(type_identity<T>{}, [&](auto& k, T* out) { k.differences(out, x.data(), y.data(), n); });
                check(type_identity<T>{}, [&](auto& k, T* out) { k.differences(out, x.data(), nullptr, n); });
                check(type_identity<T>{}, [&](auto& k, T* out) { k.sums(out, x.data(), 9, n); });
                check(type_identity<f64>{}, [&](auto& k, f64* out) { k.convert(out, x.data(), n); });
                check(type_identity<f64>{},
                      [&](auto& k, f64* out) { k.means_64f(out, x.data(), 3, counts.data(), n); });
                check(type_identity<f32>{},
                      [&](auto& k, f32* out) { k.means_32f(out, x.data(), 0.3, counts.data(), n); });
                if constexpr (std::is_integral_v<T>)
                    check(type_identity<u64>{}, [&](auto& k, u64* out) { k.widen(out, x.data(), n); });
            };
            std::apply(
                [&](const auto&... a) { std::apply([&](const auto&... b) { (check_type(a, b), ...); }, set->table); },
                plain.table);

            const auto s = random_row<f64>(size, random), q = random_row<f64>(size, random);
            auto whole = random_row<u64>(size, random), squares = random_row<u64>(size, random);
            for (u64& w : whole) w >>= 36;
            for (u64& w : squares) w >>= 8;
            std::vector<f64> wanted(size + 1, 77), got(size + 1, 77);
            plain.variances(wanted.data(), s.data(), q.data(), 3, counts.data(), n);
            set->variances(got.data(), s.data(), q.data(), 3, counts.data(), n);
            EXPECT_EQ(wanted, got);
            plain.exact_variances(wanted.data(), whole.data(), squares.data(), 3, counts.data(), n);
            set->exact_variances(got.data(), whole.data(), squares.data(), 3, counts.data(), n);
            EXPECT_EQ(wanted, got);
            EXPECT_EQ(plain.bits(whole.data(), n), set->bits(whole.data(), n));
            squares.push_back(static_cast<u64>(-5));
            EXPECT_EQ(plain.magnitude_bits(squares.data(), n + 1), set->magnitude_bits(squares.data(), n + 1));
        }
    const u64 both[] = {static_cast<u64>(-5), 8};
    EXPECT_EQ(plain.magnitude_bits(both, 2), u64{13});
    EXPECT_EQ(plain.bits(both, 2), static_cast<u64>(-5));
}

}  // namespace
}  // namespace boxsum::cpu
