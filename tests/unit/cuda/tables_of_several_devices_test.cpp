// Tables of two devices: as several_devices_test.cpp, for plans of summed area tables.

#include "support/gpu.hpp"
#include "support/gpu_case.hpp"

#include <boxsum/error.hpp>

#include <string>
#include <thread>
#include <vector>

namespace boxsum {
namespace {

using test::gpu_case;
using test::plain_case;

class tables_of_several_devices : public test::two_gpus_test {
  protected:
    void SetUp() override {
        test::two_gpus_test::SetUp();
        if (!IsSkipped() && !HasFatalFailure()) cuda::set_device(0);
    }
};

template <typename F>
std::string complaint(F f) {
    try {
        f();
    } catch (const invalid_argument& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST_F(tables_of_several_devices, stream_and_memory_of_another_one_are_refused) {
    const cuda::stream here;
    const gpu_case memory(plain_case(dtype::u8, dtype::u32, 64, 64), here);
    const cuda::sat_plan p(memory.shapes(), memory.options());
    cuda::workspace workspace(p.workspace_bytes(), here);
    cuda::set_device(1);
    const cuda::stream other;
    const gpu_case elsewhere(plain_case(dtype::u8, dtype::u32, 64, 64), other);
    cuda::set_device(0);
    const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
    const std::string of_stream = complaint([&] { memory.run_async(p, workspace, other); });
    EXPECT_TRUE(has(of_stream, "workspace: is on another stream")) << of_stream;
    const std::string of_follow = complaint([&] { workspace.follow(other); });
    EXPECT_TRUE(has(of_follow, "stream: belongs to cuda:1")) << of_follow;
    cuda::workspace of_other(p.workspace_bytes(), other);
    EXPECT_EQ(of_other.device(), 1);
    const std::string of_workspace = complaint([&] { memory.run_async(p, of_other, other); });
    EXPECT_TRUE(has(of_workspace, "workspace: is memory of cuda:1, but the plan is for cuda:0")) << of_workspace;
    const std::string of_memory =
        complaint([&] { p.run_async(memory.inputs(), elsewhere.outputs(), workspace, here); });
    EXPECT_TRUE(has(of_memory, "sums: is memory of cuda:1")) << of_memory;
}

TEST_F(tables_of_several_devices, compute_at_the_same_time) {
    std::vector<std::thread> threads;
    std::vector<std::string> wrong(static_cast<std::size_t>(cuda::device_count()));
    for (std::size_t device = 0; device < wrong.size(); ++device)
        threads.emplace_back([&, device] {
            try {
                cuda::set_device(static_cast<int>(device));
                const cuda::stream stream;
                for (std::int64_t n = 1; n <= 20; ++n) {
                    const gpu_case memory(plain_case(dtype::u8, dtype::u32, 97 * n, 61 * n), stream);
                    const cuda::sat_plan p(memory.shapes(), memory.options());
                    cuda::workspace workspace(p.workspace_bytes(), stream);
                    memory.run_async(p, workspace, stream);
                    if (const auto difference = memory.mismatch(p.algorithm(), stream)) wrong[device] = *difference;
                }
            } catch (const std::exception& e) {
                wrong[device] = e.what();
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace boxsum
