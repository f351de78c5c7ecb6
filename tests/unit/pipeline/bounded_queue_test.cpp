#include "pipeline/bounded_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace boxsum::detail {
namespace {

TEST(bounded_queue, hands_values_over_in_order) {
    bounded_queue<int> queue(3);
    constexpr int n = 2000;
    std::thread producer([&] {
        for (int i = 0; i < n; ++i) ASSERT_TRUE(queue.push(i));
        queue.close();
    });
    std::vector<int> seen;
    while (const auto value = queue.pop()) seen.push_back(*value);
    producer.join();
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TEST(bounded_queue, holds_no_more_than_its_capacity) {
    bounded_queue<int> queue(2);
    std::atomic<int> pushed{0};
    std::thread producer([&] {
        for (int i = 0; i < 6; ++i) {
            queue.push(i);
            ++pushed;
        }
    });
    for (int popped = 0; popped < 6; ++popped) {
        ASSERT_EQ(queue.pop().value(), popped);
        // What was pushed when this was read had room: what is out, and the capacity.
        EXPECT_LE(pushed.load(), popped + 1 + 2);
    }
    producer.join();
}

TEST(bounded_queue, a_closed_one_hands_out_what_it_has_and_takes_nothing) {
    bounded_queue<int> queue(4);
    queue.push(1);
    queue.push(2);
    queue.close();
    EXPECT_FALSE(queue.push(3));
    EXPECT_EQ(queue.pop(), 1);
    EXPECT_EQ(queue.pop(), 2);
    EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(bounded_queue, an_abandoned_one_is_empty_and_wakes_who_waits) {
    bounded_queue<int> full(1), empty(1);
    full.push(1);
    std::thread producer([&] { EXPECT_FALSE(full.push(2)); });
    std::thread consumer([&] { EXPECT_EQ(empty.pop(), std::nullopt); });
    full.abandon();
    empty.abandon();
    producer.join();
    consumer.join();
    EXPECT_EQ(full.pop(), std::nullopt);
}

}  // namespace
}  // namespace boxsum::detail
