// The workers of src/pipeline on a device, by the tests' means for those of the CPU.

#include "cuda/device/histogram_types.hpp"
#include "pipeline/bin_run.hpp"
#include "pipeline/frame_pipeline.hpp"
#include "support/bin_workers.hpp"
#include "support/frames.hpp"
#include "support/gpu.hpp"
#include "support/weighted_frames.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/histogram_pipeline.hpp>
#include <boxsum/histogram_tasks.hpp>

#include <cstring>

namespace boxsum {
namespace {

using test::failing_worker;
using test::first_difference;
using test::video;

class pipeline_workers : public test::gpu_test {
  protected:
    int device() const { return cuda::current_device(); }
};

TEST_F(pipeline_workers, frames_with_any_number_of_buffers) {
    const video v(45, 61, 9);
    const binning bins = binning::uniform(13, 0, 256);
    const frame_request request = test::whole_request(v, bins);
    for (const table_layout layout : {table_layout::inclusive, table_layout::padded})
        for (int buffers = 1; buffers <= 8; ++buffers) {
            pipeline_options options;
            options.buffers = buffers;
            options.device = device();
            options.form = layout;
            histogram_pipeline pipeline(v.format(), bins, {request}, frames_of({v.all()}), options);
            std::int64_t n = 0;
            for (const frame_result* r = pipeline.next(); r != nullptr; r = pipeline.next(), ++n) {
                ASSERT_EQ(r->frame, n);
                const auto wrong = first_difference<std::uint32_t>(*r, v, bins, request, layout);
                ASSERT_FALSE(wrong) << *wrong << ", " << buffers << " buffers";
            }
            EXPECT_EQ(n, v.frames);
            for (const pipeline_stage s : {pipeline_stage::upload, pipeline_stage::compute, pipeline_stage::download})
                EXPECT_GE(pipeline.report().busy[static_cast<std::size_t>(s)], 0);
        }
}

TEST_F(pipeline_workers, frames_whose_tensor_travels_as_one_run) {
    const video v(20, 64, 5);  // rows of 256 bytes, without a gap
    const binning bins = binning::uniform(5, 0, 256);
    frame_request request;
    request.tensor = true;
    pipeline_options options;
    options.buffers = 3;
    options.device = device();
    histogram_pipeline pipeline(v.format(), bins, {request}, frames_of({v.all()}), options);
    std::int64_t n = 0;
    for (const frame_result* r = pipeline.next(); r != nullptr; r = pipeline.next(), ++n) {
        const auto wrong = first_difference<std::uint32_t>(*r, v, bins, request, table_layout::inclusive);
        ASSERT_FALSE(wrong) << *wrong;
    }
    EXPECT_EQ(n, 5);
}

TEST_F(pipeline_workers, planned_frames_of_changing_regions) {
    using narrow = std::conditional_t<contains(cuda_histogram_counts{}, dtype::u16), std::uint16_t, std::uint32_t>;
    const video v(40, 50, 8);
    const binning bins = binning::uniform(8, 0, 256);
    const auto plan = [&](std::int64_t frame, const frame_answer* previous) {
        frame_request r;
        r.region = box{frame, 2 * frame, 20 + frame, 25};
        r.tensor = frame % 2 == 0;
        r.boxes = {{frame + 1, 2 * frame + 3, 4, 5}};
        if (previous != nullptr) {
            EXPECT_EQ(previous->frame, frame - 1);
            r.grids = {{.rows = 4, .cols = 5}};
            r.target.assign(previous->histograms.counts.begin(), previous->histograms.counts.end());
            r.match_histograms = true;
            r.count = 1 + frame % 3;
        }
        return r;
    };
    for (const int buffers : {1, 3}) {
        pipeline_options options;
        options.buffers = buffers;
        options.device = device();
        options.entries = dtype_of<narrow>;
        histogram_pipeline pipeline(v.format(), bins, {.planner = plan}, frames_of({v.all()}), options);
        std::optional<frame_answer> previous;
        std::int64_t n = 0;
        for (const frame_result* r = pipeline.next(); r != nullptr; r = pipeline.next(), ++n) {
            const frame_request request = plan(n, previous ? &*previous : nullptr);
            const auto wrong = first_difference<narrow>(*r, v, bins, request, table_layout::inclusive);
            ASSERT_FALSE(wrong) << *wrong;
            previous = *r;
        }
        EXPECT_EQ(n, v.frames);
    }
}

TEST_F(pipeline_workers, frames_end_in_the_middle_and_with_errors) {
    const video v(20, 30, 4);
    const binning bins = binning::uniform(4, 0, 256);
    const frame_request request = test::whole_request(v, bins);
    pipeline_options options;
    options.device = device();
    options.buffers = 4;
    {
        const auto endless = [](const frame_memory&) { return true; };
        histogram_pipeline pipeline(v.format(), bins, {request}, endless, options);
        ASSERT_NE(pipeline.next(), nullptr);
    }
    auto breaks = [frames = frames_of({v.all()}), n = 0](const frame_memory& frame) mutable {
        if (n++ == 2) throw std::runtime_error("broken");
        return frames(frame);
    };
    histogram_pipeline pipeline(v.format(), bins, {request}, breaks, options);
    ASSERT_NE(pipeline.next(), nullptr);
    ASSERT_NE(pipeline.next(), nullptr);
    EXPECT_THROW(pipeline.next(), pipeline_error);
    options.histogram.algorithm = "nonesuch";
    EXPECT_THROW(histogram_pipeline(v.format(), bins, {request}, frames_of({v.all()}), options), unsupported);
}

TEST_F(pipeline_workers, frames_with_weights) {
    const test::weighted_video v(45, 61, 9);
    const binning bins = binning::uniform(13, 0, 256);
    for (const table_layout layout : {table_layout::inclusive, table_layout::padded})
        for (const bool planned : {false, true})
            for (const int buffers : {1, 2, 5})
                for (const std::int64_t count : {1, 3}) {
                    pipeline_options options;
                    options.buffers = buffers;
                    options.device = device();
                    options.form = layout;
                    frame_request request = test::whole_request(v, bins);
                    request.count = count;
                    const auto wrong = test::first_difference_of_pipeline(v, bins, request, options, planned);
                    ASSERT_FALSE(wrong) << *wrong << ", " << buffers << " buffers";
                }
}

/// The tensor of one call on the host, and one to be filled; rows that are packed, and rows with gaps.
struct tasks_case {
    explicit tasks_case(std::int64_t row_gap)
        : row((v.cols + row_gap) * 4), entries(static_cast<std::size_t>(count * v.rows * row / 4), 0x5a5a5a5a) {}

    any_histogram_view view() { return histogram_view<std::uint32_t>({entries.data(), count, v.rows, v.cols, row}); }
    /// With or without memory for the result.
    detail::bin_job job(bool keep) {
        any_histogram_view tensor = view();
        if (keep) tensor.entries.data = nullptr;
        return {{v.frame(0)}, &bins, {}, tensor};
    }

    /// Everything between rows is still poison.
    bool right() const {
        const auto expected = integral_histogram<std::uint32_t>(v.frame(0), bins);
        for (std::int64_t b = 0; b < count; ++b)
            for (std::int64_t r = 0; r < v.rows; ++r)
                for (std::int64_t c = 0; c < row / 4; ++c) {
                    const std::uint32_t entry = entries[static_cast<std::size_t>((b * v.rows + r) * row / 4 + c)];
                    if (entry != (c < v.cols ? expected.view().entries()(b, r, c) : 0x5a5a5a5a)) return false;
                }
        return true;
    }

    static constexpr std::int64_t count = 16;
    video v{33, 64, 1};
    binning bins = binning::uniform(count, 0, 256);
    std::int64_t row;
    std::vector<std::uint32_t> entries;
};

TEST_F(pipeline_workers, tasks_into_host_memory_and_kept) {
    for (const std::int64_t gap : {0, 5}) {
        tasks_case t(gap);
        histogram_tasks tasks({.devices = {device()}});
        const histogram_tasks_report report = tasks.run({t.v.frame(0)}, t.bins, {t.view()});
        EXPECT_TRUE(t.right());
        EXPECT_EQ(report.tasks, 4);
        EXPECT_GE(report.pinned_bytes, static_cast<std::size_t>(16 * 33 * t.row - 4 * gap));
        EXPECT_GT(report.pinning_seconds, 0);
        ASSERT_EQ(report.workers.size(), 1u);
        EXPECT_EQ(report.workers[0].tasks, 4);

        const kept_histogram kept = tasks.keep({t.v.frame(0)}, t.bins);
        const std::vector<box> boxes{{0, 0, 33, 64}, {3, 4, 5, 6}, {32, 63, 1, 1}};
        std::vector<std::uint32_t> expected;
        for (const box& b : boxes) {
            const auto one = test::counted(t.v.frame(0), t.bins, b);
            expected.insert(expected.end(), one.begin(), one.end());
        }
        EXPECT_EQ(kept.box_histograms(boxes), (histogram_list{expected, {}}));
        for (const auto& g : kept.groups()) EXPECT_EQ(g.device, device());
        EXPECT_THROW(kept.box_histograms(std::vector<box>{{0, 0, 34, 1}}), invalid_argument);
    }
}

TEST_F(pipeline_workers, tasks_with_weights) {
    const test::weighted_video v(33, 64, 1);
    const binning bins = binning::uniform(16, 0, 256);
    histogram_tasks tasks({.devices = {device()}});
    const auto wrong = test::first_difference_of_tasks(v, bins, tasks);
    EXPECT_FALSE(wrong) << *wrong;
}

TEST_F(pipeline_workers, a_failing_device_gives_its_tasks_back) {
    for (const auto where : {failing_worker::at::begin, failing_worker::at::start, failing_worker::at::finish})
        for (const bool keep : {false, true}) {
            tasks_case t(0);
            auto bad = std::make_unique<failing_worker>(detail::make_cuda_bin_worker(device()), where, 2);
            auto good = std::make_unique<test::waiting_worker>(detail::make_cuda_bin_worker(device()), bad->failure());
            std::vector<std::unique_ptr<detail::bin_worker>> team;
            team.push_back(std::move(bad));
            team.push_back(std::move(good));
            const auto done = detail::run_bins(t.job(keep), 1, team);
            const int lost = keep || where == failing_worker::at::begin ? 0
                             : where == failing_worker::at::start       ? 1
                                                                        : 2;
            // It starts two before it finishes one.
            EXPECT_EQ(done.report.workers[0].tasks, lost);
            EXPECT_EQ(done.report.workers[1].tasks, t.count - lost);
            EXPECT_NE(done.report.workers[0].failure, "");
            EXPECT_TRUE(keep || t.right());
            if (!keep) continue;
            std::int64_t bins = 0;  // some tasks are done with one before
            for (const auto& part : done.kept) bins += part == nullptr ? 0 : part->tensor().entries.shape.bins;
            EXPECT_EQ(bins, t.count);
        }
}

TEST_F(pipeline_workers, a_slow_device_does_fewer_tasks) {
    tasks_case t(0);
    test::virtual_time time(3, t.count);
    std::vector<std::unique_ptr<detail::bin_worker>> team;
    team.push_back(std::make_unique<test::paced_worker>(detail::make_cuda_bin_worker(device()), time,
                                                        &test::virtual_time::fast_task));
    team.push_back(std::make_unique<test::paced_worker>(detail::make_cuda_bin_worker(device()), time,
                                                        &test::virtual_time::slow_task));
    const auto done = detail::run_bins(t.job(false), 1, team);
    EXPECT_TRUE(t.right());
    EXPECT_NEAR(static_cast<double>(done.report.workers[0].tasks), 12, 2);
    EXPECT_NEAR(static_cast<double>(done.report.workers[1].tasks), 4, 2);
}

}  // namespace
}  // namespace boxsum
