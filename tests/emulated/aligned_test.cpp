// The record `fast-aligned` on an emulated device: which problems it takes, and the conformance cases among them.

#include "api/registry.hpp"
#include "cuda/production/records.hpp"
#include "cuda/runtime/runtime.hpp"
#include "reference/conformance.hpp"
#include "support/emulation/settings.hpp"

#include <gtest/gtest.h>

#include <string>

namespace boxsum {
namespace {

using emulation::block_order;

/// Runs the cases that the record takes, on memory with rows at multiples of 64 bytes; how many, or -1.
int run_cases(dtype input, dtype table, emulation::settings device, effort e, std::int64_t most_elements) {
    const record_runner run = cuda::device_runner(cuda::workspace_reuse::shared);
    int checked = 0;
    for (conformance_case c : conformance_cases(input, table, {}, e)) {
        if (c.rows * c.cols * c.planes > most_elements) continue;
        // The memory of most cases is of no use to it; their shapes, layouts and patterns are.
        c.image_gap = c.table_gap = -1;
        c.image_offset = c.table_offset = 0;
        c.planes = 1;
        if (!check_support(sat_fast_aligned_record, problem_of(c), {})) continue;
        constexpr block_order orders[] = {block_order::forward, block_order::backward, block_order::shuffled};
        device.order = orders[++device.seed % 3];
        const emulation::scoped_settings scope(device);
        const auto wrong = check_record(sat_fast_aligned_record, c, {}, run);
        EXPECT_FALSE(wrong) << *wrong << " on " << device.multiprocessors << " multiprocessors, seed " << device.seed;
        if (wrong) return -1;
        ++checked;
    }
    return checked;
}

constexpr type_pair all_types[] = {{dtype::u8, dtype::u32}, {dtype::f32, dtype::f32}, {dtype::f64, dtype::f64}};

TEST(emulated_aligned, one_wave_of_every_tile_height_agrees_with_the_definition) {
    for (const int multiprocessors : {2, 8, 200})  // 16, 8, 4 rows a warp
        for (const auto& [input, table] : all_types)
            EXPECT_GT(run_cases(input, table, {.multiprocessors = multiprocessors}, effort::full, 20000), 0);
}

TEST(emulated_aligned, the_pipeline_agrees_with_the_definition) {
    for (const auto& [input, table] : all_types)
        EXPECT_GT(run_cases(input, table, {.resident_blocks = 2, .multiprocessors = 1}, effort::full, 60000), 0);
}

conformance_case aligned_case() {
    conformance_case c;
    c.input = c.table = dtype::f32;
    c.rows = 100;
    c.cols = 200;
    c.image_gap = c.table_gap = -1;
    return c;
}

TEST(emulated_aligned, says_why_it_refuses_a_problem) {
    const auto reason = [](const problem& p) {
        return std::string(check_support(sat_fast_aligned_record, p, {}).reason);
    };
    const problem good = problem_of(aligned_case());
    EXPECT_TRUE(check_support(sat_fast_aligned_record, good, {}));

    problem p = good;
    p.image.row_stride += 4;
    EXPECT_NE(reason(p).find("image row stride"), std::string::npos) << reason(p);
    p = good;
    p.table.row_stride += 8;
    EXPECT_NE(reason(p).find("table row stride"), std::string::npos) << reason(p);
    p = good;
    p.image.planes = p.table.planes = 2;
    p.image.plane_stride += 4;
    EXPECT_NE(reason(p).find("image plane stride"), std::string::npos) << reason(p);
    p = good;
    p.image.channels = p.table.channels = 3;
    EXPECT_NE(reason(p).find("has 3"), std::string::npos) << reason(p);
    p = good;
    p.squares = p.table;
    EXPECT_NE(reason(p).find("squares"), std::string::npos) << reason(p);
    p = good;
    p.image.rows = p.table.rows = 0;
    EXPECT_NE(reason(p).find("empty"), std::string::npos) << reason(p);
    p = good;
    p.image.type = dtype::u16;
    EXPECT_NE(reason(p).find("not compiled"), std::string::npos) << reason(p);
    const emulation::scoped_settings old({.compute_capability = 8});
    EXPECT_NE(reason(good).find("copy engine"), std::string::npos) << reason(good);
}

TEST(emulated_aligned, unaligned_pointers_are_left_to_the_record_fast) {
    const record_runner run = cuda::device_runner(cuda::workspace_reuse::fresh);
    for (const std::int64_t offset : {1, 2, 3}) {
        conformance_case c = aligned_case();
        c.image_offset = offset;
        EXPECT_FALSE(check_record(sat_fast_aligned_record, c, {}, run));
        c.image_offset = 0;
        c.table_offset = offset;
        EXPECT_FALSE(check_record(sat_fast_aligned_record, c, {}, run));
    }
}

TEST(emulated_aligned, is_not_chosen_by_itself) {
    const problem p = problem_of(aligned_case());
    EXPECT_EQ(choose(p, backend::cuda, "auto", "").record, &sat_fast_record);
    EXPECT_EQ(choose(p, backend::cuda, "fast-aligned", "").record, &sat_fast_aligned_record);
}

}  // namespace
}  // namespace boxsum
