#include "pipeline/bin_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(bin_queue, batches_are_a_share_and_end_with_single_tasks) {
    bin_queue queue(128, 16);
    const task_batch most{2, 48};
    std::vector<std::int64_t> tasks;
    std::int64_t next = 0;
    while (const auto taken = queue.take(0, true, most)) {
        EXPECT_EQ(taken->first_bin, next);
        EXPECT_EQ(taken->number * 16, next);
        EXPECT_EQ(taken->bins, taken->tasks * 16);
        next += taken->bins;
        tasks.push_back(taken->tasks);
        queue.done(0, *taken);
    }
    EXPECT_EQ(tasks, (std::vector<std::int64_t>{3, 3, 1, 1}));
    EXPECT_EQ(queue.done_by(0), 8);
    EXPECT_TRUE(queue.all_done());
}

TEST(bin_queue, who_has_a_batch_leaves_as_much_for_everyone) {
    bin_queue queue(160, 16);
    const task_batch most{2, 32};
    EXPECT_EQ(queue.take(0, true, most)->tasks, 2);
    EXPECT_EQ(queue.take(0, false, most)->tasks, 2);  // of 8
    EXPECT_EQ(queue.take(1, true, most)->tasks, 2);
    EXPECT_FALSE(queue.take(0, false, most));  // of 4
    EXPECT_FALSE(queue.take(1, false, most));
    EXPECT_EQ(queue.take(0, true, most)->tasks, 2);
    EXPECT_TRUE(queue.take(1, false));  // single tasks are anybody's
}

TEST(bin_queue, batches_balance_workers_of_different_speeds) {
    for (const int ratio : {1, 2, 3, 5}) {
        bin_queue queue(128, 16);
        const task_batch most{2, 32};
        int busy_until[2] = {}, slower = 1;
        std::int64_t tasks[2] = {};
        for (;;) {
            const int worker = busy_until[0] <= busy_until[1] ? 0 : 1;  // who is free first
            const auto taken = queue.take(static_cast<std::size_t>(worker), true, most);
            if (!taken) break;
            queue.done(static_cast<std::size_t>(worker), *taken);
            busy_until[worker] += static_cast<int>(taken->tasks) * (worker == slower ? ratio : 1);
            tasks[worker] += taken->tasks;
        }
        EXPECT_EQ(tasks[0] + tasks[1], 8);
        // Shares that fit the speeds, and a batch more at most
        EXPECT_LE(std::max(busy_until[0], busy_until[1]), 8.0 * ratio / (ratio + 1) + ratio) << ratio;
        if (ratio == 1) {
            EXPECT_EQ(tasks[0], 4);
        }
    }
}

TEST(bin_queue, batches_keep_to_their_bins_and_to_neighbours) {
    bin_queue queue(100, 10);
    EXPECT_EQ(queue.take(0, true, {2, 39})->bins, 30);  // of five
    EXPECT_EQ(queue.take(0, true, {1, 5})->bins, 10);   // one task at least
    EXPECT_EQ(queue.take(1, true, {2, 1000})->tasks, 3);
    queue.give_back(0, false);
    EXPECT_EQ(queue.take(1, true, {1, 1000})->bins, 40);  // 7 are there; task 7 is no neighbour of task 3
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
