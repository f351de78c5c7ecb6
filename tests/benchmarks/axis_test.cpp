#include "report/axis.hpp"

#include <gtest/gtest.h>

namespace boxsum::bench {
namespace {

std::vector<std::string> texts(const std::vector<tick>& ticks) {
    std::vector<std::string> all;
    for (const tick& t : ticks) all.push_back(t.text);
    return all;
}

TEST(axis, logarithmic_positions_are_by_ratio) {
    const axis a = axis_for({0.013, 4.2}, true, 300, 0);
    EXPECT_EQ(a.low, 0.01);
    EXPECT_EQ(a.high, 5);
    EXPECT_DOUBLE_EQ(a.at(a.low), 300);
    EXPECT_NEAR(a.at(a.high), 0, 1e-9);
    EXPECT_NEAR(a.at(0.1) - a.at(1), a.at(0.01) - a.at(0.1), 1e-9);
    EXPECT_EQ(texts(ticks_of(a)),
              (std::vector<std::string>{"0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5"}));
}

TEST(axis, wide_logarithmic_ranges_name_the_powers_only) {
    const std::vector<tick> ticks = ticks_of(axis_for({1, 50000}, true, 0, 1));
    EXPECT_EQ(ticks[0].text, "1");
    EXPECT_EQ(ticks[1].text, "");
    EXPECT_EQ(ticks[3].text, "10");
}

TEST(axis, linear_ranges_begin_at_zero_or_below) {
    const axis a = axis_for({3, 17}, false, 0, 100);
    EXPECT_EQ(a.low, 0);
    EXPECT_GE(a.high, 17);
    EXPECT_EQ(ticks_of(a).front().text, "0");
    EXPECT_LT(axis_for({-3, 17}, false, 0, 100).low, -2.9);
}

TEST(axis, degenerate_values_do_not_break_it) {
    for (const bool logarithmic : {false, true})
        for (const std::vector<double>& values : {std::vector<double>{}, {0}, {5}, {5, 5}, {-1, 0}}) {
            const axis a = axis_for(values, logarithmic, 0, 100);
            EXPECT_LT(a.low, a.high);
            EXPECT_FALSE(ticks_of(a).empty());
        }
}

TEST(size_ticks, are_powers_of_two_and_the_last_value) {
    std::vector<double> thousands;
    for (int k = 1; k <= 20; ++k) thousands.push_back(1024.0 * k);
    EXPECT_EQ(texts(size_ticks(thousands)), (std::vector<std::string>{"1K", "2K", "4K", "8K", "16K", "20K"}));
    EXPECT_EQ(texts(size_ticks({128, 800})), (std::vector<std::string>{"128", "800"}));
    EXPECT_TRUE(size_ticks({}).empty());
}

TEST(short_number, has_three_digits) {
    EXPECT_EQ(short_number(0.00512), "0.00512");
    EXPECT_EQ(short_number(14.7), "14.7");
    EXPECT_EQ(short_number(1659.8), "1660");
    EXPECT_EQ(short_number(0.1), "0.1");
    EXPECT_EQ(short_number(0), "0");
    EXPECT_EQ(short_number(-2.5), "-2.5");
}

TEST(three_digits, keeps_zeros_and_carries) {
    EXPECT_EQ(three_digits(14), "14.0");
    EXPECT_EQ(three_digits(0.005), "0.00500");
    EXPECT_EQ(three_digits(1659.8), "1660");
    EXPECT_EQ(three_digits(9.996), "10.0");
    EXPECT_EQ(three_digits(9.994), "9.99");
    EXPECT_EQ(three_digits(0), "0");
}

}  // namespace
}  // namespace boxsum::bench
