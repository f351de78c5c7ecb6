#include "cpu/team.hpp"

#include <boxsum/filters.hpp>
#include <boxsum/sat.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

namespace boxsum {
namespace {

TEST(team, runs_every_thread_once) {
    struct record {
        std::atomic<int> calls{0};
        std::atomic<int> sum{0};
        std::atomic<int> granted{0};
    } seen;
    cpu::run_team(
        3,
        [](void* context, int thread, int threads) {
            record& r = *static_cast<record*>(context);
            ++r.calls;
            r.sum += thread;
            r.granted = threads;
        },
        &seen);
    EXPECT_GE(seen.granted, 1);
    EXPECT_LE(seen.granted, 3);
    EXPECT_EQ(seen.calls, seen.granted);
    EXPECT_EQ(seen.sum, seen.granted * (seen.granted - 1) / 2);
}

/// A 300 x 300 table of ones on `threads` threads; whether its last entry is right.
bool last_entry_is_right(int threads) {
    const std::vector<std::uint8_t> pixels(300 * 300, 1);
    const image_view<const std::uint8_t> image(pixels.data(), 300, 300);
    table<std::uint32_t> sums(300, 300);
    sat(image, any_view(sums.view()), {.threads = threads});
    return sums.view()(299, 299) == 90000;
}

/// Whether `work` is true in a child of fork(). Waiting for lost threads would last for ever: then the child is killed.
template <typename F>
bool holds_in_forked_child(F&& work) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(30);
        ::_exit(work() ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A 300 x 300 image of threes, blurred on `threads` threads; whether its last pixel is right.
bool last_mean_is_right(int threads) {
    const std::vector<float> pixels(300 * 300, 3);
    std::vector<float> means(pixels.size());
    box_filter({image_view<const float>(pixels.data(), 300, 300)}, {image_view<float>(means.data(), 300, 300)},
               {.threads = threads});
    return means.back() == 3;
}

TEST(team, a_forked_child_still_computes) {
    ASSERT_TRUE(last_entry_is_right(2));  // the threads exist now, and fork() will lose them
    EXPECT_TRUE(holds_in_forked_child([] { return last_entry_is_right(2) && last_entry_is_right(0); }));
    EXPECT_TRUE(holds_in_forked_child([] { return last_mean_is_right(2) && last_mean_is_right(0); }));
    EXPECT_TRUE(holds_in_forked_child([] { return holds_in_forked_child([] { return last_entry_is_right(2); }); }));
}

TEST(team, a_child_of_a_process_that_only_filtered_still_computes) {
    ASSERT_TRUE(last_mean_is_right(2));
    EXPECT_TRUE(holds_in_forked_child([] { return last_entry_is_right(2) && last_mean_is_right(2); }));
}

#if defined(_OPENMP)
TEST(team, a_child_of_a_process_with_regions_of_its_own_still_computes) {
    std::atomic<int> threads{0};
#pragma omp parallel num_threads(2)
    ++threads;
    ASSERT_GE(threads, 1);
    EXPECT_TRUE(holds_in_forked_child([] { return last_entry_is_right(2) && last_mean_is_right(2); }));
}
#endif

/// One that prepares and then forks its workers must not slow them down.
TEST(team, a_child_that_lost_no_thread_may_start_its_own) {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    if (std::distance(begin(tasks), end(tasks)) > 1) GTEST_SKIP() << "earlier tests have started threads";
    if (cpu::available_threads() == 1) GTEST_SKIP() << "one thread in any case";
    EXPECT_TRUE(holds_in_forked_child([] { return cpu::available_threads() > 1 && last_entry_is_right(2); }));
}

TEST(team, serves_many_callers_at_once) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; ++t)
        callers.emplace_back([&wrong] {
            for (int i = 0; i < 20; ++i)
                if (!last_entry_is_right(1 + i % 3)) ++wrong;
        });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, 0);
}

TEST(team, an_absurd_number_of_threads_is_bounded) {
    EXPECT_TRUE(last_entry_is_right(1000000));
    EXPECT_TRUE(last_mean_is_right(1000000));
}

}  // namespace
}  // namespace boxsum
