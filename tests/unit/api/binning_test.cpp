#include <boxsum/binning.hpp>
#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace boxsum {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <typename F>
std::string message_of_invalid(F&& f) {
    try {
        f();
    } catch (const invalid_argument& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST(binning, uniform_edges) {
    const binning b = binning::uniform(4, 0, 256);
    EXPECT_EQ(b.bin_of(0), 0);
    EXPECT_EQ(b.bin_of(63.999), 0);
    EXPECT_EQ(b.bin_of(64), 1);
    EXPECT_EQ(b.bin_of(255), 3);
    EXPECT_EQ(b.bin_of(std::nextafter(256.0, 0)), 3);
    for (const double outside : {-1e-300, 256.0, inf, -inf, nan, 1e300}) EXPECT_EQ(b.bin_of(outside), -1) << outside;
}

TEST(binning, clamping_takes_everything_but_nan) {
    const binning b = binning::uniform(4, 0, 256, out_of_range::clamped);
    EXPECT_EQ(b.bin_of(-1e-300), 0);
    EXPECT_EQ(b.bin_of(-inf), 0);
    EXPECT_EQ(b.bin_of(256), 3);
    EXPECT_EQ(b.bin_of(inf), 3);
    EXPECT_EQ(b.bin_of(nan), -1);
}

TEST(binning, rounding_never_leaves_the_last_bin) {
    // The largest value below 0.1, times 5 / 0.1, rounds to 5.
    const binning b = binning::uniform(5, 0, 0.1);
    const double below = std::nextafter(0.1, 0);
    ASSERT_GE(below * (5 / 0.1), 5);
    EXPECT_EQ(b.bin_of(below), 4);
}

TEST(binning, lookup) {
    std::vector<std::uint16_t> table(256, binning::no_bin);
    table[7] = 2;
    const binning b = binning::lookup(3, table);
    EXPECT_EQ(b.bin_of(7), 2);
    EXPECT_EQ(b.bin_of(8), -1);
}

TEST(binning, indices) {
    EXPECT_EQ(binning::indices(5).bin_of(4), 4);
    EXPECT_EQ(binning::indices(5).bin_of(5), -1);
    EXPECT_EQ(binning::indices(5).bin_of(-1), -1);
    EXPECT_EQ(binning::indices(5, out_of_range::clamped).bin_of(77), 4);
}

TEST(binning, mistakes_are_named) {
    EXPECT_THROW(binning::uniform(4, 0, 1, static_cast<out_of_range>(7)), invalid_argument);
    EXPECT_THROW(binning::indices(4, static_cast<out_of_range>(7)), invalid_argument);
    EXPECT_EQ(message_of_invalid([] { binning::uniform(0, 0, 1); }), "bins: is 0, must be 1 to 1024");
    EXPECT_EQ(message_of_invalid([] { binning::indices(1025); }), "bins: is 1025, must be 1 to 1024");
    EXPECT_NE(message_of_invalid([] { binning::uniform(4, 3.5, 3); }).find("range: is [3.5, 3), "), std::string::npos);
    EXPECT_EQ(message_of_invalid([] { binning::uniform(3, 0, 1e-320); }),
              "range: is [0, 1e-320), too narrow for 3 bins");
    EXPECT_NE(message_of_invalid([] { binning::uniform(4, 0, inf); }).find("must be finite"), std::string::npos);
    EXPECT_NE(message_of_invalid([] { binning::uniform(4, nan, 1); }).find("must be finite"), std::string::npos);
    EXPECT_NE(message_of_invalid([] { binning::uniform(4, -1e308, 1e308); }).find("width"), std::string::npos);
    EXPECT_NE(message_of_invalid([] { binning::uniform(4, 0, 5e-324); }).find("too narrow"), std::string::npos);
    EXPECT_NE(message_of_invalid([] { binning::lookup(4, std::vector<std::uint16_t>(255)); }).find("255 entries"),
              std::string::npos);
    std::vector<std::uint16_t> table(256);
    table[9] = 4;
    EXPECT_EQ(message_of_invalid([&] { binning::lookup(4, table); }), "table: entry 9 is 4, must be below 4 or no_bin");
}

}  // namespace
}  // namespace boxsum
