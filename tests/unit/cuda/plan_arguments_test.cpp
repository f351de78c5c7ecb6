// What plans of tables say of arguments that do not fit.

#include "api/registry.hpp"
#include "support/complaint.hpp"
#include "support/gpu.hpp"
#include "support/gpu_case.hpp"

#include <boxsum/error.hpp>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using test::gpu_case;
using test::plain_case;

class plan_arguments : public test::gpu_stream_test {};

TEST_F(plan_arguments, a_host_pointer_is_named) {
    const gpu_case memory(plain_case(dtype::u8, dtype::u32, 64, 64), stream());
    const cuda::sat_plan p(memory.shapes(), memory.options());
    cuda::workspace workspace(p.workspace_bytes(), stream());
    std::vector<std::uint32_t> host(64 * 64);
    const cuda::pinned_buffer pinned(64 * 64 * 4);
    const const_any_view image{host.data(), memory.shape().image};
    const any_view sums{host.data(), memory.shape().table}, locked{pinned.data(), memory.shape().table};
    EXPECT_COMPLAINT(p.run_async(memory.inputs(), {{sums}}, workspace, stream()), "sums: is host memory");
    EXPECT_COMPLAINT(p.run_async({image}, memory.outputs(), workspace, stream()), "image: is host memory");
    EXPECT_COMPLAINT(p.run_async(memory.inputs(), {{locked}}, workspace, stream()),
                     "sums: is host memory (page-locked)");
}

/// Also where a plan is found that an earlier call made.
TEST_F(plan_arguments, threads_are_checked_and_have_no_effect) {
    const gpu_case memory(plain_case(dtype::u8, dtype::u32, 64, 64), stream());
    cuda::workspace workspace(0, stream());
    constexpr const char* complaint = "threads: is -1, must be 0 (automatic) or more";
    for (int round = 0; round < 2; ++round) {
        EXPECT_COMPLAINT(cuda::sat_async(memory.inputs(), memory.outputs(), workspace, stream(), {.threads = -1}),
                         complaint);
        EXPECT_COMPLAINT(cuda::sat(memory.inputs(), memory.outputs(), stream(), {.threads = -1}), complaint);
        cuda::sat(memory.inputs(), memory.outputs(), stream(), {.threads = 3});
        const auto wrong = memory.mismatch(cuda::sat_plan(memory.shapes()).algorithm(), stream());
        EXPECT_FALSE(wrong) << *wrong;
    }
    EXPECT_COMPLAINT(cuda::sat_plan(memory.shapes(), {.threads = -1}), complaint);
    const std::vector<sat_shapes> list(2, memory.shapes());
    EXPECT_COMPLAINT(cuda::sat_list_plan(list, {.threads = -1}), complaint);
}

TEST_F(plan_arguments, views_of_another_shape_are_refused) {
    const gpu_case memory(plain_case(dtype::u8, dtype::u32, 64, 80), stream());
    const cuda::sat_plan p(memory.shapes(), memory.options());
    cuda::workspace workspace(p.workspace_bytes(), stream());
    sat_inputs in = memory.inputs();
    in.image.shape.rows = 63;
    EXPECT_COMPLAINT(p.run_async(in, memory.outputs(), workspace, stream()),
                     "image: rows is 63, but the plan was made for 64");
    sat_outputs out = memory.outputs();
    out.sums.entries.shape.type = dtype::s32;
    EXPECT_COMPLAINT(p.run_async(memory.inputs(), out, workspace, stream()), "sums: element type is 32s");
    out = memory.outputs();
    out.squares = out.sums;
    EXPECT_COMPLAINT(p.run_async(memory.inputs(), out, workspace, stream()),
                     "squares: given, but the plan was made without");
    out = memory.outputs();
    out.sums.form = table_layout::padded;
    EXPECT_COMPLAINT(p.run_async(memory.inputs(), out, workspace, stream()),
                     "sums: layout is padded, but the plan was made for inclusive");
    in = memory.inputs();
    in.carries.above = {memory.image().data, {dtype::u32, 1, 1, 80, 1, 320, 0}};
    EXPECT_COMPLAINT(p.run_async(in, memory.outputs(), workspace, stream()),
                     "carries.above: given, but the plan was made without");
}

TEST_F(plan_arguments, overlapping_memory_is_refused) {
    const gpu_case memory(plain_case(dtype::f32, dtype::f32, 64, 64), stream());
    const cuda::sat_plan p(memory.shapes(), memory.options());
    cuda::workspace workspace(p.workspace_bytes(), stream());
    sat_outputs out = memory.outputs();
    out.sums.entries.data = static_cast<std::byte*>(const_cast<void*>(memory.image().data)) + 4;
    EXPECT_COMPLAINT(p.run_async(memory.inputs(), out, workspace, stream()), "sums: overlaps image");
    out.sums.entries.data = const_cast<void*>(memory.image().data);
    EXPECT_COMPLAINT(p.run_async(memory.inputs(), out, workspace, stream()), "not made in place");
}

TEST_F(plan_arguments, unsupported_requests_say_why) {
    const gpu_case memory(plain_case(dtype::u8, dtype::u32, 64, 64), stream());
    sat_shapes what = memory.shapes();
    EXPECT_THROW(cuda::sat_plan(what, memory.options("no-such")), unsupported);
    EXPECT_THROW(cuda::sat_plan(what, memory.options("reference")), unsupported);  // runs on the CPU
    what.sums.type = dtype::u16;
    what.sums.row_stride = 128;
    EXPECT_THROW(cuda::sat_plan(what, memory.options()), unsupported);
    what = memory.shapes();
    what.in_place = true;  // pixels of another size than the entries
    EXPECT_THROW(cuda::sat_plan(what, memory.options()), invalid_argument);
    what = memory.shapes();
    what.carries.above = view_shape{dtype::u32, 1, 1, 64, 1, 256, 0};
    for (const algorithm_record* record : test::cuda_records()) {
        if (record->info.carries) continue;
        EXPECT_THROW(cuda::sat_plan(what, memory.options(record->info.name)), unsupported) << record->info.name;
    }
    what.carries.above->cols = 60;
    EXPECT_THROW(cuda::sat_plan(what, memory.options()), invalid_argument);
}

TEST_F(plan_arguments, the_environment_forces_an_algorithm) {
    const gpu_case memory(plain_case(dtype::u8, dtype::u32, 64, 64), stream());
    const std::vector<const algorithm_record*> records = test::cuda_records();
    ASSERT_FALSE(records.empty());
    ASSERT_EQ(setenv("BOXSUM_ALGORITHM", ("sat:" + std::string(records.back()->info.name)).c_str(), 1), 0);
    reread_environment();
    EXPECT_EQ(cuda::sat_plan(memory.shapes(), memory.options()).algorithm().name, records.back()->info.name);
    ASSERT_EQ(setenv("BOXSUM_ALGORITHM", "sat:no-such", 1), 0);
    reread_environment();
    EXPECT_THROW(cuda::sat_plan(memory.shapes(), memory.options()), unsupported);
    ASSERT_EQ(unsetenv("BOXSUM_ALGORITHM"), 0);
    reread_environment();
}

/// Two halves of one buffer, row beside row, share addresses but no byte.
TEST_F(plan_arguments, memory_between_the_rows_of_other_memory_is_fine) {
    const std::int64_t rows = 30, cols = 16;
    const cuda::device_buffer block(static_cast<std::size_t>(rows * 2 * cols * 4), stream());
    auto* const start = static_cast<std::byte*>(block.data());
    const view_shape half{dtype::f32, 1, rows, cols, 1, 2 * cols * 4, 0};
    const sat_inputs in{{start, half}};
    sat_outputs out{{{start + cols * 4, half}}};
    const cuda::sat_plan p(in, out);
    cuda::workspace workspace(p.workspace_bytes(), stream());
    p.run_async(in, out, workspace, stream());
    out.sums.entries.data = start + cols * 4 - 4;
    EXPECT_COMPLAINT(p.run_async(in, out, workspace, stream()), "sums: overlaps image");
    stream().synchronize();
}

TEST_F(plan_arguments, forms_of_both_tables_are_the_same) {
    conformance_case c = plain_case(dtype::u8, dtype::u32, 20, 30);
    c.squares = dtype::u64;
    const gpu_case memory(c, stream());
    sat_outputs out = memory.outputs();
    out.squares.form = table_layout::exclusive;
    EXPECT_COMPLAINT(cuda::sat_plan(memory.inputs(), out),
                     "squares: its form is exclusive, but that of sums is inclusive");
    const cuda::sat_plan p(memory.shapes());
    cuda::workspace workspace(p.workspace_bytes(), stream());
    EXPECT_COMPLAINT(p.run_async(memory.inputs(), out, workspace, stream()), "squares: layout is exclusive");
    out.squares = {};
    EXPECT_COMPLAINT(p.run_async(memory.inputs(), out, workspace, stream()),
                     "squares: not given, but the plan was made with it");
}

TEST_F(plan_arguments, carries_are_looked_at) {
    const gpu_case memory(plain_case(dtype::u8, dtype::u32, 20, 30), stream());
    sat_shapes what = memory.shapes();
    what.squares_carries.left = view_shape{dtype::u32, 1, 20, 1, 1, 4, 0};
    EXPECT_COMPLAINT(cuda::sat_plan{what}, "squares_carries: given, but there is no table of squares");
    what.squares_carries = {};
    what.carries.left = view_shape{dtype::u32, 1, 19, 1, 1, 4, 0};
    EXPECT_COMPLAINT(cuda::sat_plan{what}, "carries.left: extents are 19 x 1, but must be 20 x 1");
    what.carries.left = view_shape{dtype::f32, 1, 20, 1, 1, 4, 0};
    EXPECT_COMPLAINT(cuda::sat_plan{what}, "carries.left: type is 32f, but that of its table is 32u");
}

TEST_F(plan_arguments, memory_that_was_freed_is_asked_for_again) {
    const gpu_case memory(plain_case(dtype::u8, dtype::u32, 64, 64), stream());
    const cuda::sat_plan p(memory.shapes());
    cuda::workspace workspace(p.workspace_bytes(), stream());
    sat_outputs out = memory.outputs();
    {
        const cuda::device_buffer gone(cuda::span_bytes(memory.shape().table), stream());
        out.sums.entries.data = gone.data();
        p.run_async(memory.inputs(), out, workspace, stream());
    }
    const cuda::pinned_buffer locked(cuda::span_bytes(memory.shape().table));
    out.sums.entries.data = locked.data();  // on the emulated device at the address of what is gone
    EXPECT_COMPLAINT(p.run_async(memory.inputs(), out, workspace, stream()), "sums: is host memory (page-locked)");
}

}  // namespace
}  // namespace boxsum
