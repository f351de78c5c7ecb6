// A test of the suite itself: records that are wrong in known ways must be rejected, for every type.

#include "support/broken_records.hpp"

#include "api/registry.hpp"
#include "reference/records.hpp"
#include "verify/conformance.hpp"

#include <gtest/gtest.h>

namespace boxsum {
namespace {

bool rejected(const algorithm_record& record, const std::vector<conformance_case>& cases) {
    for (const conformance_case& c : cases)
        if (record.supports(problem_of(c), {}) && check_record(record, c)) return true;
    return false;
}
bool rejected(const algorithm_record& record, dtype input, dtype table, std::optional<dtype> squares) {
    return rejected(record, conformance_cases(input, table, squares, effort::full));
}

TEST(broken_records, every_one_is_rejected_for_every_type_pair) {
    for (const algorithm_record* record : test::broken_records())
        for (const type_pair types : type_pairs())
            EXPECT_TRUE(rejected(*record, types.input, types.table, {}))
                << record->info.name << " passed for " << name_of(types);
}

TEST(broken_records, wrong_parts_are_rejected_for_every_type_pair) {
    for (const algorithm_record* record : test::broken_part_records())
        for (const type_pair types : type_pairs())
            for (const effort e : {effort::quick, effort::full})
                EXPECT_TRUE(rejected(*record, part_cases(types.input, types.table, {}, e)))
                    << record->info.name << " passed for " << name_of(types);
}

TEST(broken_records, wrong_squares_are_rejected_for_every_triple) {
    for (const squares_triple types : squares_triples())
        EXPECT_TRUE(rejected(test::broken_squares_record, types.input, types.table, types.squares))
            << "passed for " << name_of(types);
}

TEST(broken_records, the_message_names_the_first_wrong_entry) {
    conformance_case c;
    c.rows = 40;
    c.cols = 50;
    const auto wrong = check_record(*test::broken_records()[0], c);
    ASSERT_TRUE(wrong);
    EXPECT_NE(wrong->find("row 32, col 0"), std::string::npos) << *wrong;
}

TEST(broken_records, the_oracle_is_not_rejected) {
    EXPECT_FALSE(rejected(reference_sat_record, dtype::u8, dtype::u32, {}));
    EXPECT_FALSE(rejected(reference_sat_record, part_cases(dtype::f32, dtype::f64, dtype::f64, effort::full)));
}

}  // namespace
}  // namespace boxsum
