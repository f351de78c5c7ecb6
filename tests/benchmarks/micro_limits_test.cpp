#include "sat/micro_limits.hpp"

#include <gtest/gtest.h>

namespace boxsum::bench {
namespace {

micro_row bandwidth(double value) {
    return {"shared memory bandwidth", value, value - 1, value + 1, "bytes a clock", ""};
}

TEST(micro_limits, what_a_device_cannot_do_is_no_result) {
    const micro_row right = held_to(bandwidth(127.5), 32, shared_bytes_a_clock);
    EXPECT_EQ(right.value, 127.5);
    EXPECT_FALSE(right.wrong());
    EXPECT_FALSE(held_to(bandwidth(129), 32, shared_bytes_a_clock).wrong());  // a hundredth for reading the clock

    const micro_row wrong = held_to(bandwidth(484.8), 32, shared_bytes_a_clock);
    EXPECT_TRUE(wrong.wrong());
    EXPECT_FALSE(wrong.value || wrong.low || wrong.high);
    EXPECT_NE(wrong.check.find("484.8"), std::string::npos);
    EXPECT_NE(wrong.check.find("128"), std::string::npos);
    EXPECT_TRUE(held_to(bandwidth(20), 32, shared_bytes_a_clock).wrong());
}

TEST(micro_limits, throughputs_are_those_of_the_compute_capability) {
    EXPECT_EQ(throughput_of(6, 0).float_additions, 64);  // P100 and V100: what Chen et al. print
    EXPECT_EQ(throughput_of(7, 0).float_additions, 64);
    EXPECT_EQ(throughput_of(9, 0).float_additions, 128);
    EXPECT_EQ(throughput_of(9, 0).logical_operations, 64);
    EXPECT_EQ(throughput_of(9, 0).shuffles, 32);
}

}  // namespace
}  // namespace boxsum::bench
