#include "pipeline/bin_queue.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace boxsum::detail {
namespace {

TEST(bin_queue, covers_all_bins_once_and_in_order) {
    for (const std::int64_t bins : {1, 7, 32, 1024})
        for (const std::int64_t per_task : {1, 3, 8, 2000}) {
            bin_queue queue(bins, per_task);
            std::int64_t next = 0, number = 0;
            while (const auto task = queue.take(0, false)) {
                EXPECT_EQ(task->number, number++);
                EXPECT_EQ(task->first_bin, next);
                EXPECT_LE(task->bins, per_task);
                next += task->bins;
            }
            EXPECT_EQ(next, bins);
            EXPECT_EQ(static_cast<std::int64_t>(queue.size()), number);
        }
}

TEST(bin_queue, batches_are_half_a_share_and_end_with_single_tasks) {
    bin_queue queue(128, 16);
    const task_batch most{2, 32};
    std::vector<std::int64_t> tasks, bins;
    std::int64_t next = 0;
    while (const auto taken = queue.take(0, false, most)) {
        EXPECT_EQ(taken->first_bin, next);
        EXPECT_EQ(taken->number * 16, next);
        next += taken->bins;
        tasks.push_back(taken->tasks);
        bins.push_back(taken->bins);
        queue.done(0, *taken);
    }
    EXPECT_EQ(tasks, (std::vector<std::int64_t>{2, 2, 1, 1, 1, 1}));
    EXPECT_EQ(bins, (std::vector<std::int64_t>{32, 32, 16, 16, 16, 16}));
    EXPECT_EQ(queue.done_by(0), 8);
    EXPECT_TRUE(queue.all_done());
}

TEST(bin_queue, batches_keep_to_their_bins_and_to_neighbours) {
    bin_queue queue(100, 10);
    EXPECT_EQ(queue.take(0, false, {1, 39})->bins, 30);  // of five
    EXPECT_EQ(queue.take(0, false, {1, 5})->bins, 10);   // one task at least
    EXPECT_EQ(queue.take(1, false, {1, 1000})->tasks, 3);
    queue.give_back(0, false);
    EXPECT_EQ(queue.take(1, false, {1, 1000})->bins, 40);  // 7 are there; task 7 is no neighbour of task 3
    EXPECT_THROW(queue.done(1, bin_task{7, 70, 10, 1}), std::logic_error);
}

TEST(bin_queue, a_task_is_done_once_and_by_who_has_it) {
    bin_queue queue(2, 1);
    const auto first = queue.take(0, false), second = queue.take(1, false);
    EXPECT_THROW(queue.done(1, *first), std::logic_error);
    queue.done(0, *first);
    EXPECT_THROW(queue.done(0, *first), std::logic_error);
    EXPECT_FALSE(queue.all_done());
    queue.done(1, *second);
    EXPECT_TRUE(queue.all_done());
    EXPECT_EQ(queue.done_by(0), 1);
    EXPECT_EQ(queue.take(0, true), std::nullopt);
}

TEST(bin_queue, tasks_of_a_failed_worker_come_back) {
    bin_queue queue(3, 1);
    const auto a = queue.take(0, false), b = queue.take(0, false), c = queue.take(1, false);
    queue.done(0, *a);
    queue.give_back(0, false);
    EXPECT_EQ(queue.done_by(0), 1);  // what it did counts: the result is elsewhere
    const auto again = queue.take(1, false);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->number, b->number);
    EXPECT_THROW(queue.done(0, *b), std::logic_error);
    queue.done(1, *again);
    queue.done(1, *c);
    EXPECT_TRUE(queue.all_done());
    // Kept results are lost with their worker.
    queue.give_back(1, true);
    EXPECT_FALSE(queue.all_done());
    EXPECT_TRUE(queue.take(2, false) && queue.take(2, false));
    EXPECT_FALSE(queue.take(2, false));
}

TEST(bin_queue, who_has_nothing_waits_for_what_may_come_back) {
    bin_queue queue(1, 1);
    const auto task = queue.take(0, false);
    std::optional<bin_task> got;
    std::thread waiting([&] { got = queue.take(1, true); });
    queue.give_back(0, false);
    waiting.join();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->number, task->number);
    std::thread idle([&] { got = queue.take(0, true); });
    queue.done(1, *task);
    idle.join();
    EXPECT_FALSE(got);
}

}  // namespace
}  // namespace boxsum::detail
