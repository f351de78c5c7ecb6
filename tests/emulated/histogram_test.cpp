// CUDA records of integral histograms on an emulated device: their real source, every type, whole tensors against a
// direct count.

#include "api/registry.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "support/emulation/combinations.hpp"
#include "support/emulation/settings.hpp"
#include "support/parameter_choices.hpp"
#include "verify/device_runner.hpp"
#include "verify/histogram_conformance.hpp"

#include <boxsum/error.hpp>

#include <cuda_runtime_api.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using emulation::block_order;
using emulation::combination;

std::vector<combination> combinations() {
    std::vector<combination> all;
    for (const algorithm_record* record : emulation::device_records(operation::histogram))
        for (const parameter_values& values : test::parameter_choices(*record))
            if (check_support(*record, problem_of(histogram_case{}), values)) all.push_back({record, values});
    return all;
}

/// As many bins as fit into so many entries: an emulated entry costs microseconds.
histogram_case reduced(histogram_case c, std::int64_t most_entries) {
    c.bins = std::clamp<std::int64_t>(most_entries / (c.planes * c.rows * c.cols), 1, c.bins);
    return c;
}

class emulated_histogram : public testing::TestWithParam<combination> {};

TEST_P(emulated_histogram, agrees_with_a_direct_count) {
    const auto& [record, values] = GetParam();
    const bool production = record->info.name == "fast", defaults = values == parameter_values{};
    const std::int64_t most_entries = production ? 40'000 : 2500, largest = production ? 40'000 : 8500;
    const std::size_t every = production ? 2 : defaults ? 5 : 17;
    const histogram_runner run = cuda::device_histogram_runner();
    int checked = 0;
    std::uint64_t seed = 0;
    std::size_t number = 0;
    for (const dtype input : {dtype::u8, dtype::u16, dtype::s32, dtype::f32})
        for (const dtype tensor : {dtype::u32, dtype::u16, dtype::f32})
            for (histogram_case c : histogram_cases(input, tensor, effort::quick)) {
                c = reduced(c, most_entries);
                if (number++ % every != 0 || c.planes * c.rows * c.cols > largest) continue;
                if (!check_support(*record, problem_of(c), values)) continue;
                constexpr block_order orders[] = {block_order::forward, block_order::backward, block_order::shuffled};
                const emulation::scoped_settings device({.seed = ++seed, .order = orders[seed % 3]});
                const auto wrong = check_histogram_record(*record, c, values, run);
                ASSERT_FALSE(wrong) << *wrong;
                ++checked;
            }
    EXPECT_GE(checked, 8);
}

INSTANTIATE_TEST_SUITE_P(registry, emulated_histogram, testing::ValuesIn(combinations()),
                         emulation::name_of_combination);

TEST(emulated_histogram, has_every_record) {
    EXPECT_EQ(emulation::device_records(operation::histogram).size(), 5u);
}

/// Shapes that the rotation of the cases leaves to chance: more bins than one group, several slabs of several tiles,
/// planes in groups, several strips beside each other, with and without the kernel for carries.
TEST(emulated_histogram, fast_cuts_its_work_in_every_way) {
    const algorithm_record& fast = *find_record(operation::histogram, "fast");
    const histogram_runner run = cuda::device_histogram_runner();
    histogram_case many_bins;
    many_bins.rows = 3;
    many_bins.cols = 5;
    many_bins.bins = 1024;
    many_bins.rule = bin_rule::lookup;
    histogram_case several_tiles;
    several_tiles.input = several_tiles.tensor = dtype::f32;
    several_tiles.rows = 200;
    several_tiles.cols = 140;
    several_tiles.bins = 2;
    several_tiles.layout = table_layout::padded;
    histogram_case slabs_of_counts = several_tiles;
    slabs_of_counts.input = dtype::u8;
    slabs_of_counts.tensor = dtype::u32;
    slabs_of_counts.rows = 333;
    slabs_of_counts.cols = 300;
    slabs_of_counts.bins = 9;
    slabs_of_counts.layout = table_layout::inclusive;
    histogram_case padded_slabs = slabs_of_counts;
    padded_slabs.layout = table_layout::padded;
    padded_slabs.tensor = dtype::u16;
    padded_slabs.rows = 200;
    padded_slabs.bins = 3;
    histogram_case groups_of_planes = slabs_of_counts;
    groups_of_planes.rows = 70;
    groups_of_planes.cols = 200;
    groups_of_planes.planes = 5;
    histogram_case groups_of_weights = groups_of_planes;
    groups_of_weights.tensor = dtype::f32;
    groups_of_weights.bins = 2;
    // All bins of a tile in one block: above in one of 16 warps, here in two of 8; for some planes together; and where
    // counts of a row may not fit 16 bits, in none
    histogram_case low_tiles = padded_slabs;
    low_tiles.rows = 100;
    low_tiles.cols = 590;
    histogram_case waves_of_planes = groups_of_planes;
    waves_of_planes.rows = 400;
    waves_of_planes.cols = 100;
    waves_of_planes.bins = 3;
    histogram_case wide_slabs = padded_slabs;
    wide_slabs.rows = 90;
    wide_slabs.cols = 650;
    for (const histogram_case& c : {many_bins, several_tiles, slabs_of_counts, padded_slabs, groups_of_planes,
                                    groups_of_weights, low_tiles, waves_of_planes, wide_slabs}) {
        const auto wrong = check_histogram_record(fast, c, {}, run);
        EXPECT_FALSE(wrong) << *wrong;
    }
}

// ---- Records that are wrong in the ways of device code must be rejected
// ----------------------------------------------

const algorithm_record& fast_record() {
    return *find_record(operation::histogram, "fast");
}

void set_bytes(void* first, std::size_t bytes, const execution& how) {
    BOXSUM_CUDA_TRY(cudaMemsetAsync(first, 0, bytes, how.stream.get()));
}

/// The carries of the second tile come from a launch that never happened.
void forgets_a_strip(const problem& p, const buffers& memory, const execution& how) {
    fast_record().enqueue(p, memory, how);
    if (p.table.cols <= 128) return;
    const std::int64_t entry = static_cast<std::int64_t>(size_of(p.table.type));
    set_bytes(static_cast<std::byte*>(memory.table) + 128 * entry, static_cast<std::size_t>(entry), how);
}
/// A vector store at the end of the last row.
void writes_behind_the_tensor(const problem& p, const buffers& memory, const execution& how) {
    fast_record().enqueue(p, memory, how);
    const std::int64_t end = (p.histogram->bins - 1) * p.histogram->bin_stride +
                             (p.table.rows - 1) * p.table.row_stride +
                             p.table.cols * static_cast<std::int64_t>(size_of(p.table.type));
    if (p.table.planes == 1) set_bytes(static_cast<std::byte*>(memory.table) + end, 8, how);
}
void writes_before_its_workspace(const problem& p, const buffers& memory, const execution& how) {
    fast_record().enqueue(p, memory, how);
    set_bytes(static_cast<std::byte*>(how.workspace) - 4, 4, how);
}
void changes_the_image(const problem& p, const buffers& memory, const execution& how) {
    fast_record().enqueue(p, memory, how);
    set_bytes(const_cast<void*>(memory.image), 1, how);
}

TEST(emulated_histogram, broken_records_are_rejected) {
    const histogram_runner run = cuda::device_histogram_runner();
    for (const auto broken :
         {forgets_a_strip, writes_behind_the_tensor, writes_before_its_workspace, changes_the_image}) {
        algorithm_record record = fast_record();
        record.enqueue = broken;
        int rejected = 0, cases = 0;
        for (histogram_case c : histogram_cases(dtype::u8, dtype::u32, effort::quick)) {
            c = reduced(c, 6000);
            if (c.planes * c.rows * c.cols > 6000 || ++cases > 12) continue;
            try {
                if (check_histogram_record(record, c, {}, run)) ++rejected;
            } catch (const std::exception&) {
                ++rejected;
            }
        }
        EXPECT_GT(rejected, 0);
    }
}

}  // namespace
}  // namespace boxsum
