#include "api/registry.hpp"

#include <boxsum/algorithms.hpp>
#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

namespace boxsum {
namespace {

problem small_problem() {
    problem p;
    p.image = {dtype::u8, 1, 4, 4, 1, 4, 0};
    p.table = {dtype::u32, 1, 4, 4, 1, 16, 0};
    return p;
}

class environment {
  public:
    explicit environment(const char* value) {
        ::setenv("BOXSUM_ALGORITHM", value, 1);
        reread_environment();
    }
    ~environment() {
        ::unsetenv("BOXSUM_ALGORITHM");
        reread_environment();
    }
};

TEST(choose, by_name) {
    EXPECT_EQ(choose(small_problem(), backend::cpu, "reference", "").record->info.name, "reference");
    EXPECT_THROW(choose(small_problem(), backend::cpu, "no-such", ""), unsupported);
    EXPECT_THROW(choose(small_problem(), backend::cuda, "reference", ""), unsupported);
    EXPECT_THROW(choose(small_problem(), backend::cpu, "reference", "W=32"), invalid_argument);
    EXPECT_THROW(choose(small_problem(), backend::cpu, "auto", "W=32"), invalid_argument);
}

TEST(choose, auto_takes_the_first_that_supports) {
    const algorithm_record* expected = nullptr;
    for (const algorithm_record* record : registry(operation::sat))
        if (record->info.where == backend::cpu && check_support(*record, small_problem(), {})) {
            expected = record;
            break;
        }
    EXPECT_EQ(choose(small_problem(), backend::cpu, "auto", "").record, expected);
}

TEST(choose, environment_forces_auto_only) {
    const environment set("histogram:wf-tis,sat:reference");
    EXPECT_EQ(choose(small_problem(), backend::cpu, "auto", "").record->info.name, "reference");
}

TEST(choose, environment_mistakes_are_errors) {
    {
        const environment set("sat:no-such");
        EXPECT_THROW(choose(small_problem(), backend::cpu, "auto", ""), unsupported);
    }
    {
        const environment set("reference");
        EXPECT_THROW(choose(small_problem(), backend::cpu, "auto", ""), invalid_argument);
    }
}

TEST(registry, names_are_unique_and_everything_is_described) {
    for (const operation what : operations) {
        std::set<std::string_view> names;
        for (const algorithm_info* info : algorithms(what)) {
            EXPECT_TRUE(names.insert(info->name).second) << info->name;
            EXPECT_EQ(info->what, what);
            EXPECT_FALSE(info->title.empty());
            EXPECT_FALSE(info->paper.empty());
            EXPECT_FALSE(info->cost.empty());
            EXPECT_EQ(find_algorithm(what, info->name), info);
            EXPECT_LE(info->parameters.size(), parameter_values{}.choice.size());
        }
    }
    EXPECT_EQ(find_algorithm(operation::sat, "no-such"), nullptr);
}

TEST(registry, supports_answers_without_memory) {
    const algorithm_info& reference = *find_algorithm(operation::sat, "reference");
    const view_shape image{dtype::u8, 1, 100000, 100000, 1, 100000, 0};
    EXPECT_TRUE(supports(reference, image, dtype::u64, table_layout::padded));
    const support no = supports(reference, image, dtype::u16, table_layout::padded);
    EXPECT_FALSE(no);
    EXPECT_NE(no.reason.find("8u16u"), std::string::npos);
    const view_shape wide{dtype::u8, 1, 1, INT64_MAX / 4, 1, INT64_MAX / 4, 0},
        tall{dtype::u8, 1, INT64_MAX, 1, 1, 1, 0};
    EXPECT_THROW(supports(reference, wide, dtype::u64, table_layout::inclusive), invalid_argument);
    EXPECT_THROW(supports(reference, tall, dtype::u32, table_layout::padded), invalid_argument);
}

}  // namespace
}  // namespace boxsum
