#include "cpu/team.hpp"

#include "core/control_group.hpp"

#include <boxsum/cpu.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/sat.hpp>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

extern "C" {
void kmp_set_defaults(const char* text) __attribute__((weak));  // LLVM's OpenMP has it
void omp_set_num_threads(int threads) __attribute__((weak));
}

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
    sat({image}, {sums}, {.threads = threads});
    return sums(299, 299) == 90000;
}

/// Seconds that no child takes, however busy the machine is, unless it waits for ever.
constexpr unsigned hangs_after = 300;

/// Whether `work` is true in a child of fork(). Waiting for lost threads would last for ever: then the child is killed.
template <typename F>
bool holds_in_forked_child(F&& work) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(hangs_after);
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

/// LLVM's OpenMP, asked by a thread for the first time, takes a lock that a fork() at that moment leaves taken in the
/// child, whose own first question then never ends. GNU's takes none.
bool openmp_survives_fork_at_any_moment() {
    return kmp_set_defaults == nullptr;
}

/// Children of a process whose other threads are in the library at that moment, at any place: in the pool, among the
/// workers, finding out about the machine.
TEST(team, children_forked_at_any_moment_compute) {
    if (!openmp_survives_fork_at_any_moment()) GTEST_SKIP() << "LLVM's OpenMP leaves a lock taken in the child";
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int t = 0; t < 2; ++t)
        callers.emplace_back([&stop, &wrong, t] {
            const std::vector<std::uint8_t> pixels(64 * 64, 1);
            while (!stop) {
                const auto sums = sat<std::uint32_t>(image_view<const std::uint8_t>(pixels.data(), 64, 64));
                if (sums.view()(63, 63) != 4096) ++wrong;
                if (t == 0 && !last_entry_is_right(2)) ++wrong;
            }
        });
    int held = 0;
    for (int i = 0; i < 300; ++i)
        held += holds_in_forked_child(
            [i] { return last_entry_is_right(i % 3) && last_mean_is_right(2) && describe_cpu().threads >= 1; });
    stop = true;
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(held, 300);
    EXPECT_EQ(wrong, 0);
}

/// The same, where the threads of a fresh process are at their first calls.
TEST(team, children_forked_during_the_first_calls_compute) {
    if (!openmp_survives_fork_at_any_moment()) GTEST_SKIP() << "LLVM's OpenMP leaves a lock taken in the child";
    int held = 0;
    for (int i = 0; i < 40; ++i)
        held += holds_in_forked_child([] {
            std::vector<std::thread> callers;
            std::atomic<bool> right{true};
            for (int t = 0; t < 2; ++t)
                callers.emplace_back([&right] {
                    if (!last_entry_is_right(0) || !last_entry_is_right(2)) right = false;
                });
            const pid_t child = ::fork();
            if (child == 0) {
                ::alarm(hangs_after);
                ::_exit(last_entry_is_right(2) && last_entry_is_right(0) ? 0 : 1);
            }
            int status = -1;
            ::waitpid(child, &status, 0);
            for (std::thread& caller : callers) caller.join();
            return right && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        });
    EXPECT_EQ(held, 40);
}

TEST(team, a_small_job_asks_nobody_and_a_large_one_never_more_than_wanted) {
    EXPECT_EQ(cpu::ready_threads(1, 1e6), 1);
    for (int i = 0; i < 200; ++i) {
        const int ready = cpu::ready_threads(3, 5000);
        EXPECT_GE(ready, 1);
        EXPECT_LE(ready, 3);
    }
}

/// Whoever asks often is answered: threads are started and woken, though never waited for. Other programs may have the
/// processors meanwhile, so only an end in sight is promised, no time.
TEST(team, threads_join_who_asks_often) {
    if (cpu::available_threads() == 1) GTEST_SKIP() << "one thread in any case";
    int most = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (int i = 0; most < 2 && std::chrono::steady_clock::now() < end; ++i) {
        most = std::max(most, cpu::ready_threads(2, 1000));
        if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    EXPECT_EQ(most, 2);
}

/// Keeps the calling thread, and those that it starts, on one processor.
class on_one_processor {
  public:
    on_one_processor() {
        ::sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        int first = 0;
        while (!CPU_ISSET(first, &before_)) ++first;
        CPU_SET(first, &one);
        set_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
    }
    on_one_processor(const on_one_processor&) = delete;
    on_one_processor& operator=(const on_one_processor&) = delete;
    ~on_one_processor() { ::sched_setaffinity(0, sizeof before_, &before_); }

    const cpu_set_t& before() const { return before_; }
    bool set() const { return set_; }

  private:
    cpu_set_t before_{};
    bool set_ = false;
};

/// One that asks about little work is not kept from it: with nobody who could answer, as the only processor is its own,
/// it soon waits for a fraction of the work only. Its own time counts: other programs may have the processor meanwhile.
TEST(team, a_question_takes_no_longer_than_it_is_worth) {
    if (cpu::available_threads() == 1) GTEST_SKIP() << "one thread in any case";
    const on_one_processor alone;
    ASSERT_TRUE(alone.set());
    for (int i = 0; i < 100; ++i) cpu::ready_threads(2, 1000);  // starts the thread
    const auto own_us = [] {
        timespec now{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
    };
    constexpr double work_us = 1000;
    constexpr int questions = 340;  // a fiftieth of the work each; an eighth, at most 60 us, once in 17
    double least_us = work_us;
    for (int round = 0; round < 20; ++round) {
        const double start = own_us();
        for (int i = 0; i < questions; ++i) cpu::ready_threads(2, work_us);
        least_us = std::min(least_us, (own_us() - start) / questions);
    }
    EXPECT_LE(least_us, work_us / 40 + 5);
}

/// While one caller has the threads, the others compute alone.
TEST(team, callers_do_not_wait_for_each_other) {
    struct meeting {
        std::atomic<bool> inside{false}, leave{false};
    } first;
    std::thread other([&first] {
        cpu::run_team(
            2,
            [](void* context, int, int) {
                meeting& m = *static_cast<meeting*>(context);
                m.inside = true;
                while (!m.leave) std::this_thread::yield();
            },
            &first);
    });
    while (!first.inside) std::this_thread::yield();
    int granted = 0;
    cpu::run_team(
        2, [](void* context, int, int threads) { *static_cast<int*>(context) = threads; }, &granted);
    EXPECT_EQ(granted, 1);
    EXPECT_EQ(cpu::ready_threads(2, 1e6), 1);
    first.leave = true;
    other.join();
}

/// Callers who compute alone have a core each, which no thread is asked for: many callers at once cost what they would
/// in turn, and a thread that answers would take its time from one of them. Long work may outlast theirs, and asks.
TEST(team, cores_of_other_callers_are_left_to_them) {
    struct meeting {
        std::atomic<int> inside{0};
        std::atomic<bool> leave{false};
    } busy;
    const int processors = cpu::threads_of_process();
    if (processors == 1) GTEST_SKIP() << "nobody to be asked";
    std::vector<std::thread> others;
    for (int i = 1; i < processors; ++i)
        others.emplace_back([&busy] {
            cpu::run_team(
                1,
                [](void* context, int, int) {
                    meeting& m = *static_cast<meeting*>(context);
                    ++m.inside;
                    while (!m.leave) std::this_thread::yield();
                },
                &busy);
        });
    while (busy.inside < processors - 1) std::this_thread::yield();
    int most = 1;
    for (int i = 0; i < 2000; ++i) most = std::max(most, cpu::ready_threads(2, 1000));
    EXPECT_EQ(most, 1);
    busy.leave = true;
    for (std::thread& t : others) t.join();
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (cpu::ready_threads(2, 1000) == 1 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    EXPECT_LT(std::chrono::steady_clock::now(), until) << "nobody answers though nobody is at work";
}

TEST(team, quota_and_affinity_are_kept) {
    cpu_set_t before;
    {
        const on_one_processor alone;
        ASSERT_TRUE(alone.set());
        before = alone.before();
        EXPECT_EQ(cpu::available_threads(), 1);
        EXPECT_EQ(cpu::ready_threads(cpu::available_threads(), 1e6), 1);
    }
    EXPECT_LE(cpu::available_threads(), std::min(CPU_COUNT(&before), processor_quota()));
}

/// In a child: the variable is read again at every call, by whoever has no OpenMP.
TEST(team, what_openmp_was_told_is_kept) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (omp_set_num_threads != nullptr)
            omp_set_num_threads(1);
        else
            ::setenv("OMP_NUM_THREADS", "1", 1);
        ::_exit(cpu::threads_of_process() == 1 && cpu::available_threads() == 1 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(team, an_absurd_number_of_threads_is_bounded) {
    EXPECT_TRUE(last_entry_is_right(1000000));
    EXPECT_TRUE(last_mean_is_right(1000000));
}

}  // namespace
}  // namespace boxsum
