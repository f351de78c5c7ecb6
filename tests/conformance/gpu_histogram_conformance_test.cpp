// Every CUDA record of integral histograms x every pair of types, over binnings, layouts, shapes, memory layouts and
// patterns, and over the values of its parameters. Records enumerate themselves.

#include "api/registry.hpp"
#include "support/gpu.hpp"
#include "support/parameter_choices.hpp"
#include "verify/device_runner.hpp"
#include "verify/histogram_conformance.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace boxsum {
namespace {

struct subject {
    const algorithm_record* record;
    dtype input;
    dtype tensor;
};

std::vector<subject> subjects() {
    std::vector<subject> all;
    for (const algorithm_record* record : registry(operation::histogram)) {
        if (record->info.where != backend::cuda) continue;
        if (!record->info.built) {  // one visible skip instead of a dozen
            all.push_back({record, dtype::u8, dtype::u32});
            continue;
        }
        for (const dtype input : {dtype::u8, dtype::u16, dtype::s32, dtype::f32})
            for (const dtype tensor : {dtype::u32, dtype::u16, dtype::f32}) all.push_back({record, input, tensor});
    }
    return all;
}

std::string name_of_subject(const testing::TestParamInfo<subject>& info) {
    std::string name(info.param.record->info.name);
    std::replace(name.begin(), name.end(), '-', '_');
    return name + "_" + name_of(type_pair{info.param.input, info.param.tensor});
}

/// Runs the cases that the record supports; how many there were, or -1.
int run_cases(const subject& s, effort e, const parameter_values& values, const histogram_runner& run) {
    int checked = 0;
    for (const histogram_case& c : histogram_cases(s.input, s.tensor, e)) {
        if (!check_support(*s.record, problem_of(c), values)) continue;
        const auto wrong = check_histogram_record(*s.record, c, values, run);
        EXPECT_FALSE(wrong) << *wrong << " (" << format_parameters(*s.record, values) << ")";
        if (wrong) return -1;
        ++checked;
    }
    return checked;
}

class gpu_histogram_conformance : public test::gpu_test, public testing::WithParamInterface<subject> {};

TEST_P(gpu_histogram_conformance, agrees_with_a_direct_count) {
    const subject& s = GetParam();
    if (!s.record->info.built) GTEST_SKIP() << "its kernels were not built";
    static const histogram_runner run = cuda::device_histogram_runner();
    int checked = run_cases(s, effort::full, {}, run);
    if (checked < 0) return;
    for (const parameter_values& values : test::parameter_choices(*s.record)) {
        const int more = run_cases(s, effort::quick, values, run);
        if (more < 0) return;
        checked += more;
    }
    if (checked == 0) GTEST_SKIP() << s.record->info.name << " supports none of these types";
}

INSTANTIATE_TEST_SUITE_P(registry, gpu_histogram_conformance, testing::ValuesIn(subjects()), name_of_subject);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(gpu_histogram_conformance);

}  // namespace
}  // namespace boxsum
