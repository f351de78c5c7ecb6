// Every CUDA record of the registry x every type pair and triple, over layouts, shapes, memory layouts and patterns,
// and over the values of its parameters. Records enumerate themselves: a new one is tested by being registered.

#include "support/gpu.hpp"
#include "support/parameter_choices.hpp"
#include "support/rms_error.hpp"
#include "support/sat_subjects.hpp"
#include "verify/conformance.hpp"
#include "verify/device_runner.hpp"

namespace boxsum {
namespace {

using test::sat_subject;

/// Runs the cases that the record supports; how many there were.
int run_cases(const sat_subject& s, effort e, const parameter_values& values, const record_runner& run) {
    int checked = 0;
    execution how;
    how.parameters = values;
    for (const conformance_case& c : conformance_cases(*s.record, s.input, s.table, s.squares, e)) {
        if (!check_support(*s.record, problem_of(c), values)) continue;
        const auto wrong = check_record(*s.record, c, how, run);
        EXPECT_FALSE(wrong) << *wrong << " (" << format_parameters(*s.record, values) << ")";
        if (wrong) return -1;
        ++checked;
    }
    return checked;
}

class gpu_conformance : public test::gpu_test, public testing::WithParamInterface<sat_subject> {};

TEST_P(gpu_conformance, agrees_with_the_definition) {
    const sat_subject& s = GetParam();
    // One workspace for all tests of the process: every case follows others of other shapes, types and records in it.
    static const record_runner shared = cuda::device_runner(cuda::workspace_reuse::shared);
    static const record_runner fresh = cuda::device_runner(cuda::workspace_reuse::fresh);
    int checked = run_cases(s, effort::full, {}, shared);
    if (checked < 0) return;
    for (const parameter_values& values : test::parameter_choices(*s.record)) {
        const int more = run_cases(s, effort::quick, values, fresh);
        if (more < 0) return;
        checked += more;
    }
    if (checked == 0) GTEST_SKIP() << s.record->info.name << " supports none of these types";
}

TEST_P(gpu_conformance, has_no_larger_rms_error_than_the_serial_algorithm) {
    const sat_subject& s = GetParam();
    static const record_runner run = cuda::device_runner(cuda::workspace_reuse::shared);
    const bool single = s.input == dtype::f32 && s.table == dtype::f32,
               twice = s.input == dtype::f64 && s.table == dtype::f64;
    if (s.squares || !(single || twice)) GTEST_SKIP() << "one pair of types of each precision is enough";
    for (const parameter_values& values : test::parameter_choices(*s.record)) {
        const auto worse = single ? test::worse_than_serial<float, float>(*s.record, run, values)
                                  : test::worse_than_serial<double, double>(*s.record, run, values);
        EXPECT_FALSE(worse) << *worse;
    }
}

INSTANTIATE_TEST_SUITE_P(registry, gpu_conformance, testing::ValuesIn(test::sat_subjects(backend::cuda)),
                         test::name_of_subject);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(gpu_conformance);

}  // namespace
}  // namespace boxsum
