// Every record of the registry x every type pair and triple, over layouts, shapes, memory layouts and patterns.
// Records enumerate themselves: a new one is tested by being registered.

#include "verify/conformance.hpp"

#include "support/sat_subjects.hpp"

#include <gtest/gtest.h>

namespace boxsum {
namespace {

using test::sat_subject;

class conformance : public testing::TestWithParam<sat_subject> {};

TEST_P(conformance, agrees_with_the_definition) {
    const sat_subject& s = GetParam();
    int checked = 0;
    for (const conformance_case& c : conformance_cases(*s.record, s.input, s.table, s.squares, effort::full)) {
        if (!check_support(*s.record, problem_of(c), {})) continue;
        const auto wrong = check_record(*s.record, c);
        ASSERT_FALSE(wrong) << *wrong;
        ++checked;
    }
    if (checked == 0) GTEST_SKIP() << s.record->info.name << " supports none of these types";
}

INSTANTIATE_TEST_SUITE_P(registry, conformance, testing::ValuesIn(test::sat_subjects(backend::cpu)),
                         test::name_of_subject);

}  // namespace
}  // namespace boxsum
