// The aligned kernels of the record `fast` on an emulated device: the conformance cases that they take, and what is
// left to the general ones.

#include "api/registry.hpp"
#include "cuda/production/records.hpp"
#include "cuda/production/sat_aligned.hpp"
#include "cuda/production/sat_fast_choice.hpp"
#include "cuda/workspace.hpp"
#include "support/emulation/settings.hpp"
#include "verify/conformance.hpp"
#include "verify/device_runner.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace boxsum {
namespace {

using emulation::block_order;

/// Whether the aligned kernels take the table of sums.
bool fits(const problem& p) {
    return cuda::aligned_kernels_fit({p, nullptr, p.table, nullptr}, cuda::tile_cols_of(p.table.type));
}

/// Runs the cases that the aligned kernels take; how many, or -1. `aligned`: on images whose rows are at
/// multiples of 64 bytes, whatever the case says.
int run_cases(dtype input, dtype table, std::optional<dtype> squares, emulation::settings device, effort e,
              std::int64_t most_elements, bool aligned) {
    const record_runner run = cuda::device_runner(cuda::workspace_reuse::shared);
    int checked = 0;
    for (conformance_case c : conformance_cases(input, table, squares, e)) {
        if (c.rows * c.cols * c.channels * c.planes > most_elements) continue;
        if (aligned) {
            c.image_gap = -1;
            c.image_offset = 0;
            c.planes = 1;
        }
        const problem p = problem_of(c);
        if (!check_support(sat_fast_record, p, {}) || !fits(p)) continue;
        constexpr block_order orders[] = {block_order::forward, block_order::backward, block_order::shuffled};
        device.order = orders[++device.seed % 3];
        const emulation::scoped_settings scope(device);
        const auto wrong = check_record(sat_fast_record, c, {}, run);
        EXPECT_FALSE(wrong) << *wrong << " on " << device.multiprocessors << " multiprocessors, seed " << device.seed;
        if (wrong) return -1;
        ++checked;
    }
    return checked;
}

constexpr type_pair all_types[] = {{dtype::u8, dtype::u32}, {dtype::f32, dtype::f32}, {dtype::f64, dtype::f64}};

TEST(emulated_fast_aligned, one_wave_of_every_tile_height_agrees_with_the_definition) {
    for (const int multiprocessors : {2, 8, 200})  // 16, 8, 4 rows a warp
        for (const auto& [input, table] : all_types)
            EXPECT_GT(run_cases(input, table, {}, {.multiprocessors = multiprocessors}, effort::full, 20000, true), 0);
}

TEST(emulated_fast_aligned, the_pipeline_agrees_with_the_definition) {
    for (const auto& [input, table] : all_types)
        for (const bool aligned : {true, false})
            EXPECT_GT(
                run_cases(input, table, {}, {.resident_blocks = 2, .multiprocessors = 1}, effort::full, 60000, aligned),
                0);
}

TEST(emulated_fast_aligned, squares_agree_with_the_definition) {
    for (const int multiprocessors : {1, 8, 200}) {
        const emulation::settings device{.resident_blocks = 2, .multiprocessors = multiprocessors};
        EXPECT_GT(run_cases(dtype::u8, dtype::u32, dtype::u32, device, effort::quick, 60000, false), 0);
        EXPECT_GT(run_cases(dtype::u8, dtype::u32, dtype::u64, device, effort::quick, 60000, false), 0);
        EXPECT_GT(run_cases(dtype::f32, dtype::f32, dtype::f32, device, effort::quick, 60000, false), 0);
    }
}

conformance_case aligned_case() {
    conformance_case c;
    c.input = c.table = dtype::f32;
    c.rows = 100;
    c.cols = 200;
    c.image_gap = c.table_gap = -1;
    return c;
}

TEST(emulated_fast_aligned, what_is_empty_or_has_too_many_tiles_does_not_fit) {
    const problem good = problem_of(aligned_case());
    EXPECT_TRUE(fits(good));

    problem p = good;
    p.table.row_stride += 4;
    p.image.row_stride += 8;
    EXPECT_TRUE(fits(p));
    p = good;
    p.image.channels = p.table.channels = 3;
    EXPECT_TRUE(fits(p));
    p = good;
    p.image.rows = p.table.rows = 0;
    EXPECT_FALSE(fits(p));
    p = good;
    p.table.planes = p.image.planes = 300'000'000;
    EXPECT_FALSE(fits(p));
}

TEST(emulated_fast_aligned, pointers_may_be_those_of_any_element) {
    const emulation::scoped_settings device({.resident_blocks = 2, .multiprocessors = 1});
    const record_runner run = cuda::device_runner(cuda::workspace_reuse::exact);
    for (const std::int64_t offset : {1, 2, 3}) {
        conformance_case c = aligned_case();
        c.rows = 300;
        c.image_offset = offset;
        EXPECT_FALSE(check_record(sat_fast_record, c, {}, run));
        c.image_offset = 0;
        c.table_offset = offset;
        EXPECT_FALSE(check_record(sat_fast_record, c, {}, run));
    }
}

/// Launches that the tables of sums and of squares take: each counts in the workspace's epoch.
std::uint32_t launches_with_squares(dtype input, dtype table, dtype squares, std::int64_t gap, std::int64_t channels) {
    const emulation::scoped_settings device({.resident_blocks = 2, .multiprocessors = 1});
    conformance_case c;
    c.input = input;
    c.table = table;
    c.squares = squares;
    c.rows = 150;
    c.cols = 333;
    c.channels = channels;
    c.image_gap = c.table_gap = gap;
    const problem p = problem_of(c);
    const auto memory = [](const view_shape& view) {
        return std::vector<std::byte>(static_cast<std::size_t>(view.rows * view.row_stride) + 64);
    };
    std::vector<std::byte> image = memory(p.image), sums = memory(p.table), sums_of_squares = memory(*p.squares);
    std::vector<std::byte> workspace(workspace_header_bytes + 256 + sat_fast_record.workspace_bytes(p, {}));
    const auto at_256 = [](std::vector<std::byte>& bytes, std::size_t to) {
        return bytes.data() + (to - reinterpret_cast<std::uintptr_t>(bytes.data()) % to) % to;
    };
    execution how;
    how.header = reinterpret_cast<workspace_header*>(at_256(workspace, 256));
    how.workspace = at_256(workspace, 256) + workspace_header_bytes;
    how.workspace_bytes = sat_fast_record.workspace_bytes(p, {});
    sat_fast_record.enqueue(p, {at_256(image, 16), at_256(sums, 16), at_256(sums_of_squares, 16)}, how);
    return how.header->epoch;
}

TEST(emulated_fast_aligned, sums_and_squares_come_from_one_launch) {
    using enum dtype;
    EXPECT_EQ(launches_with_squares(u8, u32, u64, -1, 1), 1u);
    EXPECT_EQ(launches_with_squares(u8, u32, u32, -1, 1), 1u);
    EXPECT_EQ(launches_with_squares(f32, f32, f32, -1, 1), 1u);
    EXPECT_EQ(launches_with_squares(u8, u32, u64, 0, 1), 2u);   // rows that start anywhere
    EXPECT_EQ(launches_with_squares(u8, u32, u64, -1, 2), 2u);  // several channels
}

/// Seen by the workspace.
TEST(emulated_fast_aligned, the_general_path_takes_no_aligned_kernel) {
    const emulation::scoped_settings device({.resident_blocks = 2, .multiprocessors = 1});
    conformance_case c = aligned_case();
    c.rows = 500;
    c.cols = 700;
    const problem p = problem_of(c);
    const parameter_values general = parse_parameters(sat_fast_record, "path=general");
    const cuda::sat_geometry g(p, nullptr, p.table, nullptr);
    EXPECT_EQ(sat_fast_record.workspace_bytes(p, {}), cuda::aligned_workspace_bytes(g, 4, 4, 1));
    EXPECT_NE(sat_fast_record.workspace_bytes(p, {}), sat_fast_record.workspace_bytes(p, general));
    const emulation::scoped_settings old({.resident_blocks = 2, .multiprocessors = 1, .compute_capability = 8});
    EXPECT_EQ(sat_fast_record.workspace_bytes(p, {}), sat_fast_record.workspace_bytes(p, general));
}

}  // namespace
}  // namespace boxsum
