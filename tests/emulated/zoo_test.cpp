// The published algorithms on an emulated device: their real source, with few blocks at a time, which start in any
// order.

#include "api/registry.hpp"
#include "support/emulation/combinations.hpp"
#include "support/emulation/settings.hpp"
#include "support/rms_error.hpp"
#include "verify/conformance.hpp"
#include "verify/device_runner.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using emulation::block_order;
using emulation::combination;

/// Every record with every combination of its parameters' values.
std::vector<combination> combinations() {
    std::vector<combination> all;
    for (const algorithm_record* record : emulation::device_records(operation::sat)) {
        std::vector<parameter_values> product{{}};
        for (std::size_t i = 0; i < record->info.parameters.size(); ++i) {
            std::vector<parameter_values> grown;
            for (const parameter_values& values : product)
                for (std::size_t value = 0; value < record->info.parameters[i].values.size(); ++value) {
                    grown.push_back(values);
                    grown.back().choice[i] = static_cast<std::uint8_t>(value);
                }
            product = grown;
        }
        for (const parameter_values& values : product) all.push_back({record, values});
    }
    return all;
}

/// Small images: an emulated element costs microseconds. Records at default parameters get four times as many.
bool small_enough(const conformance_case& c, bool defaults, std::size_t number) {
    const std::int64_t elements = c.rows * c.cols * c.channels * c.planes;
    return elements <= 9000 && (defaults || number % 4 == 0);
}

class emulated_zoo : public testing::TestWithParam<combination> {};

TEST_P(emulated_zoo, agrees_with_the_definition) {
    const auto& [record, values] = GetParam();
    execution how;
    how.parameters = values;
    const record_runner run = cuda::device_runner(cuda::workspace_reuse::fresh);
    int checked = 0;
    std::uint64_t seed = 0;
    std::size_t number = 0;
    for (const type_pair types : type_pairs())
        for (const conformance_case& c : conformance_cases(*record, types.input, types.table, {}, effort::quick)) {
            if (!small_enough(c, values == parameter_values{}, number++)) continue;
            if (!check_support(*record, problem_of(c), values)) continue;
            constexpr block_order orders[] = {block_order::forward, block_order::backward, block_order::shuffled};
            const emulation::scoped_settings device(
                {.seed = ++seed, .order = orders[seed % 3], .resident_blocks = 2 + static_cast<int>(seed % 3)});
            const auto wrong = check_record(*record, c, how, run);
            ASSERT_FALSE(wrong) << *wrong;
            ++checked;
        }
    EXPECT_GT(checked, 0);
}

TEST_P(emulated_zoo, has_no_larger_rms_error_than_the_serial_algorithm) {
    const auto& [record, values] = GetParam();
    if (values != parameter_values{}) GTEST_SKIP() << "the order of additions is tested at default parameters";
    const auto worse =
        test::worse_than_serial<float, float>(*record, cuda::device_runner(cuda::workspace_reuse::fresh), {}, 8);
    EXPECT_FALSE(worse) << *worse;
}

INSTANTIATE_TEST_SUITE_P(registry, emulated_zoo, testing::ValuesIn(combinations()), emulation::name_of_combination);

TEST(emulated_zoo, has_every_exhibit) {
    EXPECT_GE(emulation::device_records(operation::sat).size(), 15u);
}

}  // namespace
}  // namespace boxsum
