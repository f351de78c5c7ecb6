// What an image that two devices share takes of the links to the host, and what when copies between them fail.

#include "pipeline/bin_run.hpp"
#include "support/bin_workers.hpp"
#include "support/emulation/settings.hpp"
#include "support/weighted_frames.hpp"

#include <cuda_runtime_api.h>

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <functional>

namespace boxsum {
namespace {

struct when_begun {
    std::function<void()> then;
    void operator()() noexcept { then(); }
};
using all_begun = std::barrier<when_begun>;

/// Goes on when the others have begun, too.
class beginning_worker : public test::wrapped_worker {
  public:
    beginning_worker(int device, all_begun& all) : wrapped_worker(detail::make_cuda_bin_worker(device)), all_(all) {}

    void begin(const detail::bin_job& job) override {
        wrapped_worker::begin(job);
        all_.arrive_and_wait();
    }

  private:
    all_begun& all_;
};

/// A run into a tensor, of which something happens when all have begun.
std::uint64_t bytes_of_run(
    const test::weighted_video& v, bool weighted, std::span<const int> devices,
    const std::function<void()>& begun = [] {}) {
    const binning bins = binning::uniform(16, 0, 256);
    histogram_table<float> sums(16, v.rows, v.cols);
    histogram_table<std::uint32_t> counts(16, v.rows, v.cols);
    detail::bin_job job{{v.frame(0)}, &bins, {}, counts};
    if (weighted) job = {v.inputs(0), &bins, {}, sums};
    job.sharing.least_bytes = 0;
    all_begun all(static_cast<std::ptrdiff_t>(devices.size()), when_begun{begun});
    std::vector<std::unique_ptr<detail::bin_worker>> team;
    for (const int device : devices) team.push_back(std::make_unique<beginning_worker>(device, all));
    const std::uint64_t before = emulation::bytes_from_host();
    const auto done = detail::run_bins(job, 2, team);
    for (const task_worker_report& w : done.report.workers) EXPECT_EQ(w.failure, "") << w.name;
    const box whole{0, 0, v.rows, v.cols};
    if (weighted) {
        const auto wrong = test::wrong_sum(sums, v, 0, bins, whole, table_layout::inclusive);
        EXPECT_FALSE(wrong) << *wrong;
    } else {
        EXPECT_EQ(box_histogram(counts, whole), test::counted(v.frame(0), bins, whole));
    }
    return emulation::bytes_from_host() - before;
}

TEST(upload_bytes, of_two_devices_are_those_of_one) {
    for (const bool weighted : {false, true})
        for (const std::int64_t rows : {1, 40, 41}) {
            const test::weighted_video v(rows, 100, 1);
            // Beside the image each task has its table, wherever it is done.
            const std::uint64_t one = bytes_of_run(v, weighted, std::array{0});
            EXPECT_EQ(bytes_of_run(v, weighted, std::array{0, 1}), one) << rows << " rows";
            EXPECT_GE(one, v.pixels.size());
        }
}

TEST(upload_bytes, of_small_images_are_those_of_each_device) {
    const test::weighted_video v(40, 100, 1);
    const binning bins = binning::uniform(16, 0, 256);
    std::vector<std::uint64_t> bytes;
    for (const int devices : {1, 2}) {
        std::vector<std::unique_ptr<detail::bin_worker>> team;
        for (int device = 0; device < devices; ++device) team.push_back(detail::make_cuda_bin_worker(device));
        histogram_table<std::uint32_t> counts(16, v.rows, v.cols);
        detail::bin_job job{{v.frame(0)}, &bins, {}, counts};
        job.sharing.least_bytes = v.rows * v.cols + 1;
        const std::uint64_t before = emulation::bytes_from_host();
        (void)detail::run_bins(job, 2, team);
        bytes.push_back(emulation::bytes_from_host() - before);
    }
    EXPECT_EQ(bytes[1], bytes[0] + v.pixels.size());
}

/// The devices reached each other when the run began.
TEST(upload_bytes, are_all_where_copies_between_devices_are_refused) {
    const test::weighted_video v(40, 100, 1);
    for (const bool weighted : {false, true}) {
        const std::uint64_t one = bytes_of_run(v, weighted, std::array{0});
        const emulation::settings before = emulation::configure();
        const std::uint64_t two = bytes_of_run(v, weighted, std::array{0, 1},
                                               [] { emulation::configure().peers = emulation::peer_copies::refused; });
        emulation::configure() = before;
        EXPECT_GT(two, one + v.pixels.size() / 4);
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    }
}

}  // namespace
}  // namespace boxsum
