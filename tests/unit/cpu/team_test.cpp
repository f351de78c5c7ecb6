#include "cpu/team.hpp"

#include <boxsum/sat.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
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

TEST(team, a_forked_child_still_computes) {
    ASSERT_TRUE(last_entry_is_right(2));  // the threads exist now, and fork() will lose them
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(30);  // waiting for lost threads would last for ever
        ::_exit(last_entry_is_right(2) && last_entry_is_right(0) ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
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
}

}  // namespace
}  // namespace boxsum
