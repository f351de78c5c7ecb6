// Queries of integral histograms on a device against those of the CPU. Runs on a GPU, and on the emulated device.

#include "support/device_tensors.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/error.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/integral_histogram.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

constexpr std::int64_t rows = 37, cols = 53;
constexpr std::array all_distances{histogram_distance::l1, histogram_distance::l2, histogram_distance::chi_square,
                                   histogram_distance::intersection, histogram_distance::bhattacharyya};

/// The same histograms on both sides.
template <typename T>
struct two_tables {
    two_tables(std::int64_t bins, table_layout layout, cuda::stream_ref stream, std::int64_t planes = 1)
        : device(bins, rows, cols, stream, layout, planes) {
        const auto pixels = test::random_pixels<std::uint8_t>(planes * rows * cols, 5);
        std::vector<float> weights(pixels.size());
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1.0f / static_cast<float>(1 + i % 101);
        histogram_inputs inputs{image_view<const std::uint8_t>(pixels.data(), rows, cols, 0, 1, planes)};
        if (std::is_floating_point_v<T>)
            inputs.weights = image_view<const float>(weights.data(), rows, cols, 0, 1, planes);
        host = integral_histogram<T>(inputs, binning::uniform(bins, 0, 256), layout);
        upload(stream);
    }

    void upload(cuda::stream_ref stream) const {
        for (std::int64_t plane = 0; plane < host.view().planes(); ++plane)
            for (std::int64_t b = 0; b < host.view().bins(); ++b)
                cuda::copy(host.view().bin(b, plane).entries(), device.view().bin(b, plane).entries(), stream);
    }

    histogram_table<T> host;
    cuda::histogram_table<T> device;
};

/// Values of a device, `words` of them.
template <typename T>
std::vector<T> fetched(const cuda::device_buffer& buffer, cuda::stream_ref stream) {
    std::vector<T> values(buffer.size() / sizeof(T));
    const auto bytes = static_cast<std::int64_t>(buffer.size());
    cuda::copy(image_view<const std::uint8_t>(static_cast<const std::uint8_t*>(buffer.data()), 1, bytes),
               image_view<std::uint8_t>(reinterpret_cast<std::uint8_t*>(values.data()), 1, bytes), stream);
    return values;
}

/// Values of the host in device memory.
template <typename T>
cuda::device_buffer uploaded(std::span<const T> values, cuda::stream_ref stream) {
    cuda::device_buffer there(values.size_bytes(), stream);
    const auto bytes = static_cast<std::int64_t>(values.size_bytes());
    cuda::copy(image_view<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(values.data()), 1, bytes),
               image_view<std::uint8_t>(static_cast<std::uint8_t*>(there.data()), 1, bytes), stream);
    return there;
}

/// Bit for bit; which of its many forms "not a number" takes differs between processors.
template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](T x, T y) { return std::memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y); });
}

/// One search by its plan.
std::vector<histogram_match> search_once(const const_any_histogram_view& histograms, std::span<const window_grid> grids,
                                         std::span<const double> target, histogram_distance distance,
                                         std::int64_t count, cuda::stream_ref stream, std::int64_t plane = 0) {
    const cuda::best_windows_plan search(histograms.shape(), grids, distance, count);
    if (search.matches() == 0) return {};
    const cuda::device_buffer target_there = uploaded<double>(target, stream);
    const cuda::device_buffer found(static_cast<std::size_t>(search.matches()) * sizeof(histogram_match), stream);
    cuda::workspace workspace(search.workspace_bytes(), stream);
    search.run_async(histograms, static_cast<const double*>(target_there.data()),
                     static_cast<histogram_match*>(found.data()), workspace, stream, plane);
    return fetched<histogram_match>(found, stream);
}

/// The same by the call that makes the plan itself.
std::vector<histogram_match> search_by_call(const const_any_histogram_view& histograms,
                                            std::span<const window_grid> grids, std::span<const double> target,
                                            histogram_distance distance, std::int64_t count, cuda::stream_ref stream) {
    const cuda::device_buffer target_there = uploaded<double>(target, stream);
    const cuda::device_buffer found(static_cast<std::size_t>(count) * sizeof(histogram_match), stream);
    cuda::workspace workspace;
    const std::int64_t matches =
        cuda::best_windows_async(histograms, grids, static_cast<const double*>(target_there.data()), distance, count,
                                 static_cast<histogram_match*>(found.data()), workspace, stream);
    std::vector<histogram_match> all = fetched<histogram_match>(found, stream);
    all.resize(static_cast<std::size_t>(matches));
    return all;
}

/// The first match that is not the expected one, bit for bit; empty where there is none.
std::string first_difference(const std::vector<histogram_match>& found, const std::vector<histogram_match>& expected) {
    if (found.size() != expected.size())
        return std::to_string(found.size()) + " matches, not " + std::to_string(expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i].where != expected[i].where ||
            !same_bits(std::vector{found[i].distance}, std::vector{expected[i].distance}))
            return "match " + std::to_string(i);
    return {};
}

/// What is refused, by the class and the text of the exception.
template <typename Error = invalid_argument, typename F>
void expect_refused(F&& call, const std::string& part) {
    try {
        call();
        ADD_FAILURE() << "nothing was thrown, expected: " << part;
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
}

template <typename T>
class gpu_histogram_queries : public test::gpu_test {};
using entry_types = testing::Types<std::uint32_t, std::uint16_t, float>;
TYPED_TEST_SUITE(gpu_histogram_queries, entry_types);

constexpr std::array inside{box{0, 0, rows, cols}, box{0, 0, 1, 1},  box{rows - 1, cols - 1, 1, 1},
                            box{3, 0, 9, 20},      box{0, 7, 30, 2}, box{11, 13, 17, 19}};

/// Boxes in device memory are not seen by the host: one that does not lie inside the image is empty.
TYPED_TEST(gpu_histogram_queries, boxes_are_those_of_the_cpu_and_empty_outside_of_the_image) {
    const cuda::stream stream;
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
    for (const table_layout layout : {table_layout::inclusive, table_layout::padded})
        for (const std::int64_t bins : {5, 16, 33}) {
            const two_tables<TypeParam> t(bins, layout, stream, 2);
            std::vector<box> boxes(inside.begin(), inside.end());
            boxes.insert(boxes.end(), {{0, 0, rows + 1, 1},
                                       {0, 0, 1, cols + 1},
                                       {rows, 0, 1, 1},
                                       {0, cols, 1, 1},
                                       {-1, 0, 2, 2},
                                       {0, -1, 2, 2},
                                       {5, 5, 0, 3},
                                       {far, 0, far, 1},
                                       {0, far, 1, far},
                                       {1, 1, 1, -1}});
            const cuda::device_buffer boxes_there = uploaded<box>(boxes, stream);
            const cuda::device_boxes on_device{static_cast<const box*>(boxes_there.data()), std::ssize(boxes)};
            for (std::int64_t plane = 0; plane < 2; ++plane) {
                std::vector<TypeParam> expected(inside.size() * static_cast<std::size_t>(bins));
                box_histograms<TypeParam>(t.host, inside, expected, plane);
                expected.resize(boxes.size() * static_cast<std::size_t>(bins), TypeParam{});

                const std::vector<TypeParam> poison(expected.size(), TypeParam{77});
                const cuda::device_buffer out = uploaded<TypeParam>(poison, stream);
                const cuda::any_device_span to(static_cast<TypeParam*>(out.data()), std::ssize(expected));
                cuda::box_histograms_async(t.device, on_device, to, stream, plane);
                EXPECT_EQ(fetched<TypeParam>(out, stream), expected) << bins;
                cuda::box_histograms(t.device, on_device, to, stream, 1 - plane);
                EXPECT_NE(fetched<TypeParam>(out, stream), expected) << "the other plane";

                std::vector<TypeParam> waited(inside.size() * static_cast<std::size_t>(bins));
                cuda::box_histograms<TypeParam>(t.device, inside, waited, stream, plane);
                EXPECT_TRUE(std::equal(waited.begin(), waited.end(), expected.begin()));
            }
        }
}

TYPED_TEST(gpu_histogram_queries, windows_have_the_histograms_of_the_cpu) {
    const cuda::stream stream;
    for (const table_layout layout : {table_layout::inclusive, table_layout::padded}) {
        const two_tables<TypeParam> t(9, layout, stream);
        const window_grid grid{.rows = 8, .cols = 11, .row_step = 5, .col_step = 3, .region = box{2, 1, 30, 50}};
        const std::int64_t count = window_count(grid, rows, cols);
        std::vector<TypeParam> expected(static_cast<std::size_t>(count) * 9), waited(expected.size());
        window_histograms<TypeParam>(t.host, grid, expected);
        const cuda::device_buffer out(expected.size() * sizeof(TypeParam), stream);
        const cuda::any_device_span to(static_cast<TypeParam*>(out.data()), count * 9);
        cuda::window_histograms_async(t.device, grid, to, stream);
        EXPECT_EQ(fetched<TypeParam>(out, stream), expected);
        cuda::window_histograms<TypeParam>(t.device, grid, waited, stream);
        EXPECT_EQ(waited, expected);
    }
}

/// More matches than are selected block by block, too: then all windows are sorted.
TYPED_TEST(gpu_histogram_queries, find_the_windows_of_the_cpu) {
    const cuda::stream stream;
    for (const std::int64_t bins : {12, 40}) {
        const two_tables<TypeParam> t(bins, table_layout::padded, stream);
        std::vector<double> target(static_cast<std::size_t>(bins), 1.0);
        target[1] = 7;
        target[3] = 0;
        const std::array grids{window_grid{.rows = 9, .cols = 9}, window_grid{.rows = 40, .cols = 2},  // no window
                               window_grid{.rows = 12, .cols = 6, .row_step = 2, .col_step = 5}};
        for (const histogram_distance d : all_distances)
            for (const std::int64_t count : {1, 7, 256, 257, 100'000}) {
                const auto expected = best_windows(t.host, grids, target, d, count);
                EXPECT_EQ(first_difference(search_once(t.device, grids, target, d, count, stream), expected), "")
                    << name_of(d) << ", " << count << " of " << bins << " bins";
                EXPECT_EQ(first_difference(cuda::best_windows(t.device, grids, target, d, count, stream), expected),
                          "");
                if (count == 7)
                    EXPECT_EQ(first_difference(search_by_call(t.device, grids, target, d, count, stream), expected),
                              "");
            }
    }
}

/// Equal distances everywhere: the earlier grid, then the upper, then the left window.
TYPED_TEST(gpu_histogram_queries, ties_go_to_the_first_window_and_few_windows_give_few_matches) {
    const cuda::stream stream;
    const std::vector<std::uint8_t> pixels(static_cast<std::size_t>(rows * cols), 100);
    const std::vector<float> ones(pixels.size(), 1.0f);
    histogram_inputs inputs{image_view<const std::uint8_t>(pixels.data(), rows, cols)};
    if (std::is_floating_point_v<TypeParam>) inputs.weights = image_view<const float>(ones.data(), rows, cols);
    two_tables<TypeParam> t(4, table_layout::inclusive, stream);
    integral_histogram(inputs, binning::uniform(4, 0, 256), {t.host});
    t.upload(stream);
    const std::array grids{window_grid{.rows = rows, .cols = cols - 1}, window_grid{.rows = 5, .cols = 5}};
    const std::array target{0.0, 3.0, 1.0, 0.0};
    for (const std::int64_t count : {60, 300}) {
        const auto found = search_once(t.device, grids, target, histogram_distance::l1, count, stream);
        ASSERT_EQ(std::ssize(found), count);
        EXPECT_EQ(found[1].where, (box{0, 1, rows, cols - 1}));
        EXPECT_EQ(found[2].where, (box{0, 0, 5, 5}));
        EXPECT_EQ(found[50].where, (box{0, 48, 5, 5}));
        EXPECT_EQ(found[51].where, (box{1, 0, 5, 5}));
        EXPECT_DOUBLE_EQ(found.back().distance, 0.5);
        EXPECT_EQ(found, best_windows(t.host, grids, target, histogram_distance::l1, count));
    }
    const std::array whole{window_grid{.rows = rows, .cols = cols}};
    EXPECT_EQ(search_once(t.device, whole, target, histogram_distance::l2, 9, stream).size(), 1u);
    const std::array too_large{window_grid{.rows = rows + 1, .cols = 1}};
    EXPECT_TRUE(search_once(t.device, too_large, target, histogram_distance::l2, 9, stream).empty());
    EXPECT_TRUE(cuda::best_windows(t.device, too_large, target, histogram_distance::l2, 9, stream).empty());
}

TYPED_TEST(gpu_histogram_queries, pass_over_the_windows_that_the_cpu_passes_over) {
    const cuda::stream stream;
    const two_tables<TypeParam> t(12, table_layout::padded, stream);
    const std::vector<double> target{1, 7, 1, 0, 1, 1, 2, 1, 1, 1, 1, 1};
    const std::array grids{window_grid{.rows = 9, .cols = 9},
                           window_grid{.rows = 12, .cols = 6, .row_step = 2, .col_step = 5}};
    for (const double largest : {0.0, 0.25, 0.9})
        for (const std::int64_t count : {1, 9, 100'000}) {
            const auto expected = best_windows(t.host, grids, target, histogram_distance::l2, count, 0, largest);
            const auto found =
                cuda::best_windows(t.device, grids, target, histogram_distance::l2, count, stream, 0, largest);
            EXPECT_EQ(first_difference(found, expected), "") << count << " of overlap " << largest;
        }
}

using gpu_histogram_search = test::gpu_test;

/// Distances that are not numbers come last, in the order of their windows.
TEST_F(gpu_histogram_search, weights_that_are_not_numbers_come_last) {
    const cuda::stream stream;
    two_tables<float> t(6, table_layout::inclusive, stream);
    for (std::int64_t r = 20; r < rows; ++r)
        for (std::int64_t c = 11; c < cols; ++c)
            t.host.view().entries()(2, r, c) = std::numeric_limits<float>::quiet_NaN();
    t.upload(stream);
    const std::array grids{window_grid{.rows = 5, .cols = 6}, window_grid{.rows = 8, .cols = 3, .row_step = 2}};
    const std::array target{1.0, 2.0, 0.0, 3.0, 4.0, 1.0};
    const auto expected = best_windows(t.host, grids, target, histogram_distance::bhattacharyya, 100'000);
    const auto found = search_once(t.device, grids, target, histogram_distance::bhattacharyya, 100'000, stream);
    EXPECT_EQ(first_difference(found, expected), "");
    EXPECT_TRUE(std::isnan(found.back().distance));
    std::vector<float> boxes(inside.size() * 6), expected_boxes(boxes.size());
    cuda::box_histograms<float>(t.device, inside, boxes, stream);
    box_histograms<float>(t.host, inside, expected_boxes);
    EXPECT_TRUE(same_bits(boxes, expected_boxes));
}

TEST_F(gpu_histogram_search, of_each_plane_of_a_batch) {
    const cuda::stream stream;
    const two_tables<std::uint32_t> t(6, table_layout::padded, stream, 3);
    const std::array grids{window_grid{.rows = 5, .cols = 6, .col_step = 2}, window_grid{.rows = 7, .cols = 4}};
    const std::array target{1.0, 0.0, 5.0, 2.0, 2.0, 3.0};
    for (std::int64_t plane = 0; plane < 3; ++plane) {
        const auto expected = best_windows(t.host, grids, target, histogram_distance::chi_square, 4, plane);
        EXPECT_EQ(search_once(t.device, grids, target, histogram_distance::chi_square, 4, stream, plane), expected);
        EXPECT_EQ(cuda::best_windows(t.device, grids, target, histogram_distance::chi_square, 4, stream, plane),
                  expected);
    }
}

TEST_F(gpu_histogram_search, queries_refuse_bad_arguments) {
    const cuda::stream stream;
    const two_tables<std::uint32_t> t(3, table_layout::inclusive, stream);
    const any_histogram_view device = t.device;
    std::vector<std::uint32_t> out(inside.size() * 3, 77);
    const auto boxes_of = [&](const const_any_histogram_view& h, std::int64_t plane = 0) {
        cuda::box_histograms<std::uint32_t>(h, inside, out, stream, plane);
    };
    expect_refused([&] { boxes_of(t.device, 1); }, "plane: is 1");
    expect_refused<unsupported>(
        [&] {
            boxes_of({device.entries, table_layout::exclusive});
        },
        "histograms: layout is exclusive");
    expect_refused([&] { boxes_of(t.host); }, "histograms: is host memory");
    any_histogram_view other = device;
    other.entries.shape.type = dtype::f32;
    expect_refused([&] { boxes_of(other); }, "out: type is 32u, but the histograms' is 32f");
    other.entries.shape.type = dtype::f64;
    other.entries.shape.cols /= 2;
    expect_refused<unsupported>([&] { boxes_of(other); }, "histograms: type is 64f");
    const std::vector<box> beyond{{0, 0, 1, 1}, {0, 0, rows + 1, 1}};
    std::vector<std::uint32_t> two(6);
    expect_refused([&] { cuda::box_histograms<std::uint32_t>(t.device, beyond, two, stream); }, "boxes[1]");
    expect_refused([&] { cuda::box_histograms<std::uint32_t>(t.device, inside, two, stream); }, "out: has 6 elements");
    EXPECT_EQ(out, std::vector<std::uint32_t>(inside.size() * 3, 77));

    const cuda::device_buffer memory(inside.size() * sizeof(box), stream), there(out.size() * 4, stream);
    const cuda::device_boxes on_device{static_cast<const box*>(memory.data()), std::ssize(inside)};
    auto* const values = static_cast<std::uint32_t*>(there.data());
    const auto enqueue = [&](const cuda::device_boxes& boxes, const cuda::any_device_span& to) {
        cuda::box_histograms_async(t.device, boxes, to, stream);
    };
    const std::int64_t all = std::ssize(out);
    expect_refused([&] { enqueue({inside.data(), std::ssize(inside)}, {values, all}); }, "boxes: is host memory");
    expect_refused([&] { enqueue(on_device, {out.data(), all}); }, "out: is host memory");
    expect_refused([&] { enqueue(on_device, {nullptr, dtype::u32, all}); }, "out: is null");
    expect_refused([&] { enqueue(on_device, {values, all - 1}); }, "out: has 17 elements, must have 6 x 3");
    expect_refused([&] { enqueue(on_device, {values, dtype::f32, all}); }, "out: type is 32f");
    expect_refused([&] { enqueue({on_device.data, -1}, {values, all}); }, "boxes: count: is -1");
    const cuda::device_boxes edges{.count = 6, .edges = static_cast<const fractional_box*>(memory.data())};
    expect_refused<unsupported>([&] { enqueue(edges, {values, all}); }, "boxes: edges are given");
}

TEST_F(gpu_histogram_search, refuses_bad_arguments) {
    const cuda::stream stream;
    const two_tables<std::uint32_t> t(3, table_layout::inclusive, stream);
    const std::array grids{window_grid{.rows = 5, .cols = 5}}, broken{window_grid{.rows = 5, .cols = 0}};
    const auto search = [&](std::span<const window_grid> g, std::int64_t count, table_form form = {}) {
        return cuda::best_windows_plan({t.device.shape().entries, form}, g, histogram_distance::l1, count);
    };
    expect_refused([&] { search(grids, 0); }, "count: is 0");
    expect_refused([&] { search({}, 1); }, "grids");
    expect_refused([&] { search(broken, 1); }, "cols is 0");
    expect_refused<unsupported>([&] { search(grids, 1, table_layout::exclusive); }, "histograms: layout is exclusive");

    const cuda::best_windows_plan good = search(grids, 4);
    EXPECT_EQ(good.matches(), 4);
    const cuda::device_buffer target(24, stream), found(4 * sizeof(histogram_match), stream);
    cuda::workspace workspace(good.workspace_bytes(), stream), small(good.workspace_bytes() - 1, stream);
    const auto* const values = static_cast<const double*>(target.data());
    auto* const matches = static_cast<histogram_match*>(found.data());
    const double on_host[3]{};
    const auto run = [&](const const_any_histogram_view& h, const double* wanted, histogram_match* to,
                         cuda::workspace& memory,
                         std::int64_t plane = 0) { good.run_async(h, wanted, to, memory, stream, plane); };
    expect_refused([&] { run(t.device, values, matches, workspace, 1); }, "plane: is 1");
    expect_refused([&] { run(t.device, on_host, matches, workspace); }, "target: is host memory");
    expect_refused([&] { run(t.device, values, nullptr, workspace); }, "found: is null");
    expect_refused([&] { run(t.device, values, matches, small); }, "workspace: has ");
    expect_refused([&] { run(t.host, values, matches, workspace); }, "histograms: ");
    const cuda::histogram_table<std::uint32_t> wider(3, rows, cols + 1, stream);
    expect_refused([&] { run(wider, values, matches, workspace); },
                   "histograms: cols is 54, but the plan was made for 53");
    expect_refused(
        [&] {
            run({t.device.view().entries(), table_layout::padded}, values, matches, workspace);
        },
        "histograms: layout is padded, but the plan was made for inclusive");
    const std::array<double, 3> fine{1, 2, 3};
    const auto best = [&](std::span<const window_grid> g, std::span<const double> wanted, std::int64_t count) {
        (void)cuda::best_windows(t.device, g, wanted, histogram_distance::l1, count, stream);
    };
    expect_refused([&] { best({}, fine, 1); }, "grids");
    expect_refused([&] { best(grids, {}, 1); }, "target: has 0 bins");
    expect_refused([&] { best(grids, fine, 0); }, "count: is 0");
    expect_refused([&] { best(grids, std::array{1.0, -1.0, 0.0}, 1); }, "target: bin 1 is -1");
    expect_refused([&] { (void)cuda::best_windows(t.device, grids, fine, histogram_distance::l1, 1, stream, 0, 1.5); },
                   "largest_overlap: is 1.5");
}

}  // namespace
}  // namespace boxsum
