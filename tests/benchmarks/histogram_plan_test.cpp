#include "errors.hpp"
#include "histogram/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace boxsum::bench {
namespace {

const tensor_case* find(const histogram_cases& cases, std::int64_t rows, std::int64_t cols, std::int64_t bins) {
    for (const tensor_case& c : cases.tensors)
        if (c.rows == rows && c.cols == cols && c.bins == bins) return &c;
    return nullptr;
}

bool has(const tensor_case& c, const std::string& algorithm, const std::string& parameters = {}) {
    return std::find(c.variants.begin(), c.variants.end(), histogram_variant{algorithm, parameters}) !=
           c.variants.end();
}

TEST(histogram_plan, the_papers_figures_are_there) {
    const histogram_cases cases = cases_of({}, backend::cuda);
    for (const std::int64_t n : {256, 512, 1024, 2048}) {  // figures 7, 15 and 19
        const tensor_case* const c = find(cases, n, n, 32);
        ASSERT_NE(c, nullptr) << n;
        for (const char* name : {"cw-b", "cw-sts", "cw-tis", "wf-tis", "fast"}) EXPECT_TRUE(has(*c, name)) << name;
        EXPECT_TRUE(c->transfers && c->on_host) << n;
        EXPECT_EQ(c->parts, n == 512 || n == 1024) << n;  // figure 8
    }
    const tensor_case& tuned = *find(cases, 512, 512, 32);  // figures 9 and 10; the default is measured without a name
    for (const char* parameters : {"tile=64,threads=512", "tile=32,threads=256", "tile=16,threads=64"})
        EXPECT_TRUE(has(tuned, "wf-tis", parameters)) << parameters;
    EXPECT_FALSE(has(tuned, "wf-tis", "tile=64,threads=256"));
    for (const std::int64_t bins : {16, 64, 128}) {
        ASSERT_NE(find(cases, 512, 512, bins), nullptr) << bins;
        EXPECT_TRUE(std::any_of(cases.streams.begin(), cases.streams.end(), [&](const stream_case& s) {
            return s.rows == 720 && s.cols == 1280 && s.bins == bins && s.buffers == std::vector<int>{1, 2};
        })) << bins;  // figure 13
    }
    ASSERT_NE(find(cases, 480, 640, 32), nullptr);  // figure 20
    EXPECT_EQ(cases.large.back().rows, 8192);       // figures 16 and 17, the largest at the end
    EXPECT_EQ(cases.large.back().bins, 128);
    for (const large_case& image : cases.large)
        if (image.bins == 128) {
            ASSERT_NE(find(cases, image.rows, image.cols, 128), nullptr) << image.name;
            EXPECT_TRUE(find(cases, image.rows, image.cols, 128)->on_host) << image.name;
        }
}

TEST(histogram_plan, every_case_and_variant_is_there_once) {
    const histogram_cases cases = cases_of({}, backend::cuda);
    for (const tensor_case& c : cases.tensors) {
        EXPECT_EQ(find(cases, c.rows, c.cols, c.bins), &c);
        for (const histogram_variant& v : c.variants)
            EXPECT_EQ(std::count(c.variants.begin(), c.variants.end(), v), 1) << v.algorithm << v.parameters;
    }
}

TEST(histogram_plan, choices_restrict_it) {
    histogram_bench_options options;
    options.experiments = {"rates"};
    options.sizes = {"100", "1k"};
    options.bins = {7};
    const histogram_cases cases = cases_of(options, backend::cuda);
    ASSERT_EQ(cases.tensors.size(), 3u);
    EXPECT_NE(find(cases, 100, 100, 32), nullptr);
    EXPECT_NE(find(cases, 1024, 1024, 32), nullptr);
    EXPECT_NE(find(cases, 512, 512, 7), nullptr);
    EXPECT_EQ(cases.streams.size(), 3u);
    EXPECT_TRUE(cases.large.empty());
}

TEST(histogram_plan, the_cpu_has_its_own_algorithms) {
    const histogram_cases cases = cases_of({}, backend::cpu);
    for (const tensor_case& c : cases.tensors) EXPECT_TRUE(c.on_host && c.variants.empty());
    for (const stream_case& s : cases.streams) EXPECT_EQ(s.algorithms, std::vector<std::string>{"cpu"});
}

void refuses(const histogram_bench_options& options, const std::string& words) {
    try {
        (void)cases_of(options, backend::cpu);
        ADD_FAILURE() << words;
    } catch (const cli::usage_error& e) {
        EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
}

TEST(histogram_plan, what_does_not_exist_is_named) {
    refuses({.experiments = {"figure7"}}, "'figure7'");
    refuses({.sizes = {"0"}}, "'0'");
    refuses({.bins = {0}}, "--bins: 0");
    refuses({.bins = {16, 1025}}, "--bins: 1025");
}

}  // namespace
}  // namespace boxsum::bench
