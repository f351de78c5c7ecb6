// The record `fast` on an emulated device: the conformance cases on aligned images, any pointers, and which launches
// and workspaces it takes.

#include "api/registry.hpp"
#include "cuda/production/records.hpp"
#include "cuda/production/sat/prepared.hpp"
#include "cuda/workspace.hpp"
#include "support/emulation/settings.hpp"
#include "verify/conformance.hpp"
#include "verify/device_runner.hpp"

#include <boxsum/cuda/sat.hpp>
#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace boxsum {
namespace {

using emulation::block_order;

/// Runs the cases; how many, or -1. `aligned`: on images whose rows are at
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
        if (!check_support(sat_fast_record, p, {})) continue;
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
    for (const int capability : {8, 9})
        for (const auto& [input, table] : all_types)
            for (const bool aligned : {true, false})
                EXPECT_GT(run_cases(input, table, {},
                                    {.resident_blocks = 2, .multiprocessors = 1, .compute_capability = capability},
                                    capability == 8 ? effort::quick : effort::full, 60000, aligned),
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

conformance_case tiled_case() {
    conformance_case c;
    c.input = c.table = dtype::f32;
    c.rows = 100;
    c.cols = 200;
    c.image_gap = c.table_gap = -1;
    return c;
}

TEST(emulated_fast_aligned, more_tiles_than_can_be_counted_are_refused) {
    problem p = problem_of(tiled_case());
    EXPECT_TRUE(check_support(sat_fast_record, p, {}));
    p.table.planes = p.image.planes = 300'000'000;
    EXPECT_FALSE(check_support(sat_fast_record, p, {}));
}

TEST(emulated_fast_aligned, one_wave_of_too_many_tiles_is_refused) {
    problem p = problem_of(tiled_case());
    const parameter_values wave = parse_parameters(sat_fast_record, "path=wave");
    EXPECT_TRUE(check_support(sat_fast_record, p, wave));
    p.table.planes = p.image.planes = 10'001;
    const support refused = check_support(sat_fast_record, p, wave);
    EXPECT_FALSE(refused);
    EXPECT_NE(refused.reason.find("path=wave"), std::string::npos) << refused.reason;
    EXPECT_TRUE(check_support(sat_fast_record, p, parse_parameters(sat_fast_record, "path=tiles")));
}

TEST(emulated_fast_aligned, pointers_may_be_those_of_any_element) {
    const emulation::scoped_settings device({.resident_blocks = 2, .multiprocessors = 1});
    const record_runner run = cuda::device_runner(cuda::workspace_reuse::exact);
    for (const std::int64_t offset : {1, 2, 3}) {
        conformance_case c = tiled_case();
        c.rows = 300;
        c.image_offset = offset;
        EXPECT_FALSE(check_record(sat_fast_record, c, {}, run));
        c.image_offset = 0;
        c.table_offset = offset;
        EXPECT_FALSE(check_record(sat_fast_record, c, {}, run));
    }
}

/// Launches that the tables of sums and of squares take: each counts in the workspace's epoch.
std::uint32_t launches_with_squares(dtype input, dtype table, dtype squares, std::int64_t gap, std::int64_t channels,
                                    int capability = 9) {
    const emulation::scoped_settings device(
        {.resident_blocks = 2, .multiprocessors = 1, .compute_capability = capability});
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
    EXPECT_EQ(launches_with_squares(u8, u32, u64, 0, 1), 2u);      // rows that start anywhere
    EXPECT_EQ(launches_with_squares(u8, u32, u64, -1, 2), 2u);     // several channels
    EXPECT_EQ(launches_with_squares(u8, u32, u64, -1, 1, 8), 2u);  // no copy engine
}

/// Seen by the workspace.
TEST(emulated_fast_aligned, a_path_may_be_forced) {
    const emulation::scoped_settings device({.resident_blocks = 2, .multiprocessors = 1});
    conformance_case c = tiled_case();
    c.rows = 500;
    c.cols = 700;
    const problem p = problem_of(c);
    const cuda::sat_geometry g(p, nullptr, p.table, nullptr);
    const auto bytes = [&](std::string_view parameters) {
        return sat_fast_record.workspace_bytes(p, parse_parameters(sat_fast_record, parameters));
    };
    EXPECT_EQ(bytes(""), cuda::tiles_workspace_bytes(g, 4, 4, 1));
    EXPECT_EQ(bytes("path=tiles"), bytes(""));
    EXPECT_EQ(bytes("path=wave"), cuda::wave_workspace_bytes(g, 4, 16));
    const emulation::scoped_settings large({.resident_blocks = 2, .multiprocessors = 200});
    EXPECT_EQ(bytes(""), cuda::wave_workspace_bytes(g, 4, 4));
    EXPECT_EQ(bytes("path=tiles"), cuda::tiles_workspace_bytes(g, 4, 4, 200));
}

/// The registry of this program is that of a build with BOXSUM_ZOO=OFF: the exhibits are there, without kernels.
TEST(emulated_fast_aligned, exhibits_that_were_not_built_say_so) {
    const sat_shapes shapes{cuda::device_shape(dtype::u8, 40, 50), cuda::device_shape(dtype::u32, 40, 50)};
    EXPECT_EQ(cuda::sat_plan(shapes).algorithm().name, "fast");
    int refused = 0;
    for (const algorithm_record* record : registry(operation::sat)) {
        if (record->info.where != backend::cuda || record->info.built) continue;
        sat_options options;
        options.algorithm = record->info.name;
        try {
            (void)cuda::sat_plan(shapes, options);
            ADD_FAILURE() << record->info.name << " is planned";
        } catch (const unsupported& e) {
            const std::string what = e.what();
            EXPECT_NE(what.find(record->info.name), std::string::npos) << what;
            EXPECT_NE(what.find("its kernels were not built into this library"), std::string::npos) << what;
        }
        ++refused;
    }
    EXPECT_GE(refused, 16);
}

/// Words of a row of tiles that is nearly all of a table.
TEST(emulated_fast_aligned, words_of_wide_tables_are_those_of_column_parts) {
    conformance_case c = tiled_case();
    for (const std::int64_t rows : {1, 3, 64}) {
        problem p = problem_of(c);
        p.image.rows = p.table.rows = rows;
        p.image.cols = p.table.cols = std::int64_t{1} << 32;
        const double table = 4.0 * static_cast<double>(rows) * static_cast<double>(p.table.cols);
        EXPECT_LE(static_cast<double>(sat_fast_record.workspace_bytes(p, {})), 0.07 * table) << rows;
    }
}

/// Prepared once and run at places where other kernels are needed, twice each: the second time all is there.
TEST(emulated_fast_aligned, a_prepared_problem_runs_wherever_memory_starts) {
    const emulation::scoped_settings device({.resident_blocks = 2, .multiprocessors = 1});
    conformance_case c = tiled_case();
    c.rows = 150;
    const problem p = problem_of(c);
    const auto prepared = sat_fast_record.prepare(p, {});
    EXPECT_EQ(prepared->workspace_bytes(), sat_fast_record.workspace_bytes(p, {}));
    const record_runner run = cuda::device_runner(cuda::workspace_reuse::shared);
    static const prepared_problem* now = nullptr;
    now = prepared.get();
    algorithm_record record = sat_fast_record;
    record.prepare = nullptr;
    record.enqueue = [](const problem&, const buffers& memory, const execution& how) { now->run(memory, how); };
    for (int turn = 0; turn < 2; ++turn)
        for (const std::int64_t offset : {0, 1, 2}) {
            c.image_offset = offset;
            c.table_offset = 0;
            EXPECT_FALSE(check_record(record, c, {}, run));
            c.image_offset = 0;
            c.table_offset = offset;
            EXPECT_FALSE(check_record(record, c, {}, run));
        }
}

}  // namespace
}  // namespace boxsum
