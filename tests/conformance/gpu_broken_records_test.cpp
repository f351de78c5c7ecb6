// A test of the GPU suite itself: device code that is wrong in the ways of single-pass kernels must be rejected.

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"
#include "support/broken_device_records.hpp"
#include "support/competing_kernel.hpp"
#include "support/gpu.hpp"
#include "support/gpu_case.hpp"
#include "verify/conformance.hpp"
#include "verify/device_runner.hpp"

#include <cuda_runtime_api.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

extern char** environ;

namespace boxsum {
namespace {

using gpu_broken_records = test::gpu_test;

/// The complaint about the first case that the record gets wrong.
std::optional<std::string> first_complaint(const algorithm_record& record, const record_runner& run) {
    for (int round = 0; round < 3; ++round)
        for (const conformance_case& c : conformance_cases(dtype::u8, dtype::u32, {}, effort::full)) {
            if (!record.supports(problem_of(c), {})) continue;
            if (auto wrong = check_record(record, c, {}, run)) return wrong;
        }
    return {};
}

TEST_F(gpu_broken_records, the_sound_kernel_passes) {
    EXPECT_EQ(first_complaint(test::sound_look_back_record, cuda::device_runner(cuda::workspace_reuse::shared)),
              std::nullopt);
    EXPECT_EQ(first_complaint(test::sound_look_back_record, cuda::device_runner(cuda::workspace_reuse::fresh)),
              std::nullopt);
}

TEST_F(gpu_broken_records, a_status_before_its_value_is_rejected) {
    EXPECT_TRUE(first_complaint(test::early_status_record, cuda::device_runner(cuda::workspace_reuse::shared)));
}

TEST_F(gpu_broken_records, a_dropped_carry_is_rejected) {
    EXPECT_TRUE(first_complaint(test::dropped_carry_record, cuda::device_runner(cuda::workspace_reuse::shared)));
}

TEST_F(gpu_broken_records, a_wrong_epoch_is_rejected) {
    // Only a workspace that is not cleared between calls finds it: in a fresh one every word is of this epoch.
    EXPECT_TRUE(first_complaint(test::wrong_epoch_record, cuda::device_runner(cuda::workspace_reuse::shared)));
}

// ---- blockIdx instead of a ticket -----------------------------------------------------------------------------------
// Alone on the GPU all blocks run at once and the mistake does not show. Beside a kernel that holds most
// multiprocessors the first blocks wait for others that never start. That hangs, so it happens in a child process.

constexpr int finished_in_time = 41, hung = 42;  // neither is what GoogleTest itself returns

int run_beside_a_competitor(const algorithm_record& record) {
    const cuda::stream stream;
    test::gpu_case memory(test::plain_case(dtype::u8, dtype::u32, 1024, 1024), stream);
    const cuda::device_buffer workspace(cuda::total_workspace_bytes(record, record.workspace_bytes(memory.shape(), {})),
                                        stream);
    cuda::initialize_workspace_async(workspace.data(), workspace.size(), stream);
    execution how;
    how.stream = stream;
    how.workspace = workspace.data();
    how.workspace_bytes = workspace.size();
    const buffers pointers{memory.image().data, memory.table().data, nullptr};
    cuda::enqueue_in_workspace(record, memory.shape(), pointers, how);  // loads the kernel
    if (!test::finishes_within(stream, 10)) return hung;
    test::competing_kernel others(1, 20);
    cuda::enqueue_in_workspace(record, memory.shape(), pointers, how);
    const bool done = test::finishes_within(stream, 4);
    others.release();
    return done ? finished_in_time : hung;
}

// Run by the parents below only; disabled keeps them out of every other run.
TEST(child, DISABLED_sound) {
    _exit(run_beside_a_competitor(test::sound_look_back_record));
}
TEST(child, DISABLED_block_index) {
    _exit(run_beside_a_competitor(test::block_index_record));
}

/// Exit status of this program running one test, or nothing when it had to be killed after `seconds`.
std::optional<int> run_child(const std::string& test, double seconds) {
    std::string filter = "--gtest_filter=" + test, disabled = "--gtest_also_run_disabled_tests",
                self = "/proc/self/exe";
    char* arguments[] = {self.data(), filter.data(), disabled.data(), nullptr};
    pid_t child = 0;
    if (posix_spawn(&child, self.c_str(), nullptr, nullptr, arguments, environ) != 0) return {};
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > end) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return {};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return WIFEXITED(status) ? std::optional<int>(WEXITSTATUS(status)) : std::nullopt;
}

TEST_F(gpu_broken_records, tickets_survive_a_competing_kernel) {
    EXPECT_EQ(run_child("child.DISABLED_sound", 60), finished_in_time);
}

TEST_F(gpu_broken_records, block_indices_pass_alone_and_hang_beside_a_competing_kernel) {
    EXPECT_EQ(first_complaint(test::block_index_record, cuda::device_runner(cuda::workspace_reuse::shared)),
              std::nullopt);
    const auto status = run_child("child.DISABLED_block_index", 60);
    EXPECT_TRUE(!status || *status == hung) << "exit status " << *status;
}

}  // namespace
}  // namespace boxsum
