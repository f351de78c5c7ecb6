// The queries of a frame, which a slot of a pipeline keeps, against those of the CPU. Runs on a GPU, and on the
// emulated device.

#include "cuda/pipeline/frame_queries.hpp"

#include "cuda/pipeline/tensor_copy.hpp"
#include "support/frames.hpp"
#include "support/gpu.hpp"
#include "support/weighted_frames.hpp"

#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/memory.hpp>

#include <memory>
#include <vector>

namespace boxsum {
namespace {

using test::video;

class frame_queries : public test::gpu_test {
  protected:
    /// What is found in histograms that the CPU computed, on the device; the request has a region.
    template <typename Entry>
    static frame_answer answer_of(cuda::frame_queries& queries, const histogram_table<Entry>& host,
                                  const frame_request& request, cuda::stream_ref stream) {
        const histogram_view<const Entry> h = host.view();
        const cuda::histogram_table<Entry> device(h.bins(), h.image_rows(), h.image_cols(), stream, h.form());
        cuda::copy_tensor_async(h.entries(), device.view().entries(), stream);
        queries.prepare(std::make_shared<const frame_request>(request), *request.region, device.shape(), stream);
        EXPECT_TRUE(queries.any());
        queries.enqueue_kernels(device, stream);
        queries.enqueue_download(stream);
        stream.synchronize();
        frame_answer answer;
        queries.collect(*request.region, answer);
        return answer;
    }
};

TEST_F(frame_queries, equal_those_of_the_host_bit_for_bit) {
    const cuda::stream stream;
    const video v(45, 61, 1);
    cuda::frame_queries queries;  // one for all: memory is used again, and grows
    for (const std::int64_t bin_count : {1, 7, 33})
        for (const table_layout layout : {table_layout::inclusive, table_layout::padded})
            for (const histogram_distance distance :
                 {histogram_distance::l1, histogram_distance::l2, histogram_distance::chi_square,
                  histogram_distance::intersection, histogram_distance::bhattacharyya})
                for (const std::int64_t count : {1, 5, 700}) {
                    const binning bins = binning::uniform(bin_count, 20, 230);
                    const box region{2, 3, 40, 50};
                    const image_view<const std::uint8_t> part(v.frame(0).row(region.row) + region.col, region.rows,
                                                              region.cols, v.cols);
                    const auto host = integral_histogram<std::uint32_t>(part, bins, layout);
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
                    request.match_histograms = true;
                    const frame_answer answer = answer_of(queries, host, request, stream);

                    std::vector<std::uint32_t> expected;
                    const auto count_in = [&](const box& b) {
                        const auto one = test::counted(v.frame(0), bins, b);
                        expected.insert(expected.end(), one.begin(), one.end());
                    };
                    for (const box& b : request.boxes) count_in(b);
                    EXPECT_EQ(answer.histograms, (histogram_list{expected, {}}));
                    std::vector<window_grid> grids = request.grids;  // in pixels of the region
                    grids[1].region = box{2, 3, 30, 33};
                    auto matches = best_windows(host, grids, request.target, distance, count);
                    for (histogram_match& m : matches) m.where.row += region.row, m.where.col += region.col;
                    EXPECT_EQ(answer.matches, matches) << bin_count << " bins, " << name_of(distance);
                    expected.clear();
                    for (const histogram_match& m : matches) count_in(m.where);
                    EXPECT_EQ(answer.match_histograms, (histogram_list{expected, {}}));
                }
}

TEST_F(frame_queries, narrow_entries_and_empty_targets) {
    const cuda::stream stream;
    const video v(30, 40, 1);
    const binning bins = binning::uniform(9, 0, 256);
    const auto host = integral_histogram<std::uint16_t>(v.frame(0), bins);
    frame_request request;
    request.region = box{0, 0, 30, 40};
    request.boxes = {{29, 39, 1, 1}, {0, 0, 30, 40}};
    request.grids = {{.rows = 3, .cols = 3}};
    request.target.assign(9, 0.0);
    cuda::frame_queries queries;
    const frame_answer answer = answer_of(queries, host, request, stream);
    EXPECT_EQ(answer.matches, best_windows(host, request.grids, request.target, request.distance, 1));
    std::vector<std::uint32_t> expected = test::counted(v.frame(0), bins, request.boxes[0]);
    const auto all = test::counted(v.frame(0), bins, request.boxes[1]);
    expected.insert(expected.end(), all.begin(), all.end());
    EXPECT_EQ(answer.histograms, (histogram_list{expected, {}}));
    EXPECT_TRUE(answer.match_histograms.empty());
}

TEST_F(frame_queries, of_sums_of_weights) {
    const cuda::stream stream;
    const test::weighted_video v(45, 61, 1);
    const binning bins = binning::uniform(7, 20, 230);
    const auto host = integral_histogram<float>(v.inputs(0), bins);
    cuda::frame_queries queries;
    for (const std::int64_t count : {1, 5}) {
        frame_request request;
        request.region = box{0, 0, v.rows, v.cols};
        request.boxes = {{0, 0, 45, 61}, {2, 3, 1, 1}, {10, 20, 7, 9}};
        request.grids = {{.rows = 5, .cols = 6}, {.rows = 8, .cols = 3, .row_step = 2, .col_step = 3}};
        request.target = {1, 2, 0, 3, 4, 1, 2};
        request.count = count;
        request.match_histograms = true;
        const frame_answer answer = answer_of(queries, host, request, stream);
        EXPECT_EQ(answer.matches, best_windows(host, request.grids, request.target, request.distance, count));
        std::vector<float> expected;
        const auto sum_in = [&](const box& b) {
            const auto one = test::summed(v, 0, bins, b);
            expected.insert(expected.end(), one.begin(), one.end());
        };
        for (const box& b : request.boxes) sum_in(b);
        EXPECT_EQ(answer.histograms, (histogram_list{{}, expected}));
        expected.clear();
        for (const histogram_match& m : answer.matches) sum_in(m.where);
        EXPECT_EQ(answer.match_histograms, (histogram_list{{}, expected}));
    }
}

/// What is on the device is not sent again for the same request, and is for another one.
TEST_F(frame_queries, that_come_again_stay_on_the_device) {
    const cuda::stream stream;
    const video v(30, 40, 1);
    const binning bins = binning::uniform(4, 0, 256);
    const auto host = integral_histogram<std::uint32_t>(v.frame(0), bins);
    const cuda::histogram_table<std::uint32_t> device(4, 30, 40, stream);
    cuda::copy_tensor_async(host.view().entries(), device.view().entries(), stream);
    const box region{0, 0, 30, 40};
    cuda::frame_queries queries;
    for (const box& b : {box{1, 2, 3, 4}, box{5, 6, 7, 8}}) {
        frame_request request;
        request.boxes = {b};
        const auto shared = std::make_shared<const frame_request>(request);
        for (int round = 0; round < 2; ++round) {
            queries.prepare(shared, region, device.shape(), stream);
            queries.enqueue_kernels(device, stream);
            queries.enqueue_download(stream);
            stream.synchronize();
            frame_answer answer;
            queries.collect(region, answer);
            EXPECT_EQ(answer.histograms, (histogram_list{test::counted(v.frame(0), bins, b), {}}));
        }
    }
}

}  // namespace
}  // namespace boxsum
