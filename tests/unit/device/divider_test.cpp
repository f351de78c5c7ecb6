#include "cuda/device/divider.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace boxsum::cuda {
namespace {

constexpr std::uint32_t largest = (1u << 31) - 1;

TEST(device_divider, agrees_with_division_at_the_ends_of_every_quotient) {
    std::mt19937 generator(1);
    const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
    for (int i = 0; i < 20000; ++i) {
        const std::uint32_t d = i < 5000 ? static_cast<std::uint32_t>(i) + 1 : (random() >> (1 + i % 31)) + 1;
        if (d > largest) continue;
        const divider by(d);
        EXPECT_EQ(by.divisor(), d);
        for (int k = 0; k < 8; ++k) {
            const std::uint32_t q = k == 0 ? largest / d : k == 1 ? 0 : random() % (largest / d + 1);
            // First and last number with this quotient.
            ASSERT_EQ(by.quotient(q * d), q) << "divisor " << d;
            const std::uint64_t last = std::uint64_t{q} * d + d - 1;
            const std::uint32_t n = last > largest ? largest : static_cast<std::uint32_t>(last);
            ASSERT_EQ(by.quotient(n), n / d) << "divisor " << d;
        }
    }
}

TEST(device_divider, small_numbers_are_all_right) {
    for (std::uint32_t d = 1; d <= 300; ++d)
        for (std::uint32_t n = 0; n <= 3000; ++n) ASSERT_EQ(divider(d).quotient(n), n / d);
}

TEST(device_divider, divides_by_one_unless_told) {
    EXPECT_EQ(divider().divisor(), 1u);
    EXPECT_EQ(divider().quotient(largest), largest);
    EXPECT_EQ(divider(1).quotient(largest), largest);
    EXPECT_EQ(divider(largest).quotient(largest), 1u);
    EXPECT_EQ(divider(largest).quotient(largest - 1), 0u);
}

}  // namespace
}  // namespace boxsum::cuda
