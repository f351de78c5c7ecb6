// The record `outwards` with every value of its parameters on an emulated device: tables that need no such record, too.

#include "api/registry.hpp"
#include "cuda/production/records.hpp"
#include "support/emulation/settings.hpp"
#include "support/parameter_choices.hpp"
#include "verify/conformance.hpp"
#include "verify/device_runner.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace boxsum {
namespace {

struct types {
    dtype input, table;
    std::optional<dtype> squares;
};

TEST(emulated_outwards, agrees_with_the_definition) {
    constexpr types all_types[] = {{dtype::u8, dtype::u32, {}},
                                   {dtype::f32, dtype::f32, {}},
                                   {dtype::f64, dtype::f64, {}},
                                   {dtype::f32, dtype::f32, dtype::f32}};
    const record_runner run = cuda::device_runner(cuda::workspace_reuse::shared);
    for (const types& t : all_types)
        for (const parameter_values& values : test::parameter_choices(sat_outwards_record)) {
            int checked = 0;
            emulation::settings device{.resident_blocks = 2, .multiprocessors = 1};
            for (conformance_case c :
                 conformance_cases(sat_outwards_record, t.input, t.table, t.squares, effort::quick)) {
                if (c.rows * c.cols * c.channels * c.planes > 9000) continue;
                if (++device.seed % 2 == 0) {  // else boxes of images have no place to begin
                    c.image_gap = -1;
                    c.image_offset = 0;
                    c.planes = 1;
                }
                if (!check_support(sat_outwards_record, problem_of(c), values)) continue;
                const emulation::scoped_settings scope(device);
                execution how;
                how.parameters = values;
                const auto wrong = check_record(sat_outwards_record, c, how, run);
                ASSERT_FALSE(wrong) << *wrong << " (" << format_parameters(sat_outwards_record, values) << ")";
                ++checked;
            }
            const bool tiles = sat_outwards_record.value(values, 0) == "tiles";
            EXPECT_EQ(checked > 0, !tiles || t.input != dtype::f64) << name_of(t.input);
        }
}

}  // namespace
}  // namespace boxsum
