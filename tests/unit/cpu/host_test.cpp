#include "cpu/host.hpp"

#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace boxsum {
namespace {

TEST(host, describes_this_machine) {
    const cpu_info& info = describe_cpu();
    EXPECT_FALSE(info.instruction_sets.empty());
    EXPECT_EQ(info.instruction_set, info.instruction_sets.front());
    EXPECT_EQ(info.instruction_sets.back(), "scalar");
    EXPECT_GE(info.threads, 1);
    EXPECT_GT(info.streaming_from_bytes, std::size_t{1} << 20);
    EXPECT_GT(info.second_thread_from_bytes, 0u);
    if (info.l3_bytes != 0) {
        EXPECT_GT(info.l3_bytes, info.l1_bytes);
    }
}

TEST(host, threads_grow_with_the_work_and_obey_the_caller) {
    EXPECT_EQ(cpu::choose_threads(1000, 0), 1);
    EXPECT_LE(cpu::choose_threads(std::int64_t{1} << 40, 0), describe_cpu().threads);
    EXPECT_GE(cpu::choose_threads(std::int64_t{1} << 40, 0), cpu::choose_threads(std::int64_t{1} << 20, 0));
    EXPECT_EQ(cpu::choose_threads(1, 7), 7);
}

TEST(host, streams_what_exceeds_the_cache_where_rows_are_aligned) {
    const auto limit = static_cast<std::int64_t>(describe_cpu().streaming_from_bytes);
    using enum store_policy;
    EXPECT_EQ(cpu::choose_store(limit, true, automatic), cached);
    EXPECT_EQ(cpu::choose_store(limit + 1, true, automatic), streaming);
    EXPECT_EQ(cpu::choose_store(limit + 1, false, automatic), cached);
    EXPECT_EQ(cpu::choose_store(1, true, streaming), streaming);
    EXPECT_EQ(cpu::choose_store(1, false, streaming), cached);
    EXPECT_EQ(cpu::choose_store(limit + 1, true, cached), cached);
}

TEST(host, decisions_report_what_a_call_would_do) {
    const std::vector<std::uint8_t> pixels(64);
    alignas(64) std::uint32_t sums[64];
    const image_view<const std::uint8_t> image(pixels.data(), 4, 16);
    const image_view<std::uint32_t> view(sums, 4, 16);
    const cpu_decision small = decide_sat(image, any_view(view));
    EXPECT_EQ(small.threads, 1);
    EXPECT_EQ(small.store, store_policy::cached);
    const cpu_decision forced = decide_sat(image, any_view(view), {.parameters = "isa=scalar", .threads = 3});
    EXPECT_EQ(forced.instruction_set, "scalar");
    EXPECT_EQ(forced.threads, 3);
    EXPECT_THROW(decide_sat(image, any_view(view), {.parameters = "isa=mmx"}), invalid_argument);
    EXPECT_THROW(decide_sat(image, any_view(view), {.threads = -1}), invalid_argument);
}

}  // namespace
}  // namespace boxsum
