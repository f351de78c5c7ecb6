// The record `fast` with every value of its parameters on an emulated device, of compute capability 9.0 and older.

#include "api/registry.hpp"
#include "cuda/production/records.hpp"
#include "support/emulation/settings.hpp"
#include "support/parameter_choices.hpp"
#include "verify/conformance.hpp"
#include "verify/device_runner.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

namespace boxsum {
namespace {

using emulation::block_order;

/// Runs the cases that are small enough, with every parameter value; how many.
int run_cases(const std::vector<conformance_case>& cases, emulation::settings device, std::int64_t most_elements) {
    const record_runner run = cuda::device_runner(cuda::workspace_reuse::shared);
    int checked = 0;
    for (const conformance_case& c : cases) {
        if (c.rows * c.cols * c.channels * c.planes > most_elements) continue;
        for (const parameter_values& values : test::parameter_choices(sat_fast_record)) {
            if (!check_support(sat_fast_record, problem_of(c), values)) continue;
            constexpr block_order orders[] = {block_order::forward, block_order::backward, block_order::shuffled};
            device.order = orders[++device.seed % 3];
            const emulation::scoped_settings scope(device);
            execution how;
            how.parameters = values;
            const auto wrong = check_record(sat_fast_record, c, how, run);
            EXPECT_FALSE(wrong) << *wrong << " (" << format_parameters(sat_fast_record, values) << ") on "
                                << device.multiprocessors << " multiprocessors, seed " << device.seed;
            if (wrong) return -1;
        }
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
            EXPECT_GT(run_cases(quick_cases(t), {.multiprocessors = multiprocessors}, 9000), 0);
}

TEST(emulated_fast, the_pipeline_agrees_with_the_definition) {
    for (const int capability : {8, 9})
        for (const types& t : all_types)
            EXPECT_GT(run_cases(quick_cases(t),
                                {.resident_blocks = 2, .multiprocessors = 1, .compute_capability = capability}, 12000),
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
    EXPECT_EQ(run_cases(cases, {.resident_blocks = 4, .preemption = 4, .multiprocessors = 1}, 1000000),
              static_cast<int>(cases.size()));
}

}  // namespace
}  // namespace boxsum
