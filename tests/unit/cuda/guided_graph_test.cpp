// A guided filter in a CUDA graph: captured once, replayed with other pixels.

#include "cuda/runtime/cuda_try.hpp"
#include "support/captured_graph.hpp"
#include "support/guided_reference.hpp"
#include "support/placed_image.hpp"

#include <boxsum/cuda/guided_filter.hpp>
#include <boxsum/cuda/sat.hpp>

#include <algorithm>
#include <cstdint>

namespace boxsum {
namespace {

using guided_filter_in_a_graph = test::placed_images_test;

TEST_F(guided_filter_in_a_graph, is_that_of_the_replay) {
    constexpr std::int64_t rows = 60, cols = 300;
    test::placed_image image(test::packed(dtype::f32, rows, cols, 1), 0, 0), result = image;
    const any_view p = upload(image), q = upload(result);
    const filter_options how{.window = window_radius(40, 3)};
    const cuda::guided_filter_plan plan({.image = p}, {q}, {}, how);
    cuda::workspace workspace(plan.workspace_bytes(), stream());
    stream().synchronize();
    const test::captured_graph graph(stream(), [&] { plan.run_async({.image = p}, {q}, workspace, stream()); });
    for (unsigned seed = 1; seed < 5; ++seed) {
        auto pixels = test::random_pixels<float>(rows * cols, seed, 0, 1);
        if (seed == 3) pixels[7 * cols + 40] = 1e30f;  // blocks that additions alone may make
        const image_view<float> now(pixels.data(), rows, cols);
        cuda::copy(now, p, stream());
        graph.replay(stream());
        std::vector<float> found(pixels.size()), wanted(pixels.size());
        cuda::copy(q, image_view<float>(found.data(), rows, cols), stream());
        guided_filter({.image = now}, {image_view<float>(wanted.data(), rows, cols)}, {}, how);
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < cols; ++c) {
                const auto i = static_cast<std::size_t>(r * cols + c);
                if (seed != 3 || c > 60) ASSERT_NEAR(found[i], wanted[i], 1e-6) << seed << ": " << r << ", " << c;
            }
    }
}

/// Of an image and a mask that are both others with each replay.
TEST_F(guided_filter_in_a_graph, is_that_of_the_replays_mask) {
    constexpr std::int64_t rows = 40, cols = 90;
    test::placed_image image(test::packed(dtype::f32, rows, cols, 1), 0, 0),
        result = image, count = image, mask(test::packed(dtype::u8, rows, cols, 1), 0, 0);
    const any_view p = upload(image), m = upload(mask), q = upload(result), n = upload(count);
    const guided_inputs inputs{.image = p, .mask = m};
    const filter_outputs outputs{.result = q, .count = n};
    const filter_options how{.window = 7, .min_count = 9, .fill = -1};
    const cuda::guided_filter_plan plan(inputs, outputs, {}, how);
    cuda::workspace workspace(plan.workspace_bytes(), stream());
    stream().synchronize();
    const test::captured_graph graph(stream(), [&] { plan.run_async(inputs, outputs, workspace, stream()); });
    for (unsigned seed = 1; seed < 4; ++seed) {
        auto pixels = test::random_pixels<float>(rows * cols, seed, 0, 1);
        auto counts = test::random_pixels<std::uint8_t>(rows * cols, seed, 0, 1);
        for (std::uint8_t& x : counts) x %= 2;
        const image_view<float> now(pixels.data(), rows, cols);
        const image_view<std::uint8_t> counted(counts.data(), rows, cols);
        cuda::copy(now, p, stream());
        cuda::copy(counted, m, stream());
        graph.replay(stream());
        std::vector<float> found(pixels.size()), wanted(pixels.size()), numbers(pixels.size()), exact(pixels.size());
        cuda::copy(q, image_view<float>(found.data(), rows, cols), stream());
        cuda::copy(n, image_view<float>(numbers.data(), rows, cols), stream());
        guided_filter({.image = now, .mask = counted},
                      {image_view<float>(wanted.data(), rows, cols), image_view<float>(exact.data(), rows, cols)}, {},
                      how);
        EXPECT_EQ(numbers, exact) << seed;
        for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 1e-6) << seed << ": " << i;
    }
}

/// Tables and guided filters take turns in a workspace, some of them in graphs that were captured at any time.
TEST_F(guided_filter_in_a_graph, shares_a_workspace_with_tables) {
    constexpr std::int64_t rows = 300, cols = 500;
    test::placed_image image(test::packed(dtype::u8, rows, cols, 1), 0, 0), result = image;
    test::placed_image sums(test::packed(dtype::u32, rows, cols, 1), 0, 0);
    std::fill(image.memory.bytes.begin(), image.memory.bytes.end(), std::byte{7});
    const any_view p = upload(image), q = upload(result), table = upload(sums);
    const cuda::guided_filter_plan filter({.image = p}, {q});
    const cuda::sat_plan tables({p}, {{table}});
    cuda::workspace workspace(std::max(filter.workspace_bytes(), tables.workspace_bytes()), stream());
    const auto table_of = [&] { tables.run_async({p}, {{table}}, workspace, stream()); };
    const auto filtered = [&] { filter.run_async({.image = p}, {q}, workspace, stream()); };
    const auto expect_table = [&](const char* what) {
        const auto found = fetched(sums, table);
        const auto* const entries = reinterpret_cast<const std::uint32_t*>(found.data() + sums.offset);
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < cols; ++c)
                ASSERT_EQ(entries[r * cols + c], 7 * (r + 1) * (c + 1)) << what << ": " << r << ", " << c;
        BOXSUM_CUDA_TRY(cudaMemsetAsync(table.data, 0xa5, found.size(), stream().get()));
    };
    stream().synchronize();
    const test::captured_graph filter_first(stream(), filtered);
    filtered();
    stream().synchronize();
    const test::captured_graph behind_a_filter(stream(), table_of);
    filtered();
    table_of();
    expect_table("first");
    stream().synchronize();
    const test::captured_graph behind_a_table(stream(), table_of), filter_later(stream(), filtered);
    for (int round = 0; round < 3; ++round) {
        filtered();
        behind_a_filter.replay(stream());
        expect_table("a graph captured behind a filter");
        filtered();
        behind_a_table.replay(stream());
        expect_table("a graph captured behind a table");
        filter_first.replay(stream());
        table_of();
        expect_table("behind a graph of a filter");
        filter_later.replay(stream());
        behind_a_table.replay(stream());
        expect_table("a graph behind a graph");
    }
}

}  // namespace
}  // namespace boxsum
