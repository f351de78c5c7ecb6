// The record `fast` on either of its paths on an emulated device, of compute capability 9.0 and older;
// fast_tiles_test.cpp has the path by size.

#include "api/registry.hpp"
#include "cuda/production/records.hpp"
#include "support/emulation/settings.hpp"
#include "support/rms_error.hpp"
#include "verify/conformance.hpp"
#include "verify/device_runner.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace boxsum {
namespace {

using emulation::block_order;

/// Runs the cases that are small enough on a path that can do them; how many.
int run_cases(const std::vector<conformance_case>& cases, emulation::settings device, std::int64_t most_elements,
              std::string_view path) {
    const record_runner run = cuda::device_runner(cuda::workspace_reuse::shared);
    execution how;
    how.parameters = parse_parameters(sat_fast_record, path);
    int checked = 0;
    for (const conformance_case& c : cases) {
        if (c.rows * c.cols * c.channels * c.planes > most_elements) continue;
        if (!check_support(sat_fast_record, problem_of(c), how.parameters)) continue;
        constexpr block_order orders[] = {block_order::forward, block_order::backward, block_order::shuffled};
        device.order = orders[++device.seed % 3];
        const emulation::scoped_settings scope(device);
        const auto wrong = check_record(sat_fast_record, c, how, run);
        EXPECT_FALSE(wrong) << *wrong << " (" << path << ") on " << device.multiprocessors << " multiprocessors, seed "
                            << device.seed;
        if (wrong) return -1;
        ++checked;
    }
    return checked;
}

struct types {
    dtype input, table;
    std::optional<dtype> squares;
};
constexpr types all_types[] = {{dtype::u8, dtype::u32, {}},         {dtype::f32, dtype::f32, {}},
                               {dtype::f64, dtype::f64, {}},        {dtype::u8, dtype::u32, dtype::u32},
                               {dtype::u8, dtype::u32, dtype::u64}, {dtype::f32, dtype::f32, dtype::f32}};

std::vector<conformance_case> quick_cases(const types& t) {
    return conformance_cases(sat_fast_record, t.input, t.table, t.squares, effort::quick);
}

TEST(emulated_fast, is_built) {
    EXPECT_TRUE(sat_fast_record.info.built);
}

TEST(emulated_fast, one_wave_of_every_tile_height_agrees_with_the_definition) {
    for (const int multiprocessors : {2, 8, 200})  // 16, 8, 4 rows a warp
        for (const types& t : all_types)
            EXPECT_GT(run_cases(quick_cases(t), {.multiprocessors = multiprocessors}, 9000, "path=wave"), 0);
}

TEST(emulated_fast, a_pipeline_with_more_blocks_than_tiles_agrees_with_the_definition) {
    for (const types& t : all_types)
        EXPECT_GT(run_cases(quick_cases(t), {.multiprocessors = 200}, 9000, "path=tiles"), 0);
}

TEST(emulated_fast, the_pipeline_agrees_with_the_definition) {
    for (const int capability : {8, 9})
        for (const types& t : all_types)
            EXPECT_GT(run_cases(quick_cases(t),
                                {.resident_blocks = 2, .multiprocessors = 1, .compute_capability = capability}, 12000,
                                "path=tiles"),
                      0);
}

TEST(emulated_fast, the_pipeline_crosses_groups_of_tiles_and_reuses_its_ring) {
    std::vector<conformance_case> cases;
    for (const types& t : all_types) {
        conformance_case c{.input = t.input, .table = t.table, .squares = t.squares};
        for (const auto& [rows, cols, planes] : {std::array{2000, 20, 1}, {500, 9, 5}, {3, 4099, 1}, {70, 70, 12}}) {
            c.rows = rows;
            c.cols = cols;
            c.planes = planes;
            c.layout = rows == 500 ? table_layout::padded : table_layout::inclusive;
            c.seed = static_cast<std::uint64_t>(cols);
            cases.push_back(c);
        }
    }
    const emulation::settings device{.resident_blocks = 4, .preemption = 4, .multiprocessors = 1};
    EXPECT_EQ(run_cases(cases, device, 1000000, "path=tiles"), static_cast<int>(cases.size()));
    EXPECT_GT(run_cases(cases, device, 1000000, "path=wave"), 0);
}

TEST(emulated_fast, has_no_larger_rms_error_than_the_serial_algorithm_on_either_path) {
    const record_runner run = cuda::device_runner(cuda::workspace_reuse::shared);
    for (const std::string_view path : {"path=wave", "path=tiles"}) {
        const parameter_values values = parse_parameters(sat_fast_record, path);
        const auto worse = test::worse_than_serial<float, float>(sat_fast_record, run, values);
        EXPECT_FALSE(worse) << *worse;
        const auto worse_of_doubles = test::worse_than_serial<double, double>(sat_fast_record, run, values);
        EXPECT_FALSE(worse_of_doubles) << *worse_of_doubles;
    }
}

}  // namespace
}  // namespace boxsum
