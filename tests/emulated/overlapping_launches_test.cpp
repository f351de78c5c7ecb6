// Which launches may start before their predecessors have ended: those of code that waits. The emulated device refuses
// others, so that all that is asked here is how many overlap, and the results.

#include "cuda/device/dependent_launch.cuh"
#include "support/device_tensors.hpp"
#include "support/emulation/settings.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/filters.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace boxsum {
namespace {

constexpr std::int64_t rows = 70, cols = 150, bins = 5;

/// How many launches overlap, and what they write.
struct outcome {
    std::uint64_t tiles = 0, wave = 0, histogram = 0, windows = 0;
    std::vector<std::uint32_t> tables;
    std::vector<std::uint8_t> means;
};

/// On the current device.
outcome run(const std::vector<std::uint8_t>& pixels) {
    outcome all;
    const cuda::stream stream;
    const cuda::device_buffer memory(pixels.size(), stream);
    std::copy(pixels.begin(), pixels.end(), static_cast<std::uint8_t*>(memory.data()));
    const image_view<std::uint8_t> image{static_cast<std::uint8_t*>(memory.data()), rows, cols};
    const auto overlapping = [&](auto&& call) {
        const std::uint64_t before = emulation::overlapping_launches();
        call();
        return emulation::overlapping_launches() - before;
    };
    const auto append = [&](const std::uint32_t* row) { all.tables.insert(all.tables.end(), row, row + cols); };

    const cuda::table<std::uint32_t> table(rows, cols, stream);
    const auto add_table = [&](const char* path) {
        const auto launches =
            overlapping([&] { cuda::sat({image}, {table}, stream, {.algorithm = "fast", .parameters = path}); });
        for (std::int64_t r = 0; r < rows; ++r) append(&table.view().entries()(r, 0));
        return launches;
    };
    all.tiles = add_table("path=tiles");
    all.wave = add_table("path=wave");
    const cuda::histogram_table<std::uint32_t> tensor(bins, rows, cols, stream);
    all.histogram = overlapping([&] {
        cuda::integral_histogram({image}, binning::uniform(bins, 0, 251), {tensor}, stream, {.algorithm = "fast"});
    });
    for (std::int64_t b = 0; b < bins; ++b)
        for (std::int64_t r = 0; r < rows; ++r) append(&tensor.view().entries()(b, r, 0));

    const cuda::image<std::uint8_t> means(rows, cols, stream);
    all.windows = overlapping([&] { cuda::box_filter({image}, {means}, stream, {.window = 9}); });
    for (std::int64_t r = 0; r < rows; ++r)
        all.means.insert(all.means.end(), &means.view()(r, 0), &means.view()(r, 0) + cols);
    return all;
}

/// By the definitions, and means by the CPU's filter.
outcome reference(const std::vector<std::uint8_t>& pixels) {
    outcome all;
    const auto append_table = [&](auto&& value) {
        std::vector<std::uint32_t> above(cols);
        for (std::int64_t r = 0; r < rows; ++r) {
            std::uint32_t row = 0;
            for (std::int64_t c = 0; c < cols; ++c) {
                row += value(pixels[static_cast<std::size_t>(r * cols + c)]);
                all.tables.push_back(above[static_cast<std::size_t>(c)] += row);
            }
        }
    };
    append_table([](std::uint32_t x) { return x; });
    append_table([](std::uint32_t x) { return x; });
    const binning uniform = binning::uniform(bins, 0, 251);
    for (std::int64_t b = 0; b < bins; ++b)
        append_table([&](std::uint8_t x) { return uniform.bin_of(x) == b ? 1u : 0u; });
    all.means.resize(pixels.size());
    box_filter({image_view<const std::uint8_t>{pixels.data(), rows, cols}},
               {image_view<std::uint8_t>{all.means.data(), rows, cols}}, {.window = 9});
    return all;
}

/// As a library for 8.0 and 9.0 is on a device of 9.0, and one for 8.0 alone, whose PTX runs there. Which code there is
/// is asked once for each device: the second one has the older.
TEST(overlapping_launches, are_those_of_code_that_waits) {
    const std::vector<std::uint8_t> pixels = test::random_pixels<std::uint8_t>(rows * cols, 9);
    const outcome expected = reference(pixels), newer = run(pixels);
    EXPECT_EQ(newer.tables, expected.tables);
    EXPECT_EQ(newer.means, expected.means);
    EXPECT_EQ(newer.tiles, 1u);
    EXPECT_EQ(newer.wave, 1u);
    EXPECT_GE(newer.histogram, 1u);
    EXPECT_GE(newer.windows, 1u);

    const emulation::scoped_settings device({.code = 8});
    cuda::set_device(1);
    const outcome older = run(pixels);
    cuda::set_device(0);
    EXPECT_EQ(older.tiles + older.wave + older.histogram + older.windows, 0u);
    EXPECT_EQ(older.tables, expected.tables);
    EXPECT_EQ(older.means, expected.means);
}

/// A launch of few blocks lets the next one start, which has multiprocessors to itself then.
TEST(overlapping_launches, of_windows_start_early_behind_few_blocks) {
    constexpr std::int64_t n = 64;
    const cuda::stream stream;
    const cuda::image<std::uint8_t> image(n, n, stream), means(n, n, stream);
    std::fill(&image.view()(0, 0), &image.view()(n - 1, n - 1) + 1, std::uint8_t{3});
    const auto starts_early = [&](int multiprocessors) {
        const emulation::scoped_settings device({.multiprocessors = multiprocessors});
        const std::uint64_t before = emulation::early_starts();
        cuda::box_filter({image}, {means}, stream, {.window = 9});
        return emulation::early_starts() > before;
    };
    EXPECT_TRUE(starts_early(200));
    EXPECT_FALSE(starts_early(1));
}

}  // namespace
}  // namespace boxsum
