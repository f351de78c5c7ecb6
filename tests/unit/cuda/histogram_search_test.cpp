// Queries of integral histograms on a device against those of the CPU. Runs on a GPU, and on the emulated device.

#include "support/device_tensors.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/histogram_search.hpp>
#include <boxsum/error.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/integral_histogram.hpp>

#include <array>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

constexpr std::int64_t rows = 37, cols = 53;

/// The same tensor on both sides.
template <typename T>
struct two_tensors {
    two_tensors(std::int64_t bins, table_layout layout, cuda::stream_ref stream, std::uint32_t seed = 5)
        : device(bins, rows, cols, stream, layout) {
        const auto pixels = test::random_pixels<std::uint8_t>(rows * cols, seed);
        const image_view<const std::uint8_t> image(pixels.data(), rows, cols);
        host = histogram_tensor<T>(bins, rows, cols, layout);
        const binning rule = binning::uniform(bins, 0, 256);
        if constexpr (std::is_floating_point_v<T>) {
            std::vector<float> weights(pixels.size());
            for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1.0f / static_cast<float>(1 + i % 101);
            integral_histogram(image, image_view<const float>(weights.data(), rows, cols), rule,
                               any_tensor_view(host.view()), {.layout = layout});
        } else {
            integral_histogram(image, rule, any_tensor_view(host.view()), {.layout = layout});
        }
        for (std::int64_t b = 0; b < bins; ++b) cuda::copy(host.view().bin(b), device.view().bin(b), stream);
    }

    histogram_tensor<T> host;
    cuda::device_tensor<T> device;
};

template <typename T>
std::vector<T> fetched(const cuda::device_buffer& buffer, cuda::stream_ref stream) {
    std::vector<T> values(buffer.size() / sizeof(T));
    const auto count = static_cast<std::int64_t>(values.size());
    using word = std::conditional_t<std::is_same_v<T, histogram_match>, double, T>;
    const std::int64_t words = count * static_cast<std::int64_t>(sizeof(T) / sizeof(word));
    cuda::copy(image_view<const word>(static_cast<const word*>(buffer.data()), 1, words),
               image_view<word>(reinterpret_cast<word*>(values.data()), 1, words), stream);
    return values;
}

/// Values of the host in device memory.
template <typename T>
cuda::device_buffer uploaded(std::span<const T> values, cuda::stream_ref stream) {
    cuda::device_buffer there(values.size_bytes(), stream);
    const auto count = static_cast<std::int64_t>(values.size());
    cuda::copy(image_view<const T>(values.data(), 1, count), image_view<T>(static_cast<T*>(there.data()), 1, count),
               stream);
    return there;
}

/// One search of the only plane.
std::vector<histogram_match> search_once(const const_any_tensor_view& tensor, std::span<const window_grid> grids,
                                         std::span<const double> target, histogram_distance distance,
                                         std::int64_t count, table_layout layout, cuda::stream_ref stream) {
    const cuda::histogram_search search(tensor.shape, layout, grids, distance, count);
    if (search.matches() == 0) return {};
    const cuda::device_buffer target_there = uploaded<double>(target, stream);
    const cuda::device_buffer found(static_cast<std::size_t>(search.matches()) * sizeof(histogram_match), stream);
    cuda::workspace workspace(search.workspace_bytes(), stream);
    search.run_async(tensor, 0, static_cast<const double*>(target_there.data()),
                     static_cast<histogram_match*>(found.data()), workspace, stream);
    return fetched<histogram_match>(found, stream);
}

template <typename T>
class gpu_histogram_search : public test::gpu_test {};
using entry_types = testing::Types<std::uint32_t, std::uint16_t, float>;
TYPED_TEST_SUITE(gpu_histogram_search, entry_types);

TYPED_TEST(gpu_histogram_search, windows_have_the_histograms_of_the_cpu) {
    const cuda::stream stream;
    const two_tensors<TypeParam> t(9, table_layout::inclusive, stream);
    const window_grid grid{.rows = 8, .cols = 11, .row_step = 5, .col_step = 3, .region = box{2, 1, 30, 50}};
    std::vector<TypeParam> expected(static_cast<std::size_t>(window_count(grid, rows, cols)) * 9);
    window_histograms<TypeParam>(t.host.view(), grid, expected, table_layout::inclusive);
    const cuda::device_buffer out(expected.size() * sizeof(TypeParam), stream);
    cuda::window_histograms_async(t.device.view(), grid, out.data(), table_layout::inclusive, 0, stream);
    EXPECT_EQ(fetched<TypeParam>(out, stream), expected);
}

TYPED_TEST(gpu_histogram_search, finds_the_windows_of_the_cpu) {
    const cuda::stream stream;
    for (const std::int64_t bins : {12, 40}) {
        const two_tensors<TypeParam> t(bins, table_layout::padded, stream);
        std::vector<double> target(static_cast<std::size_t>(bins), 1.0);
        target[1] = 7;
        target[3] = 0;
        const std::array grids{window_grid{.rows = 9, .cols = 9}, window_grid{.rows = 40, .cols = 2},  // no window
                               window_grid{.rows = 12, .cols = 6, .row_step = 2, .col_step = 5}};
        for (const histogram_distance d :
             {histogram_distance::l1, histogram_distance::l2, histogram_distance::chi_square,
              histogram_distance::intersection, histogram_distance::bhattacharyya})
            for (const std::int64_t count : {1, 7, 200}) {
                const auto expected = best_windows(t.host.view(), grids, target, d, count, table_layout::padded);
                const auto found = search_once(t.device.view(), grids, target, d, count, table_layout::padded, stream);
                EXPECT_EQ(found, expected) << name_of(d) << ", " << count << " of " << bins << " bins";
            }
    }
}

using gpu_histogram_queries = test::gpu_test;

TEST_F(gpu_histogram_queries, ties_go_to_the_first_window_and_few_windows_give_few_matches) {
    const cuda::stream stream;
    const std::vector<std::uint8_t> pixels(static_cast<std::size_t>(rows * cols), 100);  // all windows are equal
    const image_view<const std::uint8_t> image(pixels.data(), rows, cols);
    const cuda::device_tensor<std::uint32_t> tensor(4, rows, cols, stream);
    const auto host = integral_histogram<std::uint32_t>(image, binning::uniform(4, 0, 256));
    for (std::int64_t b = 0; b < 4; ++b) cuda::copy(host.view().bin(b), tensor.view().bin(b), stream);
    const std::array grids{window_grid{.rows = 5, .cols = 5}};
    const std::array target{0.0, 3.0, 1.0, 0.0};
    const auto found =
        search_once(tensor.view(), grids, target, histogram_distance::l1, 60, table_layout::inclusive, stream);
    ASSERT_EQ(found.size(), 60u);
    EXPECT_EQ(found[0].where, (box{0, 0, 5, 5}));
    EXPECT_EQ(found[48].where, (box{0, 48, 5, 5}));
    EXPECT_EQ(found[49].where, (box{1, 0, 5, 5}));
    EXPECT_DOUBLE_EQ(found[59].distance, 0.5);

    const std::array whole{window_grid{.rows = rows, .cols = cols}};
    EXPECT_EQ(
        search_once(tensor.view(), whole, target, histogram_distance::l2, 9, table_layout::inclusive, stream).size(),
        1u);
    const std::array too_large{window_grid{.rows = rows + 1, .cols = 1}};
    EXPECT_TRUE(
        search_once(tensor.view(), too_large, target, histogram_distance::l2, 9, table_layout::inclusive, stream)
            .empty());
}

TEST_F(gpu_histogram_queries, boxes_of_weights_are_those_of_the_cpu_and_empty_outside_the_image) {
    const cuda::stream stream;
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t bins : {5, 16, 33}) {
        const two_tensors<float> t(bins, table_layout::inclusive, stream);
        const std::array inside{box{0, 0, rows, cols}, box{0, 0, 1, 1},  box{rows - 1, cols - 1, 1, 1},
                                box{3, 0, 9, 20},      box{0, 7, 30, 2}, box{11, 13, 17, 19}};
        std::vector<box> boxes(inside.begin(), inside.end());
        boxes.insert(boxes.end(), {{0, 0, rows + 1, 1}, {-1, 0, 2, 2}, {5, 5, 0, 3}, {far, 0, far, 1}, {1, 1, 1, -1}});
        std::vector<float> expected(inside.size() * static_cast<std::size_t>(bins));
        box_histograms<float>(t.host.view(), inside, expected, table_layout::inclusive);
        expected.resize(boxes.size() * static_cast<std::size_t>(bins), 0.0f);

        // A box is four 64-bit words.
        const cuda::device_buffer there =
            uploaded<std::int64_t>({reinterpret_cast<const std::int64_t*>(boxes.data()), boxes.size() * 4}, stream);
        const cuda::device_buffer out(expected.size() * 4, stream);
        cuda::box_histograms_async(t.device.view(), static_cast<const box*>(there.data()),
                                   static_cast<std::int64_t>(boxes.size()), static_cast<float*>(out.data()),
                                   table_layout::inclusive, 0, stream);
        EXPECT_EQ(fetched<float>(out, stream), expected) << bins;
    }
}

TEST_F(gpu_histogram_queries, refuse_bad_arguments) {
    const cuda::stream stream;
    const two_tensors<std::uint32_t> t(3, table_layout::inclusive, stream);
    const tensor_shape shape = t.device.view().shape();
    const std::array grids{window_grid{.rows = 5, .cols = 5}}, broken{window_grid{.rows = 5, .cols = 0}};
    const auto search = [&](std::span<const window_grid> g, std::int64_t count, table_layout layout) {
        return cuda::histogram_search(shape, layout, g, histogram_distance::l1, count);
    };
    EXPECT_THROW(search(grids, 0, table_layout::inclusive), invalid_argument);
    EXPECT_THROW(search(grids, 257, table_layout::inclusive), invalid_argument);
    EXPECT_THROW(search({}, 1, table_layout::inclusive), invalid_argument);
    EXPECT_THROW(search(broken, 1, table_layout::inclusive), invalid_argument);
    EXPECT_THROW(search(grids, 1, table_layout::exclusive), invalid_argument);

    const cuda::histogram_search good = search(grids, 4, table_layout::inclusive);
    EXPECT_EQ(good.matches(), 4);
    cuda::workspace workspace(good.workspace_bytes(), stream), small(1, stream);
    const cuda::device_buffer target(24, stream), found(4 * sizeof(histogram_match), stream);
    const auto* const values = static_cast<const double*>(target.data());
    auto* const matches = static_cast<histogram_match*>(found.data());
    const double on_host[3]{};
    EXPECT_THROW(good.run_async(t.device.view(), 1, values, matches, workspace, stream), invalid_argument);
    EXPECT_THROW(good.run_async(t.device.view(), 0, on_host, matches, workspace, stream), invalid_argument);
    EXPECT_THROW(good.run_async(t.device.view(), 0, values, nullptr, workspace, stream), invalid_argument);
    EXPECT_THROW(good.run_async(t.device.view(), 0, values, matches, small, stream), invalid_argument);
    EXPECT_THROW(good.run_async(t.host.view(), 0, values, matches, workspace, stream), invalid_argument);
}

}  // namespace
}  // namespace boxsum
