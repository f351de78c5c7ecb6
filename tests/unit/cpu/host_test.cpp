#include "cpu/host.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/error.hpp>
#include <boxsum/histogram_tasks.hpp>
#include <boxsum/table.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

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

#if defined(_OPENMP)
/// The description is made once and serves the whole process, wherever it is asked for first.
TEST(host, describes_this_machine_from_within_a_region_of_the_caller) {
    if (omp_get_max_threads() == 1) GTEST_SKIP() << "one thread in any case";
    std::size_t workers = 0;
#pragma omp parallel num_threads(2)
    {
        describe_cpu();
#pragma omp single
        workers = histogram_tasks().workers().size();
    }
    EXPECT_EQ(describe_cpu().threads, omp_get_max_threads());
    if (cuda::device_count() == 0) {
        EXPECT_EQ(workers, 1u);  // the region's threads have the cores already
        EXPECT_EQ(histogram_tasks().workers().size(), static_cast<std::size_t>(omp_get_max_threads()));
    }
}
#endif

TEST(host, counts_the_cpus_of_a_list) {
    EXPECT_EQ(cpu::count_cpus("0"), 1);
    EXPECT_EQ(cpu::count_cpus("0-1"), 2);
    EXPECT_EQ(cpu::count_cpus("0-3,8,10-11"), 7);
    EXPECT_EQ(cpu::count_cpus("12,44"), 2);
    EXPECT_EQ(cpu::count_cpus(""), 1);
}

TEST(host, counts_on_no_more_cache_than_its_cpus_can_have) {
    constexpr std::size_t mib = std::size_t{1} << 20;
    EXPECT_EQ(cpu::usable_cache(2 * mib, 480 * mib, 2), 32 * mib);    // a guest of a machine with 96 cores or more
    EXPECT_EQ(cpu::usable_cache(2 * mib, 480 * mib, 96), 480 * mib);  // that machine
    EXPECT_EQ(cpu::usable_cache(1 * mib, 32 * mib, 2), 32 * mib);     // Zen 4, two cores of a complex
    EXPECT_EQ(cpu::usable_cache(1 * mib, 96 * mib, 16), 96 * mib);    // with stacked cache, two threads a core
    EXPECT_EQ(cpu::usable_cache(1 * mib, 96 * mib, 8), 96 * mib);
    EXPECT_EQ(cpu::usable_cache(1 * mib, 32 * mib, 1), 16 * mib);
    EXPECT_EQ(cpu::usable_cache(0, 0, 4), 32 * mib);  // unknown
    EXPECT_EQ(cpu::usable_cache(24 * mib, 8 * mib, 4), 24 * mib);
    const cpu_info& info = describe_cpu();
    const std::size_t usable = cpu::usable_cache(info.l2_bytes, info.l3_bytes, info.l3_cpus);
    EXPECT_EQ(info.streaming_from_bytes, usable / 4 * 3);
    EXPECT_EQ(info.streaming_from_bytes_of_threads, usable / 8 * 7);
}

TEST(host, threads_grow_with_the_work_and_obey_the_caller) {
    const auto second = static_cast<std::int64_t>(describe_cpu().second_thread_from_bytes);
    EXPECT_EQ(cpu::most_threads(second - 1, 0), 1);
    EXPECT_EQ(cpu::most_threads(second, 0), std::min(2, describe_cpu().threads));
    EXPECT_EQ(cpu::most_threads(std::int64_t{1} << 40, 0), describe_cpu().threads);
    EXPECT_EQ(cpu::most_threads(1, 7), 7);
    EXPECT_EQ(cpu::choose_threads(second - 1, 0), 1);
    EXPECT_LE(cpu::choose_threads(std::int64_t{1} << 40, 0), describe_cpu().threads);
    EXPECT_EQ(cpu::choose_threads(1, 7), 7);
}

TEST(host, streams_what_exceeds_the_cache_and_later_with_several_threads) {
    const auto limit = static_cast<std::int64_t>(describe_cpu().streaming_from_bytes);
    const auto of_threads = static_cast<std::int64_t>(describe_cpu().streaming_from_bytes_of_threads);
    using enum store_policy;
    EXPECT_EQ(cpu::choose_store(limit, 1, automatic), cached);
    EXPECT_EQ(cpu::choose_store(limit + 1, 1, automatic), streaming);
    EXPECT_EQ(cpu::choose_store(of_threads, 2, automatic), cached);
    EXPECT_EQ(cpu::choose_store(of_threads + 1, 2, automatic), streaming);
    EXPECT_EQ(cpu::choose_store(1, 1, streaming), streaming);
    EXPECT_EQ(cpu::choose_store(of_threads + 1, 1, cached), cached);
}

/// A packed table with a border, as OpenCV has it: every row starts elsewhere.
TEST(host, rows_that_start_anywhere_are_streamed) {
    const auto rows = static_cast<std::int64_t>(describe_cpu().streaming_from_bytes / 4096);  // a fourth more
    const view_shape from{.type = dtype::u8, .rows = rows, .cols = 1024, .row_stride = 1024};
    const view_shape to{.type = dtype::u32, .rows = rows + 1, .cols = 1025, .row_stride = 4 * 1025};
    const auto pixels = memory_pool::shared().acquire(static_cast<std::size_t>(rows * 1024));
    const auto entries = memory_pool::shared().acquire(static_cast<std::size_t>((rows + 1) * 4 * 1025 + 4));
    const any_view table{static_cast<std::byte*>(entries.data()) + 4, to};
    const cpu_decision made = decide_sat({{pixels.data(), from}}, {{table, table_layout::padded}}, {.threads = 1});
    EXPECT_EQ(made.store, describe_cpu().instruction_set == "scalar" ? store_policy::cached : store_policy::streaming);
}

/// The image passes through the cache, too: a table that is too small alone is too large with it.
TEST(host, the_image_counts_for_the_stores) {
    const auto limit = static_cast<std::int64_t>(describe_cpu().streaming_from_bytes);
    alignas(64) static std::byte some[64];
    view_shape from{.type = dtype::f32, .rows = limit / 2 / 4096, .cols = 1024, .row_stride = 4096};
    view_shape to = from;
    const auto stores = [&] { return decide_sat({{some, from}}, {{{some, to}}}, {.threads = 1}).store; };
    EXPECT_EQ(stores(), store_policy::cached);
    from.rows = to.rows = limit / 2 / 4096 + 1;
    EXPECT_EQ(stores(), store_policy::streaming);
}

TEST(host, decisions_report_what_a_call_would_do) {
    const std::vector<std::uint8_t> pixels(64 * 16);
    alignas(64) std::uint32_t sums[64 * 16];
    const image_view<const std::uint8_t> image(pixels.data(), 64, 16), tiny(pixels.data(), 2, 2);
    const image_view<std::uint32_t> view(sums, 64, 16), four(sums, 2, 2);
    const cpu_decision small = decide_sat({image}, {{view}});
    EXPECT_EQ(small.threads, 1);
    EXPECT_EQ(small.store, store_policy::cached);
    const cpu_decision forced = decide_sat({image}, {{view}}, {.parameters = "isa=scalar", .threads = 3});
    EXPECT_EQ(forced.instruction_set, "scalar");
    EXPECT_EQ(forced.threads, 3);
    EXPECT_EQ(decide_sat({tiny}, {{four}}, {.threads = 8}).threads, 1);  // two rows are one thread's
    EXPECT_THROW(decide_sat({image}, {{view}}, {.parameters = "isa=mmx"}), invalid_argument);
    EXPECT_THROW(decide_sat({image}, {{view}}, {.store = static_cast<store_policy>(7)}), invalid_argument);
    EXPECT_THROW(decide_sat({image}, {{view}}, {.threads = -1}), invalid_argument);
}

/// Bands where they pay: small integer tables of one plane, ordinary stores, more than one thread.
TEST(host, bands_serve_small_integer_tables) {
    const host_buffer pixels = memory_pool::shared().acquire(4 << 20), sums = memory_pool::shared().acquire(16 << 20);
    const auto scheme = [&](dtype in, dtype out, std::int64_t rows, const sat_options& options,
                            std::int64_t planes = 1) {
        view_shape from{.type = in, .planes = planes, .rows = rows, .cols = 1024};
        from.row_stride = 1024 * static_cast<std::int64_t>(size_of(in));
        from.plane_stride = rows * from.row_stride;
        view_shape to = from;
        to.type = out;
        to.row_stride = 1024 * static_cast<std::int64_t>(size_of(out));
        to.plane_stride = rows * to.row_stride;
        return decide_sat({{pixels.data(), from}}, {{{sums.data(), to}}}, options).scheme;
    };
    using enum dtype;
    EXPECT_EQ(scheme(u8, u32, 1024, {.threads = 2}), "bands");
    EXPECT_EQ(scheme(u8, u32, 1638, {.threads = 2}), "bands");
    EXPECT_EQ(scheme(u8, u32, 1639, {.threads = 2}), "wavefront");  // above 8 MiB
    EXPECT_EQ(scheme(u8, u32, 2048, {.parameters = "scheme=bands", .threads = 2}), "bands");
    EXPECT_EQ(scheme(u8, u32, 1024, {.parameters = "scheme=wavefront", .threads = 2}), "wavefront");
    EXPECT_EQ(scheme(u8, u32, 1024, {.threads = 1}), "wavefront");
    EXPECT_EQ(scheme(u8, u32, 1024, {.threads = 2, .store = store_policy::streaming}),
              describe_cpu().instruction_set == "scalar" ? "bands" : "wavefront");
    EXPECT_EQ(scheme(f32, f32, 512, {.parameters = "scheme=bands", .threads = 2}), "wavefront");
    EXPECT_EQ(scheme(u8, u32, 512, {.threads = 2}, 2), "wavefront");
    EXPECT_EQ(scheme(u8, u32, 31, {.parameters = "scheme=bands", .threads = 2}), "wavefront");  // too few rows
    EXPECT_EQ(scheme(u8, u32, 32, {.parameters = "scheme=bands", .threads = 2}), "bands");
}

}  // namespace
}  // namespace boxsum
