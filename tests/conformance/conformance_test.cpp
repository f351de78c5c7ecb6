// Every record of the registry x every type pair and triple, over layouts, shapes, memory layouts and patterns.
// Records enumerate themselves: a new one is tested by being registered.

#include "reference/conformance.hpp"

#include "api/registry.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace boxsum {
namespace {

struct subject {
    const algorithm_record* record;
    dtype input;
    dtype table;
    std::optional<dtype> squares;
};

std::vector<subject> subjects() {
    std::vector<subject> all;
    for (const algorithm_record* record : registry(operation::sat)) {
        if (record->info.where != backend::cpu) continue;  // device records: tests/conformance/gpu_conformance_test
        for (const type_pair types : type_pairs()) all.push_back({record, types.input, types.table, {}});
        for (const squares_triple types : squares_triples())
            all.push_back({record, types.input, types.table, types.squares});
    }
    return all;
}

std::string name_of_subject(const testing::TestParamInfo<subject>& info) {
    std::string name(info.param.record->info.name);
    for (char& c : name)
        if (c == '-') c = '_';
    return name + "_" + std::string(name_of(info.param.input)) + std::string(name_of(info.param.table)) +
           (info.param.squares ? std::string(name_of(*info.param.squares)) : std::string());
}

/// What CTest shows beside the name; the default is raw bytes, which differ from run to run.
void PrintTo(const subject& s, std::ostream* out) {
    *out << s.record->info.name;
}

class conformance : public testing::TestWithParam<subject> {};

TEST_P(conformance, agrees_with_the_definition) {
    const subject& s = GetParam();
    int checked = 0;
    for (const conformance_case& c : conformance_cases(s.input, s.table, s.squares, effort::full)) {
        if (!check_support(*s.record, problem_of(c), {})) continue;
        const auto wrong = check_record(*s.record, c);
        ASSERT_FALSE(wrong) << *wrong;
        ++checked;
    }
    if (checked == 0) GTEST_SKIP() << s.record->info.name << " supports none of these types";
}

INSTANTIATE_TEST_SUITE_P(registry, conformance, testing::ValuesIn(subjects()), name_of_subject);

}  // namespace
}  // namespace boxsum
