#pragma once

#include "api/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

/// What the conformance tests of tables are instantiated with: every record of a backend x every type pair and triple.
namespace boxsum::test {

struct sat_subject {
    const algorithm_record* record;
    dtype input;
    dtype table;
    std::optional<dtype> squares;
};

/// What CTest shows beside the name; the default is raw bytes, which differ from run to run.
inline void PrintTo(const sat_subject& s, std::ostream* out) {
    *out << s.record->info.name;
}

inline std::vector<sat_subject> sat_subjects(backend where) {
    std::vector<sat_subject> all;
    for (const algorithm_record* record : registry(operation::sat)) {
        if (record->info.where != where) continue;
        if (!record->info.built) {  // one visible skip instead of dozens
            all.push_back({record, dtype::u8, dtype::u32, {}});
            continue;
        }
        for (const type_pair types : type_pairs()) all.push_back({record, types.input, types.table, {}});
        for (const squares_triple types : squares_triples())
            all.push_back({record, types.input, types.table, types.squares});
    }
    return all;
}

/// "1r1w_skss_8u32u64u"
inline std::string name_of_subject(const testing::TestParamInfo<sat_subject>& info) {
    const sat_subject& s = info.param;
    std::string name(s.record->info.name);
    std::replace(name.begin(), name.end(), '-', '_');
    return name + "_" + std::string(name_of(s.input)) + std::string(name_of(s.table)) +
           (s.squares ? std::string(name_of(*s.squares)) : std::string());
}

}  // namespace boxsum::test
