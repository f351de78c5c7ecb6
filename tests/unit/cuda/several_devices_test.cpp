// What goes wrong only where there are two devices: memory, streams and plans of one while the other is current, a host
// thread for each, tasks and kept results of both. Skipped where there is one device; BOXSUM_REQUIRE_GPU=2 fails there.
// Runs on GPUs, and on two emulated devices.

#include "pipeline/bin_run.hpp"
#include "support/bin_workers.hpp"
#include "support/frames.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/histogram_pipeline.hpp>
#include <boxsum/histogram_tasks.hpp>

#include <cuda_runtime_api.h>

#include <latch>
#include <thread>

namespace boxsum {
namespace {

using test::failing_worker;
using test::video;

using workers = std::vector<std::unique_ptr<detail::bin_worker>>;

class several_devices : public test::two_gpus_test {
  protected:
    void SetUp() override {
        test::two_gpus_test::SetUp();
        if (!IsSkipped() && !HasFatalFailure()) cuda::set_device(0);
    }

    void TearDown() override {
        if (IsSkipped()) return;
        EXPECT_EQ(cuda::current_device(), 0) << "a call left another device current";
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    }
};

TEST_F(several_devices, memory_goes_back_to_the_one_it_is_of) {
    for (int round = 0; round < 50; ++round) {
        cuda::set_device(1);
        std::optional<cuda::stream> stream(std::in_place);
        std::optional<cuda::device_buffer> own(std::in_place, std::size_t{1} << 20, *stream);
        std::optional<cuda::device_buffer> of_default(std::in_place, std::size_t{1} << 20,
                                                      cuda::stream_ref::legacy_default());
        cuda::set_device(0);
        const cuda::device_buffer here(std::size_t{1} << 20, cuda::stream_ref::legacy_default());
        cudaPointerAttributes attributes{};
        ASSERT_EQ(cudaPointerGetAttributes(&attributes, of_default->data()), cudaSuccess);
        EXPECT_EQ(attributes.device, 1);
        ASSERT_EQ(cudaPointerGetAttributes(&attributes, here.data()), cudaSuccess);
        EXPECT_EQ(attributes.device, 0);
        of_default.reset();
        own.reset();
        stream.reset();
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        ASSERT_EQ(cuda::current_device(), 0);
    }
}

/// An image, a tensor to be filled, and what must be in it.
struct tasks_case {
    video v{33, 64, 1};
    std::int64_t count = 32;
    binning bins = binning::uniform(count, 0, 256);
    histogram_table<std::uint32_t> expected = integral_histogram<std::uint32_t>(v.frame(0), bins);
    std::vector<std::uint32_t> entries = std::vector<std::uint32_t>(static_cast<std::size_t>(count * 33 * 64), 0x5a5a);

    any_histogram_view view() { return histogram_view<std::uint32_t>({entries.data(), count, v.rows, v.cols}); }
    /// With or without memory.
    detail::bin_job job(bool keep) {
        any_histogram_view tensor = view();
        if (keep) tensor.entries.data = nullptr;
        return {{v.frame(0)}, &bins, {}, tensor};
    }

    bool right() const {
        const tensor_view<const std::uint32_t> found(entries.data(), count, v.rows, v.cols);
        const tensor_view<const std::uint32_t> wanted = expected.view().entries();
        for (std::int64_t b = 0; b < count; ++b)
            for (std::int64_t r = 0; r < v.rows; ++r)
                for (std::int64_t c = 0; c < v.cols; ++c)
                    if (found(b, r, c) != wanted(b, r, c)) return false;
        return true;
    }

    std::vector<box> boxes{{0, 0, 33, 64}, {3, 4, 5, 6}, {32, 63, 1, 1}};
    std::vector<std::uint32_t> counts() const {
        std::vector<std::uint32_t> all;
        for (const box& b : boxes) {
            const auto one = test::counted(v.frame(0), bins, b);
            all.insert(all.end(), one.begin(), one.end());
        }
        return all;
    }
};

/// Starts its first task when all have one: small tasks would be done by whoever comes first.
class meeting_worker : public test::wrapped_worker {
  public:
    meeting_worker(std::unique_ptr<detail::bin_worker> inner, std::latch& all)
        : wrapped_worker(std::move(inner)), all_(all) {}

    void begin(const detail::bin_job& job) override {
        try {
            wrapped_worker::begin(job);
        } catch (...) {
            all_.count_down();  // nobody waits for it
            throw;
        }
    }
    void start(const detail::bin_task& task) override {
        if (!std::exchange(met_, true)) all_.arrive_and_wait();
        wrapped_worker::start(task);
    }

  private:
    std::latch& all_;
    bool met_ = false;
};

TEST_F(several_devices, share_the_tasks_of_one_image) {
    for (const bool keep : {false, true}) {
        tasks_case t;
        std::latch both(2);
        workers team;
        for (int device : {0, 1})
            team.push_back(std::make_unique<meeting_worker>(detail::make_cuda_bin_worker(device), both));
        const detail::bin_job job = t.job(keep);
        detail::bin_run_result done = detail::run_bins(job, 2, team);
        EXPECT_TRUE(keep || t.right());
        for (const task_worker_report& w : done.report.workers) {
            EXPECT_GE(w.tasks, 1) << w.name;
            EXPECT_GT(w.upload_seconds, 0) << w.name;
            EXPECT_EQ(w.failure, "");
        }
        EXPECT_EQ(done.report.workers[0].tasks + done.report.workers[1].tasks, 16);
        std::vector<int> on(2);
        std::vector<std::uint32_t> found(t.boxes.size() * static_cast<std::size_t>(t.count));
        for (std::size_t g = 0; g < done.kept.size(); ++g) {
            if (done.kept[g] == nullptr) continue;  // done with one before
            ++on[static_cast<std::size_t>(*done.kept[g]->device())];
            const auto part = done.kept[g]->box_histograms(t.boxes, 0).counts;
            const auto bins = static_cast<std::ptrdiff_t>(done.kept[g]->tensor().entries.shape.bins);
            for (std::ptrdiff_t i = 0; i < std::ssize(t.boxes); ++i)
                std::copy_n(part.begin() + bins * i, bins, found.begin() + i * 32 + 2 * static_cast<std::ptrdiff_t>(g));
        }
        if (keep) {
            EXPECT_EQ(found, t.counts());
            EXPECT_GE(on[0], 1);
            EXPECT_GE(on[1], 1);
        }
        // Elsewhere than the worker's thread, whichever device is current there.
        std::thread([kept = std::move(done.kept)]() mutable { kept.clear(); }).join();
    }
}

TEST_F(several_devices, all_are_used_unless_others_are_named) {
    tasks_case t;
    histogram_tasks all;
    EXPECT_EQ(all.workers().size(), static_cast<std::size_t>(cuda::device_count()));
    for (int round = 0; round < 5; ++round) {
        std::fill(t.entries.begin(), t.entries.end(), 0x5a5a);
        EXPECT_GE(all.run({t.v.frame(0)}, t.bins, {t.view()}).tasks, 4 * cuda::device_count());
        ASSERT_TRUE(t.right());
        EXPECT_EQ(all.keep({t.v.frame(0)}, t.bins).box_histograms(t.boxes).counts, t.counts());
    }
    histogram_tasks second({.devices = {1}});
    const kept_histogram kept = second.keep({t.v.frame(0)}, t.bins);
    for (const auto& group : kept.groups()) EXPECT_EQ(group.device, 1);
    EXPECT_EQ(kept.box_histograms(t.boxes).counts, t.counts());
}

TEST_F(several_devices, one_that_fails_gives_its_tasks_to_the_other) {
    for (const int bad : {0, 1})
        for (const auto where : {failing_worker::at::begin, failing_worker::at::start, failing_worker::at::finish})
            for (const bool keep : {false, true}) {
                tasks_case t;
                auto failing = std::make_unique<failing_worker>(detail::make_cuda_bin_worker(bad), where, 2);
                auto other =
                    std::make_unique<test::waiting_worker>(detail::make_cuda_bin_worker(1 - bad), failing->failure());
                workers team;
                team.push_back(std::move(failing));
                team.push_back(std::move(other));
                const detail::bin_job job = t.job(keep);
                const auto done = detail::run_bins(job, 1, team);
                EXPECT_TRUE(keep || t.right());
                EXPECT_NE(done.report.workers[0].failure, "");
                EXPECT_EQ(done.report.workers[1].failure, "");
                if (!keep) continue;
                EXPECT_EQ(done.report.workers[1].tasks, t.count);
                for (const auto& part : done.kept) EXPECT_TRUE(part == nullptr || part->device() == 1 - bad);
            }
}

TEST_F(several_devices, have_a_pipeline_each) {
    const binning bins = binning::uniform(13, 0, 256);
    std::vector<std::thread> threads;
    std::vector<std::string> wrong(2);
    for (const int device : {0, 1})
        threads.emplace_back([&, device] {  // cuda:0 is current here
            const video v(45, 61, 12, static_cast<unsigned>(device));
            const frame_request request = test::whole_request(v, bins);
            try {
                for (int round = 0; round < 3; ++round) {
                    pipeline_options options;
                    options.buffers = 2 + round;
                    options.device = device;
                    histogram_pipeline pipeline(v.format(), bins, {request}, frames_of({v.all()}), options);
                    std::int64_t n = 0;
                    for (const frame_result* r = pipeline.next(); r != nullptr; r = pipeline.next(), ++n)
                        if (const auto difference =
                                test::first_difference<std::uint32_t>(*r, v, bins, request, table_layout::inclusive))
                            wrong[static_cast<std::size_t>(device)] = *difference;
                    if (n != v.frames) wrong[static_cast<std::size_t>(device)] = "too few frames";
                }
                if (cuda::current_device() != 0) wrong[static_cast<std::size_t>(device)] = "another device is current";
            } catch (const std::exception& e) {
                wrong[static_cast<std::size_t>(device)] = e.what();
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

/// A look-up table lives in the plan, whose memory is on the default stream of its device.
TEST_F(several_devices, plans_with_tables_end_while_another_one_is_current) {
    std::vector<std::uint16_t> table(256);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint16_t>(i % 7);
    const binning bins = binning::lookup(7, table);
    const video v(50, 70, 1);
    const frame_request request = test::whole_request(v, bins);
    for (int round = 0; round < 10; ++round)
        for (const int device : {1, 0}) {
            pipeline_options options;
            options.device = device;
            histogram_pipeline pipeline(v.format(), bins, {request}, frames_of({v.all()}), options);
            const frame_result* const r = pipeline.next();
            ASSERT_NE(r, nullptr);
            const auto wrong = test::first_difference<std::uint32_t>(*r, v, bins, request, table_layout::inclusive);
            EXPECT_FALSE(wrong) << *wrong;
        }
}

}  // namespace
}  // namespace boxsum
