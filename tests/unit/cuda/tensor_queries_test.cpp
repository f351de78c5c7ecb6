#include "core/distance_terms.hpp"
#include "cuda/pipeline/tensor_copy.hpp"
#include "cuda/queries/frame_queries.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "support/frames.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace boxsum {
namespace {

using test::video;

/// Tensors that the CPU computed, on the device.
class tensor_queries : public test::gpu_test {
  protected:
    void SetUp() override {
        test::gpu_test::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        stream_.emplace();
    }

    template <typename Entry>
    any_tensor_view upload(const histogram_tensor<Entry>& host) {
        const tensor_shape s = host.view().shape();
        memory_.emplace_back(static_cast<std::size_t>(s.planes * s.plane_stride), *stream_);
        const any_tensor_view device{memory_.back().data(), s};
        cuda::copy_tensor_async(host.view(), device, *stream_);
        stream_->synchronize();
        return device;
    }

    std::optional<cuda::stream> stream_;
    std::vector<cuda::device_buffer> memory_;
};

TEST_F(tensor_queries, equal_those_of_the_host_bit_for_bit) {
    const video v(45, 61, 1);
    for (const std::int64_t bin_count : {1, 7, 33})
        for (const table_layout layout : {table_layout::inclusive, table_layout::padded})
            for (const histogram_distance distance :
                 {histogram_distance::l1, histogram_distance::l2, histogram_distance::chi_square,
                  histogram_distance::intersection, histogram_distance::bhattacharyya})
                for (const std::int64_t count : {1, 5}) {
                    const binning bins = binning::uniform(bin_count, 20, 230);
                    const box region{2, 3, 40, 50};
                    const image_view<const std::uint8_t> part(v.frame(0).row(region.row) + region.col, region.rows,
                                                              region.cols, v.cols);
                    const auto tensor = integral_histogram<std::uint32_t>(part, bins, {.layout = layout});
                    frame_request request;
                    request.region = region;
                    request.boxes = {{2, 3, 40, 50}, {2, 3, 1, 1}, {10, 20, 7, 9}};
                    request.grids = {{.rows = 5, .cols = 6},
                                     {.rows = 8, .cols = 3, .row_step = 2, .col_step = 3, .region = box{4, 6, 30, 33}},
                                     {.rows = 41, .cols = 3}};  // larger than the region: no window
                    for (std::int64_t b = 0; b < bin_count; ++b)
                        request.target.push_back(static_cast<double>(b * 5 % 7));
                    request.distance = distance;
                    request.count = count;

                    const any_tensor_view device = upload(tensor);
                    cuda::frame_queries queries;
                    queries.prepare(request, region, bin_count, *stream_);
                    ASSERT_TRUE(queries.any());
                    queries.enqueue(device, layout, *stream_);
                    stream_->synchronize();
                    frame_answer answer;
                    queries.collect(request, region, answer);
                    queries.count_matches(device, layout, region, answer, *stream_);

                    std::vector<std::uint32_t> expected;
                    const auto count_in = [&](const box& b) {
                        const auto one = test::counted(v.frame(0), bins, b);
                        expected.insert(expected.end(), one.begin(), one.end());
                    };
                    for (const box& b : request.boxes) count_in(b);
                    EXPECT_EQ(answer.histograms, expected);
                    std::vector<window_grid> grids = request.grids;  // in pixels of the region
                    grids[1].region = box{2, 3, 30, 33};
                    auto matches = best_windows(tensor.view(), grids, request.target, distance, count, tensor.layout());
                    for (histogram_match& m : matches) m.where.row += region.row, m.where.col += region.col;
                    EXPECT_EQ(answer.matches, matches) << bin_count << " bins, " << name_of(distance);
                    expected.clear();
                    for (const histogram_match& m : matches) count_in(m.where);
                    EXPECT_EQ(answer.match_histograms, expected);
                    memory_.clear();
                }
}

TEST_F(tensor_queries, narrow_entries_and_empty_targets) {
    const video v(30, 40, 1);
    const binning bins = binning::uniform(9, 0, 256);
    const auto tensor = integral_histogram<std::uint16_t>(v.frame(0), bins);
    frame_request request;
    request.boxes = {{29, 39, 1, 1}, {0, 0, 30, 40}};
    request.grids = {{.rows = 3, .cols = 3}};
    request.target.assign(9, 0.0);
    const box region{0, 0, 30, 40};
    const any_tensor_view device = upload(tensor);
    cuda::frame_queries queries;
    queries.prepare(request, region, 9, *stream_);
    queries.enqueue(device, table_layout::inclusive, *stream_);
    stream_->synchronize();
    frame_answer answer;
    queries.collect(request, region, answer);
    EXPECT_EQ(answer.matches,
              best_windows(tensor.view(), request.grids, request.target, request.distance, 1, tensor.layout()));
    std::vector<std::uint32_t> expected = test::counted(v.frame(0), bins, request.boxes[0]);
    const auto all = test::counted(v.frame(0), bins, request.boxes[1]);
    expected.insert(expected.end(), all.begin(), all.end());
    EXPECT_EQ(answer.histograms, expected);
}

/// Weights of any sign and one that is not a number, whose distances come last.
TEST_F(tensor_queries, of_sums_equal_those_of_the_host_bit_for_bit) {
    const video v(45, 61, 1);
    std::vector<float> weights(v.pixels.size());
    std::mt19937 engine(5);
    std::uniform_real_distribution<float> any(-0.1F, 1);
    for (float& w : weights) w = any(engine);
    const image_view<const float> of_pixels(weights.data(), v.rows, v.cols);
    const binning bins = binning::uniform(7, 20, 230);
    for (const bool nan : {false, true})
        for (const std::int64_t count : {1, 5}) {
            if (nan) weights[20 * 61 + 11] = std::numeric_limits<float>::quiet_NaN();
            histogram_tensor<float> tensor(7, v.rows, v.cols);
            integral_histogram(v.frame(0), of_pixels, bins, any_tensor_view(tensor.view()));
            frame_request request;
            request.boxes = {{0, 0, 45, 61}, {2, 3, 1, 1}, {10, 20, 7, 9}};
            request.grids = {{.rows = 5, .cols = 6}, {.rows = 8, .cols = 3, .row_step = 2, .col_step = 3}};
            request.target = {1, 2, 0, 3, 4, 1, 2};
            request.count = count;
            const box all{0, 0, v.rows, v.cols};
            const any_tensor_view device = upload(tensor);
            cuda::frame_queries queries;
            queries.prepare(request, all, 7, *stream_);
            queries.enqueue(device, table_layout::inclusive, *stream_);
            stream_->synchronize();
            frame_answer answer;
            queries.collect(request, all, answer);
            queries.count_matches(device, table_layout::inclusive, all, answer, *stream_);

            const auto matches =
                best_windows(tensor.view(), request.grids, request.target, request.distance, count, tensor.layout());
            EXPECT_EQ(answer.matches, matches);
            const auto equal = [&](const std::vector<float>& found, const std::vector<box>& boxes) {
                std::vector<float> expected(boxes.size() * 7);
                box_histograms<float>(tensor.view(), boxes, std::span<float>(expected), table_layout::inclusive);
                // Bit for bit; which of its many forms "not a number" takes differs between processors.
                return std::equal(found.begin(), found.end(), expected.begin(), expected.end(), [](float a, float b) {
                    return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
                });
            };
            EXPECT_TRUE(equal(answer.sums, request.boxes));
            std::vector<box> places;
            for (const histogram_match& m : answer.matches) places.push_back(m.where);
            EXPECT_TRUE(equal(answer.match_sums, places));
            EXPECT_TRUE(answer.histograms.empty() && answer.match_histograms.empty());
            EXPECT_TRUE(
                equal(cuda::box_sums(device, request.boxes, table_layout::inclusive, 0, *stream_), request.boxes));
            EXPECT_THROW(cuda::box_histograms(device, request.boxes, table_layout::inclusive, 0, *stream_),
                         unsupported);
            memory_.clear();
        }
}

TEST_F(tensor_queries, of_the_public_interface) {
    const video v(30, 40, 3);
    const binning bins = binning::uniform(6, 0, 256);
    const auto tensor = integral_histogram<std::uint32_t>(v.all(), bins, {.layout = table_layout::padded});
    const any_tensor_view device = upload(tensor);
    const std::vector<box> boxes{{0, 0, 30, 40}, {5, 6, 7, 8}};
    const std::vector<window_grid> grids{{.rows = 5, .cols = 6, .col_step = 2}, {.rows = 7, .cols = 4}};
    const std::vector<double> target{1, 0, 5, 2, 2, 3};
    const auto distance = histogram_distance::chi_square;
    for (std::int64_t plane = 0; plane < 3; ++plane) {
        std::vector<std::uint32_t> expected(boxes.size() * 6);
        box_histograms<std::uint32_t>(tensor.view(), boxes, expected, table_layout::padded, plane);
        EXPECT_EQ(cuda::box_histograms(device, boxes, table_layout::padded, plane, *stream_), expected);
        for (const std::int64_t count : {1, 4})
            EXPECT_EQ(cuda::best_windows(device, grids, target, distance, count, table_layout::padded, plane, *stream_),
                      best_windows(tensor.view(), grids, target, distance, count, table_layout::padded, plane));
    }
    EXPECT_TRUE(cuda::box_histograms(device, {}, table_layout::padded, 0, *stream_).empty());
    const auto refused = [&](auto&& call, const std::string& part) {
        try {
            call();
            ADD_FAILURE() << "nothing was thrown";
        } catch (const error& e) {
            EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
        }
    };
    const auto padded = table_layout::padded;
    refused([&] { cuda::box_histograms(device, boxes, padded, 3, *stream_); }, "plane: is 3");
    refused([&] { cuda::box_histograms(device, std::vector<box>{{0, 0, 31, 1}}, padded, 0, *stream_); }, "boxes[0]");
    refused([&] { cuda::box_histograms(device, boxes, table_layout::exclusive, 0, *stream_); }, "exclusive");
    refused([&] { cuda::box_histograms(tensor.view(), boxes, padded, 0, *stream_); }, "tensor");  // on the host
    refused([&] { cuda::best_windows(device, {}, target, distance, 1, padded, 0, *stream_); }, "grids");
    refused([&] { cuda::best_windows(device, grids, {}, distance, 1, padded, 0, *stream_); }, "target");
    refused([&] { cuda::best_windows(device, grids, target, distance, 0, padded, 0, *stream_); }, "count");
    any_tensor_view sums = device;
    sums.shape.type = dtype::f32;
    refused([&] { cuda::box_histograms(sums, boxes, padded, 0, *stream_); }, "32f");
    refused([&] { cuda::box_histograms_async(device, boxes.data(), 2, nullptr, padded, 0, *stream_); }, "boxes");
}

/// More windows than one stretch, so that stretches compete; equal distances go to the first.
TEST_F(tensor_queries, the_nearest_of_many_stretches) {
    const std::int64_t windows = 5 * cuda::nearest_stretch + 77;
    for (const std::int64_t best : {std::int64_t{0}, cuda::nearest_stretch - 1, cuda::nearest_stretch, windows - 3}) {
        std::vector<double> distances(static_cast<std::size_t>(windows), 0.5);
        distances[static_cast<std::size_t>(best)] = 0.25;
        distances[static_cast<std::size_t>(windows - 1)] = 0.25;  // a later equal
        const std::size_t stretches = 6;
        const cuda::device_buffer in(distances.size() * sizeof(double), *stream_);
        const cuda::device_buffer out(stretches * sizeof(cuda::nearest_window), *stream_);
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(in.data(), distances.data(), in.size(), cudaMemcpyDefault, stream_->get()));
        cuda::enqueue_nearest(static_cast<const double*>(in.data()), windows,
                              static_cast<cuda::nearest_window*>(out.data()), *stream_);
        std::vector<cuda::nearest_window> found(stretches);
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(found.data(), out.data(), out.size(), cudaMemcpyDefault, stream_->get()));
        stream_->synchronize();
        for (std::size_t i = 0; i < stretches; ++i) {
            const auto first = static_cast<std::int64_t>(i) * cuda::nearest_stretch;
            const auto end = std::min(first + cuda::nearest_stretch, windows);
            const auto nearest = std::min_element(distances.begin() + first, distances.begin() + end);
            EXPECT_EQ(found[i].distance, *nearest);
            EXPECT_EQ(found[i].window, nearest - distances.begin());
        }
    }
}

}  // namespace
}  // namespace boxsum
