// A guided filter in a CUDA graph: captured once, replayed with other pixels.

#include "support/captured_graph.hpp"
#include "support/guided_reference.hpp"
#include "support/placed_image.hpp"

#include <boxsum/cuda/guided_filter.hpp>

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

}  // namespace
}  // namespace boxsum
