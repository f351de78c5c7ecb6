// What a plan holds, with records that only say what they were asked for.

#include "cuda/runtime/planned_problem.hpp"

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/workspace.hpp"
#include "support/complaint.hpp"
#include "support/gpu.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

namespace boxsum {
namespace {

/// Of the last call.
struct heard {
    int prepared = 0, run = 0, enqueued = 0;
    buffers memory;
    execution how;
} calls;

class told final : public prepared_problem {
  public:
    std::size_t workspace_bytes() const noexcept override { return 512; }
    void run(const buffers& memory, const execution& how) const override {
        ++calls.run;
        calls.memory = memory;
        calls.how = how;
    }
};

std::unique_ptr<const prepared_problem> prepare(const problem&, const parameter_values&) {
    ++calls.prepared;
    return std::make_unique<told>();
}

std::size_t some_bytes(const problem&, const parameter_values&) {
    return 1024;
}

/// Leaves its workspace as full of anything as records that leave scratch may.
void enqueue(const problem& p, const buffers& memory, const execution& how) {
    ++calls.enqueued;
    calls.memory = memory;
    calls.how = how;
    BOXSUM_CUDA_TRY(cudaMemsetAsync(how.workspace, 0x77, some_bytes(p, {}), how.stream.get()));
}

constexpr algorithm_record with_prepare{.info = {},
                                        .workspace_bytes = some_bytes,
                                        .enqueue = enqueue,
                                        .prepare = prepare,
                                        .leaves = workspace_content::tagged};
constexpr algorithm_record without{.info = {}, .workspace_bytes = some_bytes, .enqueue = enqueue};

class planned_problem : public test::gpu_stream_test {
  protected:
    void SetUp() override {
        test::gpu_stream_test::SetUp();
        calls = {};
    }

    std::vector<std::uint8_t> contents(cuda::workspace& memory) {
        const cuda::workspace_use use(memory, 0, memory.device(), stream());
        std::vector<std::uint8_t> bytes(use.bytes());
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(bytes.data(), use.data(), bytes.size(), cudaMemcpyDeviceToHost, stream().get()));
        stream().synchronize();
        return bytes;
    }
};

TEST_F(planned_problem, is_prepared_once_and_run_as_often_as_wanted) {
    const cuda::planned_problem p({}, with_prepare, {});
    EXPECT_EQ(calls.prepared, 1);
    EXPECT_EQ(p.workspace_bytes(), 512 + workspace_header_bytes);  // what was prepared says
    cuda::workspace memory(p.workspace_bytes(), stream());
    int here = 0;
    for (int i = 1; i <= 3; ++i) {
        p.enqueue({&here}, memory, stream());
        EXPECT_EQ(calls.run, i);
    }
    EXPECT_EQ(calls.prepared, 1);
    EXPECT_EQ(calls.enqueued, 0);
    EXPECT_EQ(calls.memory.image, &here);
    EXPECT_EQ(calls.how.stream, stream());
    const cuda::workspace_use use(memory, 0, p.device(), stream());
    EXPECT_EQ(static_cast<const void*>(calls.how.header), use.data());
    EXPECT_EQ(calls.how.workspace, static_cast<const std::byte*>(use.data()) + workspace_header_bytes);
    EXPECT_EQ(calls.how.workspace_bytes, memory.bytes() - workspace_header_bytes);
}

TEST_F(planned_problem, is_enqueued_where_nothing_prepares_it_and_leaves_zeros) {
    const cuda::planned_problem p({}, without, {});
    EXPECT_EQ(p.workspace_bytes(), 1024 + workspace_header_bytes);
    cuda::workspace memory(p.workspace_bytes(), stream());
    p.enqueue({}, memory, stream());
    EXPECT_EQ(calls.enqueued, 1);
    EXPECT_EQ(contents(memory), std::vector<std::uint8_t>(memory.bytes()));
}

TEST_F(planned_problem, looks_at_the_workspace_before_anything_is_enqueued) {
    const cuda::planned_problem p({}, without, {});
    cuda::workspace small(p.workspace_bytes() - 1, stream()), none;
    EXPECT_COMPLAINT(p.enqueue({}, small, stream()), "workspace: has ");
    EXPECT_COMPLAINT(p.enqueue({}, none, stream()), "workspace: has no memory");
    EXPECT_EQ(calls.enqueued, 0);
}

}  // namespace
}  // namespace boxsum
