#include "verify/histogram_conformance.hpp"

#include "api/registry.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace boxsum {
namespace {

struct subject {
    const algorithm_record* record;
    parameter_values parameters;
    dtype input;
    dtype tensor;
};

/// With the default parameters: another instruction set may be missing on this machine, which is a visible skip.
bool supports_type(const algorithm_record& record, dtype input, dtype tensor) {
    histogram_case c;
    c.input = input;
    c.tensor = tensor;
    return check_support(record, problem_of(c), {}).ok;
}

/// Every value of the first parameter: for the CPU record, its instruction sets.
std::vector<subject> subjects() {
    std::vector<subject> all;
    for (const algorithm_record* record : registry(operation::histogram)) {
        if (record->info.where != backend::cpu) continue;
        const std::size_t choices = record->info.parameters.empty() ? 1 : record->info.parameters[0].values.size();
        for (std::size_t choice = 0; choice < choices; ++choice)
            for (const dtype input : {dtype::u8, dtype::u16, dtype::s32, dtype::f32})
                for (const dtype tensor : {dtype::u32, dtype::u16, dtype::f32}) {
                    subject s{record, {}, input, tensor};
                    s.parameters.choice[0] = static_cast<std::uint8_t>(choice);
                    if (supports_type(*record, input, tensor)) all.push_back(s);
                }
    }
    return all;
}

std::string name_of_subject(const testing::TestParamInfo<subject>& info) {
    const subject& s = info.param;
    std::string name(s.record->info.name);
    if (!s.record->info.parameters.empty()) name.append("_").append(s.record->value(s.parameters, 0));
    return name.append("_").append(name_of(type_pair{s.input, s.tensor}));
}

class histogram_conformance : public testing::TestWithParam<subject> {};

TEST_P(histogram_conformance, agrees_with_a_direct_count) {
    const subject& s = GetParam();
    int checked = 0;
    for (const histogram_case& c : histogram_cases(s.input, s.tensor, effort::full)) {
        if (!check_support(*s.record, problem_of(c), s.parameters)) continue;
        const auto wrong = check_histogram_record(*s.record, c, s.parameters);
        ASSERT_FALSE(wrong) << *wrong;
        ++checked;
    }
    if (checked == 0) GTEST_SKIP() << s.record->info.name << " supports none of these cases here";
}

INSTANTIATE_TEST_SUITE_P(registry, histogram_conformance, testing::ValuesIn(subjects()), name_of_subject);

}  // namespace
}  // namespace boxsum
