// Plans in CUDA graphs, but for those of tables and filters, which their own tests capture: captured once, replayed
// with other images. What allocated or waited could not be captured.

#include "core/visit_types.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "support/captured_graph.hpp"
#include "support/device_tensors.hpp"
#include "support/gpu.hpp"
#include "support/gpu_case.hpp"

#include <boxsum/blobs.hpp>
#include <boxsum/convolve.hpp>
#include <boxsum/cuda/blobs.hpp>
#include <boxsum/cuda/convolve.hpp>
#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/cuda/non_local_means.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/shadow.hpp>
#include <boxsum/cuda/table.hpp>
#include <boxsum/cuda/variable_blur.hpp>
#include <boxsum/cuda/window_queries.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/integral_histogram.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/shadow.hpp>
#include <boxsum/variable_blur.hpp>
#include <boxsum/window_queries.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace boxsum {
namespace {

using test::fetch;
using test::random_pixels;
using test::same_entries;

class graphs : public test::gpu_stream_test {
  protected:
    static constexpr std::int64_t rows = 61, cols = 83;

    template <typename T>
    cuda::image<T> on_device(std::int64_t channels = 1) const {
        return cuda::image<T>(rows, cols, stream(), channels);
    }
    template <typename T>
    void send(const std::vector<T>& pixels, const cuda::image<T>& to) const {
        cuda::copy(image_view<const T>(pixels.data(), to.rows(), to.cols(), 0, to.channels()), to, stream());
    }
    template <typename T>
    std::vector<T> received(const cuda::image<T>& from) const {
        std::vector<T> pixels(static_cast<std::size_t>(from.rows() * from.cols() * from.channels()));
        cuda::copy(from, image_view<T>(pixels.data(), from.rows(), from.cols(), 0, from.channels()), stream());
        return pixels;
    }
};

TEST_F(graphs, lists_of_tables) {
    std::vector<test::gpu_case> images;
    for (const std::int64_t n : {33, 400, 120})
        images.emplace_back(test::plain_case(dtype::u8, dtype::u32, n, n + 7), stream());
    std::vector<sat_shapes> shapes;
    std::vector<sat_inputs> inputs;
    std::vector<sat_outputs> outputs;
    for (const test::gpu_case& image : images) {
        shapes.push_back(image.shapes());
        inputs.push_back(image.inputs());
        outputs.push_back(image.outputs());
    }
    const cuda::sat_list_plan plan(shapes);
    cuda::workspace workspace(plan.workspace_bytes(), stream());
    stream().synchronize();
    const test::captured_graph graph(stream(), [&] { plan.run_async(inputs, outputs, workspace, stream()); });
    for (std::uint64_t replay = 0; replay < 3; ++replay) {
        for (test::gpu_case& image : images) image.refill(10 + replay, stream());
        graph.replay(stream());
        for (const test::gpu_case& image : images) {
            const auto wrong = image.mismatch(plan.algorithm(), stream());
            EXPECT_FALSE(wrong) << *wrong;
        }
    }
}

/// Which pixels count is others with each replay. What the graph has beside tables it leaves to no call, and finds the
/// words of its tables clean, whatever calls have left.
TEST_F(graphs, tables_of_pixels_that_count) {
    const cuda::image<std::uint8_t> image = on_device<std::uint8_t>(), mask = on_device<std::uint8_t>(),
                                    blurred = on_device<std::uint8_t>();
    const cuda::image<float> weights = on_device<float>();
    const cuda::table<std::uint32_t> sums(rows, cols, stream()), counts(rows, cols, stream()),
        all(rows, cols, stream());
    const cuda::table<std::uint64_t> squares(rows, cols, stream());
    const cuda::table<double> products(rows, cols, stream()), of_squares(rows, cols, stream()),
        of_weights(rows, cols, stream());
    const sat_inputs inputs{.image = image, .mask = mask, .nodata = 7};
    const sat_outputs outputs{.sums = sums, .squares = squares, .counts = counts};
    const sat_inputs weighted{.image = image, .weights = weights, .nodata = 7};
    const sat_outputs to_weighted{.sums = products, .squares = of_squares, .counts = of_weights};
    const bool with_weights = contains(cuda_type_pairs{}, type_pair{dtype::f64, dtype::f64});

    const cuda::sat_plan plan(inputs, outputs), plain({image}, {all});
    std::optional<cuda::sat_plan> of_products;
    if (with_weights) of_products.emplace(weighted, to_weighted);
    const variable_inputs blur_inputs{.image = image, .radius = mask, .largest_radius = 3};
    const cuda::variable_blur_plan blur(blur_inputs, {blurred});
    cuda::workspace workspace(std::max({plan.workspace_bytes(), plain.workspace_bytes(), blur.workspace_bytes(),
                                        with_weights ? of_products->workspace_bytes() : 0}),
                              stream());
    stream().synchronize();
    const test::captured_graph graph(stream(), [&] {
        plan.run_async(inputs, outputs, workspace, stream());
        if (with_weights) of_products->run_async(weighted, to_weighted, workspace, stream());
    });
    for (std::uint32_t replay = 0; replay < 4; ++replay) {
        std::vector<std::uint8_t> pixels = random_pixels<std::uint8_t>(rows * cols, 20 + replay),
                                  kept = random_pixels<std::uint8_t>(rows * cols, 30 + replay);
        for (std::uint8_t& x : pixels) x %= 16;
        for (std::uint8_t& x : kept) x %= 3;
        std::vector<float> weigh(pixels.size());
        for (std::size_t i = 0; i < weigh.size(); ++i) weigh[i] = static_cast<float>((i * 7 + replay) % 5) / 4;
        send(pixels, image);
        send(kept, mask);
        send(weigh, weights);
        if (replay > 1) blur.run_async(blur_inputs, {blurred}, workspace, stream());
        graph.replay(stream());
        plain.run_async({image}, {all}, workspace, stream());

        const image_view<const std::uint8_t> here(pixels.data(), rows, cols), counting(kept.data(), rows, cols);
        const auto received_table = [&]<typename T>(const cuda::table<T>& from) {
            std::vector<T> entries(pixels.size());
            cuda::copy(any_view(from.view().entries()), image_view<T>(entries.data(), rows, cols), stream());
            return entries;
        };
        const auto table_in = []<typename T>(std::vector<T>& entries) {
            return any_table_view{any_view(image_view<T>(entries.data(), rows, cols))};
        };
        std::vector<std::uint32_t> s(pixels.size()), n(pixels.size()), every(pixels.size());
        std::vector<std::uint64_t> q(pixels.size());
        sat({.image = here, .mask = counting, .nodata = 7},
            {.sums = table_in(s), .squares = table_in(q), .counts = table_in(n)});
        sat({.image = here}, {.sums = table_in(every)});
        EXPECT_EQ(received_table(sums), s) << "sums, replay " << replay;
        EXPECT_EQ(received_table(squares), q) << "squares, replay " << replay;
        EXPECT_EQ(received_table(counts), n) << "counts, replay " << replay;
        EXPECT_EQ(received_table(all), every) << "of all pixels, replay " << replay;
        if (!with_weights) continue;
        std::vector<double> x(pixels.size()), xx(pixels.size()), w(pixels.size());
        sat({.image = here, .weights = image_view<const float>(weigh.data(), rows, cols), .nodata = 7},
            {.sums = table_in(x), .squares = table_in(xx), .counts = table_in(w)});
        EXPECT_EQ(received_table(products), x) << "weighted sums, replay " << replay;
        EXPECT_EQ(received_table(of_squares), xx) << "weighted squares, replay " << replay;
        EXPECT_EQ(received_table(of_weights), w) << "weights, replay " << replay;
    }
}

TEST_F(graphs, histograms_and_their_search) {
    const binning bins = binning::uniform(7, 10, 240.5);
    const std::vector<window_grid> grids{{.rows = 9, .cols = 14}};
    const std::vector<double> target{5, 1, 0, 3, 2, 2, 9};
    const cuda::image<std::uint8_t> image = on_device<std::uint8_t>();
    const cuda::histogram_table<std::uint32_t> tensor(7, rows, cols, stream());
    const cuda::histogram_plan plan({image}, bins, {tensor});
    const cuda::best_windows_plan search(const_any_histogram_view(tensor).shape(), grids, histogram_distance::l1, 4);
    ASSERT_EQ(search.matches(), 4);
    const cuda::device_buffer sought(target.size() * sizeof(double), stream()),
        found(4 * sizeof(histogram_match), stream());
    BOXSUM_CUDA_TRY(
        cudaMemcpyAsync(sought.data(), target.data(), sought.size(), cudaMemcpyHostToDevice, stream().get()));
    cuda::workspace workspace(std::max(plan.workspace_bytes(), search.workspace_bytes()), stream());
    stream().synchronize();
    const test::captured_graph graph(stream(), [&] {
        plan.run_async({image}, {tensor}, workspace, stream());
        search.run_async(tensor, static_cast<const double*>(sought.data()), static_cast<histogram_match*>(found.data()),
                         workspace, stream());
    });
    for (std::uint32_t replay = 0; replay < 3; ++replay) {
        const std::vector<std::uint8_t> pixels = random_pixels<std::uint8_t>(rows * cols, 20 + replay);
        send(pixels, image);
        graph.replay(stream());
        const auto expected =
            integral_histogram<std::uint32_t>(image_view<const std::uint8_t>(pixels.data(), rows, cols), bins);
        EXPECT_TRUE(same_entries<std::uint32_t>(fetch(tensor, stream()).view(), expected.view()));
        std::vector<histogram_match> matches(4);
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(matches.data(), found.data(), found.size(), cudaMemcpyDeviceToHost, stream().get()));
        stream().synchronize();
        const std::vector<histogram_match> best =
            best_windows(expected.view(), grids, target, histogram_distance::l1, 4);
        EXPECT_EQ(matches, best) << "replay " << replay;
    }
}

/// Calls that wait are the reference: device_convolve_test.cpp holds it to the definition.
TEST_F(graphs, convolutions) {
    const std::vector<double> weights{1, -2, 3, 0.5, 0.25, -1};
    const image_view<const double> kernel(weights.data(), 2, 3);
    const cuda::image<float> image = on_device<float>(), result = on_device<float>(), expected = on_device<float>();
    for (const char* const algorithm : {"direct", "ssam", "systolic", "tiled"}) {
        const convolve_options options{.algorithm = algorithm};
        const cuda::convolve_plan plan({image, kernel}, {result}, options);
        cuda::workspace workspace(plan.workspace_bytes(), stream());
        stream().synchronize();
        const test::captured_graph graph(stream(), [&] { plan.run_async({image}, {result}, workspace, stream()); });
        for (std::uint32_t replay = 0; replay < 3; ++replay) {
            send(random_pixels<float>(rows * cols, 30 + replay), image);
            graph.replay(stream());
            cuda::convolve({image, kernel}, {expected}, stream(), options);
            EXPECT_EQ(received(result), received(expected)) << algorithm << ", replay " << replay;
        }
    }
}

/// As above: device_non_local_means_test.cpp. Borders that shrink take both kernels.
TEST_F(graphs, non_local_means) {
    const cuda::image<std::uint8_t> image = on_device<std::uint8_t>(), result = on_device<std::uint8_t>(),
                                    expected = on_device<std::uint8_t>();
    const filter_options options{.window = 9};
    const cuda::non_local_means_plan plan({image}, {result}, {.strength = 60}, options);
    cuda::workspace workspace(plan.workspace_bytes(), stream());
    stream().synchronize();
    const test::captured_graph graph(stream(), [&] { plan.run_async({image}, {result}, workspace, stream()); });
    for (std::uint32_t replay = 0; replay < 3; ++replay) {
        send(random_pixels<std::uint8_t>(rows * cols, 60 + replay), image);
        graph.replay(stream());
        cuda::non_local_means({image}, {expected}, stream(), {.strength = 60}, options);
        EXPECT_EQ(received(result), received(expected)) << "replay " << replay;
    }
}

TEST_F(graphs, windows_of_tables) {
    const cuda::image<std::uint8_t> image = on_device<std::uint8_t>(3);
    const cuda::table<std::uint32_t> sums(rows, cols, stream(), {}, 3);
    const cuda::table<std::uint64_t> squares(rows, cols, stream(), {}, 3);
    const cuda::image<float> means = on_device<float>(3), variances = on_device<float>(3);
    const cuda::sat_plan plan({image}, {.sums = sums, .squares = squares});
    cuda::workspace workspace(plan.workspace_bytes(), stream());
    stream().synchronize();
    const test::captured_graph graph(stream(), [&] {
        plan.run_async({image}, {.sums = sums, .squares = squares}, workspace, stream());
        cuda::window_means_async(sums, means, stream(), {.window = 9});
        cuda::window_variances_async({sums, squares}, variances, stream(), {.window = {4, 31}});
    });
    for (std::uint32_t replay = 0; replay < 3; ++replay) {
        const std::vector<std::uint8_t> pixels = random_pixels<std::uint8_t>(rows * cols * 3, 70 + replay);
        send(pixels, image);
        graph.replay(stream());
        const auto moments =
            sat_squares<std::uint32_t, std::uint64_t>(image_view<const std::uint8_t>(pixels.data(), rows, cols, 0, 3));
        std::vector<float> expected(pixels.size());
        const image_view<float> to(expected.data(), rows, cols, 0, 3);
        window_means(moments.sums, to, {.window = 9});
        EXPECT_EQ(received(means), expected) << "means, replay " << replay;
        window_variances({moments.sums, moments.squares}, to, {.window = {4, 31}});
        EXPECT_EQ(received(variances), expected) << "variances, replay " << replay;
    }
}

TEST_F(graphs, depth_of_field) {
    const cuda::image<std::uint8_t> image = on_device<std::uint8_t>(), radii = on_device<std::uint8_t>(),
                                    result = on_device<std::uint8_t>();
    const cuda::image<float> depth = on_device<float>();
    const thin_lens lens{.focus = 100, .aperture = 12, .largest_radius = 20};
    const cuda::variable_blur_plan plan({image, radii, 20}, {result});
    cuda::workspace workspace(plan.workspace_bytes(), stream());
    stream().synchronize();
    const test::captured_graph graph(stream(), [&] {
        cuda::circles_of_confusion_async(depth, radii, stream(), lens);
        plan.run_async({image, radii, 20}, {result}, workspace, stream());
    });
    for (std::uint32_t replay = 0; replay < 3; ++replay) {
        const std::vector<std::uint8_t> pixels = random_pixels<std::uint8_t>(rows * cols, 80 + replay);
        const std::vector<float> depths = random_pixels<float>(rows * cols, 90 + replay);
        send(pixels, image);
        send(depths, depth);
        graph.replay(stream());
        std::vector<std::uint8_t> circles(pixels.size()), expected(pixels.size());
        circles_of_confusion(image_view<const float>(depths.data(), rows, cols),
                             image_view<std::uint8_t>(circles.data(), rows, cols), lens);
        variable_blur({.image = image_view<const std::uint8_t>(pixels.data(), rows, cols),
                       .radius = image_view<const std::uint8_t>(circles.data(), rows, cols)},
                      {image_view<std::uint8_t>(expected.data(), rows, cols)});
        EXPECT_EQ(received(radii), circles) << "replay " << replay;
        EXPECT_EQ(received(result), expected) << "replay " << replay;
    }
}

/// Whether all pixels are finite, which takes another way, is not known before the replay.
TEST_F(graphs, radii_of_floats_finite_or_not) {
    if (!contains(cuda_type_pairs{}, type_pair{dtype::f32, dtype::f64})) GTEST_SKIP() << "needs BOXSUM_TYPES=all";
    const cuda::image<float> image = on_device<float>(), result = on_device<float>();
    const cuda::image<std::uint8_t> radii = on_device<std::uint8_t>();
    const variable_inputs inputs{.image = image, .radius = radii, .largest_radius = 255};
    const cuda::variable_box_filter_plan plan(inputs, {result});
    cuda::workspace workspace(plan.workspace_bytes(), stream());
    stream().synchronize();
    const test::captured_graph graph(stream(), [&] { plan.run_async(inputs, {result}, workspace, stream()); });
    for (std::uint32_t replay = 0; replay < 4; ++replay) {
        const std::vector<std::uint8_t> bytes = random_pixels<std::uint8_t>(rows * cols, 70 + replay);
        std::vector<std::uint8_t> around = random_pixels<std::uint8_t>(rows * cols, 75 + replay);
        for (std::uint8_t& r : around) r /= 16;
        std::vector<float> pixels(bytes.begin(), bytes.end()), expected(bytes.size());
        if (replay % 2 == 1) {
            pixels[replay == 1 ? 0 : pixels.size() - 1] = std::numeric_limits<float>::quiet_NaN();
            pixels[pixels.size() / 2] = std::numeric_limits<float>::infinity();
            pixels[pixels.size() / 2 + 9] = -std::numeric_limits<float>::infinity();
        }
        send(pixels, image);
        send(around, radii);
        graph.replay(stream());
        variable_box_filter({.image = image_view<const float>(pixels.data(), rows, cols),
                             .radius = image_view<const std::uint8_t>(around.data(), rows, cols)},
                            {image_view<float>(expected.data(), rows, cols)});
        const std::vector<float> found = received(result);
        for (std::size_t i = 0; i < found.size(); ++i)
            ASSERT_TRUE(std::isnan(expected[i]) ? std::isnan(found[i]) : found[i] == expected[i])
                << "replay " << replay << ", element " << i << ": " << found[i] << ", not " << expected[i];
    }
}

/// Tables find their words clean in a graph, whatever calls beside it have left there, and those find no tables.
TEST_F(graphs, radii_beside_other_calls) {
    const cuda::image<std::uint8_t> image = on_device<std::uint8_t>(), radii = on_device<std::uint8_t>(),
                                    result = on_device<std::uint8_t>(), of_tiles = on_device<std::uint8_t>(),
                                    blurred = on_device<std::uint8_t>();
    const cuda::table<std::uint32_t> table(rows, cols, stream());
    const variable_inputs inputs{.image = image, .radius = radii, .largest_radius = 40};
    variable_inputs small = inputs;
    small.largest_radius = 15;
    const cuda::variable_box_filter_plan plan(inputs, {result}), without_table(small, {of_tiles});
    const cuda::variable_blur_plan blur(inputs, {blurred});
    const cuda::sat_plan sums({image}, {table});
    cuda::workspace workspace(std::max({plan.workspace_bytes(), blur.workspace_bytes(), sums.workspace_bytes()}) + 4096,
                              stream());
    stream().synchronize();
    const test::captured_graph graph(stream(), [&] {
        without_table.run_async(small, {of_tiles}, workspace, stream());
        plan.run_async(inputs, {result}, workspace, stream());
    });
    for (std::uint32_t round = 0; round < 3; ++round) {
        const std::vector<std::uint8_t> pixels = random_pixels<std::uint8_t>(rows * cols, 80 + round);
        std::vector<std::uint8_t> around = random_pixels<std::uint8_t>(rows * cols, 85 + round);
        for (std::uint8_t& r : around) r /= 16;
        send(pixels, image);
        send(around, radii);
        blur.run_async(inputs, {blurred}, workspace, stream());
        sums.run_async({image}, {table}, workspace, stream());
        graph.replay(stream());
        const image_view<const std::uint8_t> here(pixels.data(), rows, cols);
        std::vector<std::uint8_t> expected(pixels.size()), softened(pixels.size());
        const variable_inputs on_host{.image = here,
                                      .radius = image_view<const std::uint8_t>(around.data(), rows, cols)};
        variable_box_filter(on_host, {image_view<std::uint8_t>(expected.data(), rows, cols)});
        variable_blur(on_host, {image_view<std::uint8_t>(softened.data(), rows, cols)});
        EXPECT_EQ(received(result), expected) << "round " << round;
        EXPECT_EQ(received(of_tiles), expected) << "round " << round;
        EXPECT_EQ(received(blurred), softened) << "round " << round;
        std::vector<std::uint32_t> found(pixels.size()), summed(pixels.size());
        sat({here}, {image_view<std::uint32_t>(summed.data(), rows, cols)});
        cuda::copy(any_view(table.view().entries()), image_view<std::uint32_t>(found.data(), rows, cols), stream());
        EXPECT_EQ(found, summed) << "round " << round;
    }
}

TEST_F(graphs, determinants_and_means) {
    const cuda::image<std::uint8_t> image = on_device<std::uint8_t>();
    const cuda::image<double> determinant = on_device<double>(), mean(1, 1, stream());
    const cuda::box_hessian_plan plan({image}, {determinant}, {.sigma = 3});
    cuda::workspace workspace(std::max(plan.workspace_bytes(), cuda::image_means_bytes(image.shape())), stream());
    stream().synchronize();
    const test::captured_graph graph(stream(), [&] {
        plan.run_async({image}, {determinant}, workspace, stream());
        cuda::image_means_async(image, mean.view().data(), workspace, stream());
        plan.run_async({image}, {determinant}, workspace, stream());
    });
    for (std::uint32_t replay = 0; replay < 3; ++replay) {
        const std::vector<std::uint8_t> pixels = random_pixels<std::uint8_t>(rows * cols, 60 + replay);
        send(pixels, image);
        graph.replay(stream());
        const image_view<const std::uint8_t> here(pixels.data(), rows, cols);
        std::vector<double> expected(pixels.size());
        box_hessian({here}, {image_view<double>(expected.data(), rows, cols)}, {.sigma = 3});
        EXPECT_EQ(received(determinant), expected) << "replay " << replay;
        EXPECT_EQ(received(mean), image_means(here)) << "replay " << replay;
    }
}

TEST_F(graphs, shadows) {
    const cuda::image<float> receiver = on_device<float>(), rectangle = on_device<float>(4), lit = on_device<float>();
    const cuda::table<double> sums(rows, cols, stream()), squares(rows, cols, stream());
    const std::vector<float> depths = random_pixels<float>(rows * cols, 40), far(depths.size(), 0.5F);
    std::vector<float> boxes;
    for (std::size_t i = 0; i < depths.size(); ++i)
        for (const int part : {static_cast<int>(i % 50), static_cast<int>(i % 70), 5, 7})
            boxes.push_back(static_cast<float>(part) + 0.25F);
    send(boxes, rectangle);
    stream().synchronize();
    const shadow_options options{.min_variance = 1e-4};
    const test::captured_graph graph(stream(), [&] {
        cuda::variance_shadows_async({{sums, squares}, receiver, rectangle}, {lit}, stream(), options);
    });
    for (std::uint32_t replay = 0; replay < 3; ++replay) {
        const std::vector<float> map = random_pixels<float>(rows * cols, 50 + replay);
        const auto moments = sat_squares<double, double>(image_view<const float>(map.data(), rows, cols));
        cuda::copy(moments.sums.view().entries(), sums.view().entries(), stream());
        cuda::copy(moments.squares.view().entries(), squares.view().entries(), stream());
        send(replay == 1 ? far : depths, receiver);
        graph.replay(stream());
        std::vector<float> expected(depths.size());
        variance_shadows({{moments.sums, moments.squares},
                          image_view<const float>(replay == 1 ? far.data() : depths.data(), rows, cols),
                          image_view<const float>(boxes.data(), rows, cols, 0, 4)},
                         {image_view<float>(expected.data(), rows, cols)}, options);
        EXPECT_EQ(received(lit), expected) << "replay " << replay;
    }
}

}  // namespace
}  // namespace boxsum
