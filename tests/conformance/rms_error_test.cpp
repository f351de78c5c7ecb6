// On random images every CPU record's floating tables have no larger root-mean-square error than the serial
// algorithm's.

#include "support/rms_error.hpp"

#include "api/registry.hpp"
#include "support/parameter_choices.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace boxsum {
namespace {

class rms_error : public testing::TestWithParam<const algorithm_record*> {};

TEST_P(rms_error, is_no_worse_than_the_serial_algorithms) {
    const algorithm_record& record = *GetParam();
    const auto expect_no_worse = [&]<typename Pixel, typename Table>() {
        for (const parameter_values& values : test::parameter_choices(record)) {
            const auto worse = test::worse_than_serial<Pixel, Table>(record, run_on_host, values);
            EXPECT_FALSE(worse) << *worse;
        }
    };
    expect_no_worse.operator()<float, float>();
    expect_no_worse.operator()<double, double>();
}

/// The measure itself: it sees a table that lost its last bits.
TEST(rms_error_of_a_table, sees_lost_bits) {
    const algorithm_record& reference = *find_record(operation::sat, "reference");
    const auto truncating = [](const algorithm_record& record, const problem& p, host_memory& memory,
                               const execution& how) {
        run_on_host(record, p, memory, how);
        auto* const table = reinterpret_cast<float*>(memory.table.data());
        for (std::int64_t i = 0; i < p.table.rows * p.table.cols; ++i)
            table[i] = static_cast<float>(static_cast<int>(table[i] * 4096)) / 4096;
    };
    EXPECT_TRUE((test::worse_than_serial<float, float>(reference, truncating)));
    EXPECT_FALSE((test::worse_than_serial<float, float>(reference, run_on_host)));
}

std::vector<const algorithm_record*> cpu_records() {
    std::vector<const algorithm_record*> all;
    for (const algorithm_record* record : registry(operation::sat))
        if (record->info.where == backend::cpu && record->info.built) all.push_back(record);
    return all;
}

std::string name_of_record(const testing::TestParamInfo<const algorithm_record*>& tested) {
    std::string name(tested.param->info.name);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(registry, rms_error, testing::ValuesIn(cpu_records()), name_of_record);

}  // namespace
}  // namespace boxsum
