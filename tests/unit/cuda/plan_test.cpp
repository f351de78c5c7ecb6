#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "support/captured_graph.hpp"
#include "support/complaint.hpp"
#include "support/gpu.hpp"
#include "support/gpu_case.hpp"

#include <boxsum/error.hpp>

#include <cuda_runtime_api.h>

#include <deque>
#include <thread>

namespace boxsum {
namespace {

using test::gpu_case;
using test::plain_case;

class plan : public test::gpu_stream_test {};

TEST_F(plan, computes_every_layout) {
    for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded}) {
        conformance_case c = plain_case(dtype::u8, dtype::u32, 777, 1234);
        c.layout = layout;
        const gpu_case memory(c, stream());
        const cuda::sat_plan p(memory.shapes(), memory.options());
        cuda::workspace workspace(p.workspace_bytes(), stream());
        memory.run_async(p, workspace, stream());
        const auto wrong = memory.mismatch(p.algorithm(), stream());
        EXPECT_FALSE(wrong) << *wrong;
    }
}

TEST_F(plan, computes_squares_in_the_same_call) {
    conformance_case c = plain_case(dtype::u8, dtype::u32, 300, 500);
    c.squares = dtype::u64;
    const gpu_case memory(c, stream());
    const cuda::sat_plan p(memory.shapes(), memory.options());
    cuda::workspace workspace(p.workspace_bytes(), stream());
    memory.run_async(p, workspace, stream());
    const auto wrong = memory.mismatch(p.algorithm(), stream());
    EXPECT_FALSE(wrong) << *wrong;
}

TEST_F(plan, one_call_computes_and_waits) {
    const gpu_case memory(plain_case(dtype::f32, dtype::f32, 1000, 700), stream());
    cuda::sat(memory.inputs(), memory.outputs(), stream(), memory.options());
    const cuda::sat_plan p(memory.shapes(), memory.options());
    const auto wrong = memory.mismatch(p.algorithm(), stream());
    EXPECT_FALSE(wrong) << *wrong;
}

TEST_F(plan, works_on_the_legacy_default_stream) {
    const cuda::stream_ref legacy = cuda::stream_ref::legacy_default();
    const gpu_case memory(plain_case(dtype::u8, dtype::u32, 100, 700), legacy);
    cuda::sat(memory.inputs(), memory.outputs(), legacy, memory.options());
    const cuda::sat_plan p(memory.shapes(), memory.options());
    const auto wrong = memory.mismatch(p.algorithm(), legacy);
    EXPECT_FALSE(wrong) << *wrong;
}

TEST_F(plan, a_device_that_does_not_exist_is_named) {
    EXPECT_THROW(cuda::set_device(cuda::device_count()), unsupported);
    EXPECT_THROW(cuda::describe_device(-1), unsupported);
}

// ---- several devices ------------------------------------------------------------------------------------------------

TEST_F(plan, every_device_computes) {
    for (int device = 0; device < cuda::device_count(); ++device) {
        cuda::set_device(device);
        const cuda::stream here;
        const gpu_case memory(plain_case(dtype::u8, dtype::u32, 400, 600), here);
        const cuda::sat_plan p(memory.shapes(), memory.options());
        EXPECT_EQ(p.device(), device);
        cuda::workspace workspace(p.workspace_bytes(), here);
        cuda::set_device(0);  // the plan finds its device itself
        memory.run_async(p, workspace, here);
        EXPECT_EQ(cuda::current_device(), 0);
        const auto wrong = memory.mismatch(p.algorithm(), here);
        EXPECT_FALSE(wrong) << *wrong;
    }
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

TEST_F(plan, a_captured_graph_replays_a_hundred_times) {
    for (const algorithm_record* record : test::cuda_records()) {
        gpu_case memory(plain_case(dtype::u8, dtype::u32, 333, 517), stream());
        if (!check_support(*record, memory.shape(), {})) continue;
        const cuda::sat_plan p(memory.shapes(), memory.options(record->info.name));
        cuda::workspace workspace(p.workspace_bytes(), stream());
        stream().synchronize();
        const test::captured_graph graph(stream(), [&] { memory.run_async(p, workspace, stream()); });
        for (std::uint64_t replay = 0; replay < 100; ++replay) {
            memory.refill(100 + replay, stream());
            graph.replay(stream());
            const auto wrong = memory.mismatch(p.algorithm(), stream());
            ASSERT_FALSE(wrong) << "replay " << replay << ": " << *wrong;
        }
    }
}

TEST_F(plan, replays_may_queue_and_alternate_with_calls) {
    for (const algorithm_record* record : test::cuda_records()) {
        gpu_case memory(plain_case(dtype::f32, dtype::f32, 700, 900), stream());
        const gpu_case other(plain_case(dtype::u8, dtype::u32, 200, 3000), stream());
        if (!check_support(*record, memory.shape(), {}) || !check_support(*record, other.shape(), {})) continue;
        const cuda::sat_plan p(memory.shapes(), memory.options(record->info.name));
        const cuda::sat_plan q(other.shapes(), other.options(record->info.name));
        cuda::workspace workspace(std::max(p.workspace_bytes(), q.workspace_bytes()), stream());
        stream().synchronize();
        const test::captured_graph graph(stream(), [&] {
            memory.run_async(p, workspace, stream());
            memory.run_async(p, workspace, stream());
        });
        for (int round = 0; round < 20; ++round) {
            graph.replay(stream());
            other.run_async(q, workspace, stream());
        }
        for (const auto& wrong : {memory.mismatch(p.algorithm(), stream()), other.mismatch(q.algorithm(), stream())})
            ASSERT_FALSE(wrong) << *wrong;
    }
}

TEST_F(plan, a_workspace_neither_grows_nor_changes_streams_while_it_is_captured) {
    const cuda::stream other;
    cuda::workspace workspace(100, stream());
    const test::captured_graph graph(stream(), [&] {
        EXPECT_COMPLAINT(workspace.reserve(1 << 20, stream()), "while its stream is being captured");
        EXPECT_COMPLAINT(workspace.follow(other), "while one of them is being captured");
        workspace.reserve(50, stream());  // has that
    });
    workspace.reserve(1 << 20, stream());
    workspace.follow(other);
    EXPECT_EQ(workspace.stream(), cuda::stream_ref(other));
}

/// As frameworks keep memory for a graph.
TEST_F(plan, a_workspace_of_a_callers_allocator_takes_its_first_memory_in_a_capture) {
    gpu_case memory(plain_case(dtype::u8, dtype::u32, 333, 517), stream());
    const cuda::sat_plan p(memory.shapes(), memory.options());
    const cuda::device_buffer block(p.workspace_bytes() + 1, stream());
    const cuda::allocator from{.name = "a block",
                               .context = block.data(),
                               .allocate = [](void* data, std::size_t, CUstream_st*) { return data; },
                               .deallocate = [](void*, void*, std::size_t, CUstream_st*) noexcept {}};
    stream().synchronize();
    const test::captured_graph graph(stream(), [&] {
        cuda::workspace workspace(p.workspace_bytes(), stream(), from);
        memory.run_async(p, workspace, stream());
        if (workspace.bytes() > 0)
            EXPECT_COMPLAINT(workspace.reserve(1 << 30, stream()), "while its stream is being captured");
    });
    for (std::uint64_t replay = 0; replay < 3; ++replay) {
        memory.refill(100 + replay, stream());
        graph.replay(stream());
        const auto wrong = memory.mismatch(p.algorithm(), stream());
        ASSERT_FALSE(wrong) << "replay " << replay << ": " << *wrong;
    }
}

/// Of algorithms whose words carry epochs and of those that leave anything, in one workspace.
TEST_F(plan, graphs_and_calls_of_all_algorithms_share_a_workspace) {
    gpu_case memory(plain_case(dtype::u8, dtype::u32, 300, 470), stream());
    std::vector<cuda::sat_plan> plans;
    cuda::workspace workspace;
    for (const algorithm_record* record : test::cuda_records())
        if (check_support(*record, memory.shape(), {})) {
            plans.emplace_back(memory.shapes(), memory.options(record->info.name));
            workspace.reserve(plans.back().workspace_bytes(), stream());
        }
    stream().synchronize();
    std::deque<test::captured_graph> graphs;
    for (const cuda::sat_plan& p : plans)
        graphs.emplace_back(stream(), [&] { memory.run_async(p, workspace, stream()); });
    for (std::size_t i = 0; i < 3 * plans.size(); ++i) {
        const cuda::sat_plan& p = plans[i % plans.size()];
        graphs[(7 * i + 3) % graphs.size()].replay(stream());
        memory.refill(i, stream());
        memory.run_async(p, workspace, stream());
        auto wrong = memory.mismatch(p.algorithm(), stream());
        ASSERT_FALSE(wrong) << "call " << i << ": " << *wrong;
        memory.refill(1000 + i, stream());
        graphs[(5 * i + 1) % graphs.size()].replay(stream());
        wrong = memory.mismatch(plans[(5 * i + 1) % graphs.size()].algorithm(), stream());
        ASSERT_FALSE(wrong) << "replay " << i << ": " << *wrong;
    }
}

// ---- one workspace --------------------------------------------------------------------------------------------------

TEST_F(plan, one_workspace_serves_all_records_shapes_and_types_without_clearing) {
    std::vector<gpu_case> cases;
    for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{64, 64}, {1, 5000}, {999, 333}, {130, 2050}})
        for (const type_pair types : {type_pair{dtype::u8, dtype::u32},
                                      {dtype::f32, dtype::f32},
                                      {dtype::f64, dtype::f64},
                                      {dtype::u8, dtype::u64}})
            cases.emplace_back(plain_case(types.input, types.table, rows, cols), stream());
    struct run {
        const gpu_case* memory;
        cuda::sat_plan plan;
    };
    std::vector<run> runs;
    std::size_t bytes = 0;
    for (const gpu_case& c : cases)  // neighbours in this order differ in record, then in type, then in shape
        for (const algorithm_record* record : test::cuda_records())
            if (check_support(*record, c.shape(), {})) {
                runs.push_back({&c, cuda::sat_plan(c.shapes(), c.options(record->info.name))});
                bytes = std::max(bytes, runs.back().plan.workspace_bytes());
            }
    ASSERT_FALSE(runs.empty());
    cuda::workspace workspace(bytes, stream());
    for (std::size_t round = 0; round < 3; ++round)
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const run& r = runs[(i * 37 + round * 11) % runs.size()];  // another order every round
            r.memory->run_async(r.plan, workspace, stream());
            const auto wrong = r.memory->mismatch(r.plan.algorithm(), stream());
            ASSERT_FALSE(wrong) << "round " << round << ": " << *wrong;
        }
}

TEST_F(plan, epochs_wrap_around) {
    int tagged = 0;
    for (const algorithm_record* record : test::cuda_records()) {
        if (record->leaves != workspace_content::tagged) continue;
        ++tagged;
        const gpu_case large(plain_case(dtype::f32, dtype::f32, 1500, 1100), stream());
        const gpu_case small(plain_case(dtype::u8, dtype::u32, 300, 260), stream());
        if (!check_support(*record, large.shape(), {}) || !check_support(*record, small.shape(), {})) continue;
        const cuda::sat_plan p(large.shapes(), large.options(record->info.name));
        const cuda::sat_plan q(small.shapes(), small.options(record->info.name));
        cuda::workspace workspace(std::max(p.workspace_bytes(), q.workspace_bytes()), stream());
        const auto rounds = [&](int count) {
            for (int i = 0; i < count; ++i) {
                (i % 2 == 0 ? large : small).run_async(i % 2 == 0 ? p : q, workspace, stream());
                const gpu_case& c = i % 2 == 0 ? large : small;
                const auto wrong = c.mismatch(i % 2 == 0 ? p.algorithm() : q.algorithm(), stream());
                ASSERT_FALSE(wrong) << "call " << i << ": " << *wrong;
            }
        };
        rounds(8);  // leaves words of the first epochs behind, which come again after the wrap
        // Whatever the number of bits of the tag, its last epochs are all ones: force each plausible width.
        for (const int bits : {16, 20, 22, 24, 28, 29, 30, 31, 32}) {
            const auto last = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
            const std::uint32_t epoch = last - 3;
            stream().synchronize();
            BOXSUM_CUDA_TRY(cudaMemcpyAsync(cuda::workspace_use(workspace, 0, p.device(), stream()).data(), &epoch,
                                            sizeof epoch, cudaMemcpyHostToDevice, stream().get()));
            rounds(12);
            if (HasFatalFailure()) FAIL() << "epochs of " << bits << " bits";
            // Start again as fresh, so that the next width meets the first epochs' words too.
            cuda::initialize_workspace_async(cuda::workspace_use(workspace, 0, p.device(), stream()).data(),
                                             workspace.bytes(), stream());
            rounds(4);
            if (HasFatalFailure()) FAIL() << "after initialising again";
        }
    }
    if (tagged == 0) GTEST_SKIP() << "no CUDA record tags its words";
}

// ---- threads --------------------------------------------------------------------------------------------------------

TEST_F(plan, two_threads_with_two_streams_share_a_plan) {
    const gpu_case shape(plain_case(dtype::f32, dtype::f32, 901, 1203), stream());
    const cuda::sat_plan p(shape.shapes(), shape.options());
    const int device = cuda::current_device();
    std::vector<std::string> failures(2);
    const auto work = [&](std::size_t index) {
        try {
            cuda::set_device(device);
            const cuda::stream mine;
            conformance_case c = plain_case(dtype::f32, dtype::f32, 901, 1203);
            gpu_case memory(c, mine);
            cuda::workspace workspace(p.workspace_bytes(), mine);
            for (std::uint64_t round = 0; round < 50; ++round) {
                for (int repeat = 0; repeat < 20; ++repeat) memory.run_async(p, workspace, mine);
                if (const auto wrong = memory.mismatch(p.algorithm(), mine)) {
                    failures[index] = *wrong;
                    return;
                }
                if (round % 10 == 9) memory.refill(1000 * index + round, mine);
            }
        } catch (const std::exception& e) {
            failures[index] = e.what();
        }
    };
    std::thread first(work, 0), second(work, 1);
    first.join();
    second.join();
    EXPECT_EQ(failures[0], "");
    EXPECT_EQ(failures[1], "");
}

// ---- memory ---------------------------------------------------------------------------------------------------------

TEST_F(plan, out_of_memory_is_reported_and_the_device_stays_usable) {
    const std::size_t total = cuda::describe_device(cuda::current_device()).memory_bytes;
    try {
        const cuda::device_buffer hopeless(4 * total, stream());
        FAIL() << "allocated " << hopeless.size() << " bytes";
    } catch (const out_of_memory& e) {
        EXPECT_NE(std::string(e.what()).find(std::to_string(4 * total)), std::string::npos) << e.what();
    }
    EXPECT_THROW(cuda::pinned_buffer(std::size_t{1} << 50), out_of_memory);

    // All but a little is taken, so that the one-call form finds no room for its workspace.
    const gpu_case memory(plain_case(dtype::f32, dtype::f32, 4000, 5000), stream());
    const cuda::sat_plan p(memory.shapes(), memory.options());
    {
        std::vector<cuda::device_buffer> hoard;
        for (std::size_t piece = total / 4; piece >= 4096; piece /= 2) try {
                for (;;) hoard.emplace_back(piece, stream());
            } catch (const out_of_memory&) {
            }
        stream().synchronize();
        if (p.workspace_bytes() >= (std::size_t{2} << 20)) {  // allocations come in pieces of 2 MiB
            EXPECT_THROW(cuda::sat(memory.inputs(), memory.outputs(), stream(), memory.options()), out_of_memory);
        }
    }
    stream().synchronize();
    cuda::sat(memory.inputs(), memory.outputs(), stream(), memory.options());
    const auto wrong = memory.mismatch(p.algorithm(), stream());
    EXPECT_FALSE(wrong) << *wrong;
}

TEST_F(plan, copies_keep_gaps_and_check_shapes) {
    const view_shape packed{dtype::u16, 3, 20, 30, 2, 120, 2400};
    view_shape gappy = packed;
    gappy.row_stride = 130;
    gappy.plane_stride = 20 * 130 + 64;
    std::vector<std::uint16_t> image(3 * 20 * 60), back(3 * 20 * 60, 9);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint16_t>(i * 7);
    const cuda::device_buffer memory(cuda::span_bytes(gappy), stream());
    BOXSUM_CUDA_TRY(cudaMemsetAsync(memory.data(), 0x11, memory.size(), stream().get()));
    cuda::copy({image.data(), packed}, {memory.data(), gappy}, stream());
    cuda::copy({memory.data(), gappy}, {back.data(), packed}, stream());
    EXPECT_EQ(image, back);
    std::vector<std::uint16_t> raw(memory.size() / 2);
    BOXSUM_CUDA_TRY(cudaMemcpy(raw.data(), memory.data(), memory.size(), cudaMemcpyDeviceToHost));
    for (std::size_t i = 60; i < 65; ++i) EXPECT_EQ(raw[i], 0x1111) << i;
    view_shape other = packed;
    other.cols = 29;
    EXPECT_COMPLAINT(cuda::copy({image.data(), packed}, {memory.data(), other}, stream()),
                     "to: cols is 29, but that of from is 30");
}

}  // namespace
}  // namespace boxsum
