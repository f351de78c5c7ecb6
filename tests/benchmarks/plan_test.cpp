#include "sat/plan.hpp"

#include "errors.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace boxsum::bench {
namespace {

const sat_case* find(const std::vector<sat_case>& cases, const std::string& types, std::int64_t size) {
    for (const sat_case& c : cases)
        if (name_of(c.types) == types && c.rows == size && c.cols == size) return &c;
    return nullptr;
}

TEST(plan, the_papers_experiments_are_there) {
    const std::vector<sat_case> cases = plan_of({}, backend::cuda);
    const auto has = [](const sat_case* c, const std::string& algorithm, const std::string& parameters) {
        return c != nullptr &&
               std::find(c->variants.begin(), c->variants.end(), variant{algorithm, parameters}) != c->variants.end();
    };
    const sat_case* const largest = find(cases, "32f32f", 32768);  // Emoto's Table III
    for (const char* w : {"32", "64", "128"})
        EXPECT_TRUE(has(largest, "1r1w-skss-lb", std::string("W=") + w + ",threads=1024")) << w;
    for (const char* r : {"0", "25", "100"})  // "we can choose the best value of r"
        EXPECT_TRUE(has(largest, "1r1w-hybrid", std::string("W=64,threads=1024,r=") + r)) << r;
    EXPECT_TRUE(has(largest, "1r1w-skss", "W=64,threads=1024"));
    EXPECT_TRUE(largest->copy);
    for (const char* types : {"8u32s", "8u32u", "8u32f", "32f32f", "32u32u", "64f64f"})  // Chen's figures 6 and 7
        for (std::int64_t k = 1; k <= 20; ++k) {
            const sat_case* const c = find(cases, types, 1024 * k);
            ASSERT_NE(c, nullptr) << types << " " << k;
            EXPECT_NE(std::find(c->competitors.begin(), c->competitors.end(), "npp"), c->competitors.end());
            EXPECT_TRUE(has(c, "brlt-scanrow", "threads=1024"));  // the paper's block
            // Passes: of figure 8's sizes, and of powers of two.
            EXPECT_EQ(std::count(c->broken_down.begin(), c->broken_down.end(), "scanrow-column"),
                      k <= 4 || k == 8 || k == 16 ? 1 : 0)
                << types << " " << k;
        }
    const sat_case* const small = find(cases, "32f32f", 64);  // Ha and Han's figure 5
    ASSERT_NE(small, nullptr);
    EXPECT_GE(std::count_if(small->variants.begin(), small->variants.end(),
                            [](const variant& v) { return v.algorithm == "ha-han"; }),
              2);
    const auto oblong =
        std::find_if(cases.begin(), cases.end(), [](const sat_case& c) { return c.rows == 1024 && c.cols == 2048; });
    ASSERT_NE(oblong, cases.end());  // past which the comparator drops in figure 5
    EXPECT_TRUE(has(&*oblong, "harris-transpose", ""));
    ASSERT_NE(find(cases, "8u32u", 800), nullptr);  // the notes' box blur
    EXPECT_TRUE(find(cases, "8u32u", 800)->blur);
    for (const sat_case& c : cases)
        EXPECT_TRUE(
            std::any_of(c.variants.begin(), c.variants.end(), [](const variant& v) { return v.algorithm == "fast"; }));
}

TEST(plan, every_variant_is_measured_once) {
    for (const sat_case& c : plan_of({}, backend::cuda))
        for (std::size_t i = 0; i < c.variants.size(); ++i)
            EXPECT_EQ(std::count(c.variants.begin(), c.variants.end(), c.variants[i]), 1) << c.variants[i].algorithm;
}

TEST(plan, choices_restrict_it) {
    sat_bench_options options;
    options.experiments = {"emoto"};
    options.sizes = {"300", "1k"};
    options.algorithms = {"2r1w", "2r2w"};
    options.parameters = {"W=128"};
    const std::vector<sat_case> cases = plan_of(options, backend::cuda);
    ASSERT_EQ(cases.size(), 2u);
    EXPECT_EQ(cases[0].cols, 300);
    EXPECT_EQ(cases[1].cols, 1024);
    for (const variant& v : cases[0].variants)
        EXPECT_TRUE(v.algorithm == "2r2w" || v.parameters.starts_with("W=128")) << v.parameters;
    EXPECT_TRUE(std::any_of(cases[0].variants.begin(), cases[0].variants.end(),
                            [](const variant& v) { return v.algorithm == "2r2w"; }));
}

TEST(plan, the_cpu_has_its_own_algorithms) {
    sat_bench_options options;
    options.types = {"16u64u"};
    options.sizes = {"100"};
    const std::vector<sat_case> cases = plan_of(options, backend::cpu);
    ASSERT_EQ(cases.size(), 1u);
    ASSERT_EQ(cases[0].variants.size(), 1u);
    EXPECT_EQ(cases[0].variants[0].algorithm, "simd");
    EXPECT_TRUE(cases[0].broken_down.empty());
}

void refuses(sat_bench_options options, backend where, const std::string& words) {
    try {
        (void)plan_of(options, where);
        ADD_FAILURE() << words;
    } catch (const cli::usage_error& e) {
        EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
}

TEST(plan, what_does_not_exist_is_named) {
    refuses({.experiments = {"emotto"}}, backend::cpu, "'emotto'");
    refuses({.sizes = {"0"}}, backend::cpu, "'0'");
    refuses({.sizes = {"65k"}}, backend::cpu, "'65k'");
    refuses({.sizes = {"12x"}}, backend::cpu, "'12x'");
    refuses({.types = {"8u8u"}}, backend::cpu, "'8u8u'");
    refuses({.algorithms = {"3r3w"}}, backend::cpu, "'3r3w'");
    refuses({.algorithms = {"2r1w"}}, backend::cpu, "'2r1w' runs on cuda");
    refuses({.parameters = {"Q=1"}}, backend::cuda, "'Q'");
    refuses({.parameters = {"W=48"}}, backend::cuda, "W=48");
    refuses({.parameters = {"W"}}, backend::cuda, "'W'");
    refuses({.experiments = {"notes"}, .algorithms = {"2r1w"}}, backend::cuda, "nothing to measure");
}

}  // namespace
}  // namespace boxsum::bench
