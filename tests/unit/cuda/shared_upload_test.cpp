// Where the image of a run on two devices comes from: the host's rows change while it runs, and the result says which
// were taken when. Skipped where there is one device, and where two do not reach each other's memory.
// Runs on GPUs, and on two emulated devices.

#include "cuda/pipeline/tensor_copy.hpp"
#include "cuda/runtime/peers.hpp"
#include "pipeline/bin_run.hpp"
#include "support/bin_workers.hpp"
#include "support/gpu.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <barrier>
#include <functional>
#include <latch>
#include <random>

namespace boxsum {
namespace {

using test::failing_worker;
using test::wrapped_worker;

using workers = std::vector<std::unique_ptr<detail::bin_worker>>;

class shared_upload : public test::two_gpus_test {
  protected:
    void SetUp() override {
        test::two_gpus_test::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        cuda::set_device(0);
        if (!cuda::reach_each_other(std::array{0, 1})) GTEST_SKIP() << "devices do not reach each other's memory";
    }

    void TearDown() override {
        if (IsSkipped()) return;
        EXPECT_EQ(cuda::current_device(), 0) << "a call left another device current";
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    }
};

struct extents {
    std::int64_t planes, rows, cols, gap;
};

/// Images that fit one row a device, fewer, and that have gaps, planes, and shares that end within a plane.
constexpr extents all_extents[] = {{1, 33, 64, 0}, {1, 1, 40, 0}, {1, 2, 300, 7}, {3, 5, 61, 3}, {5, 1, 9, 0}};

/// An image with weights, and a tensor to be filled.
class run_case {
  public:
    explicit run_case(const extents& e, bool weighted = false)
        : e_(e), weighted_(weighted), row_(e.cols + e.gap), pixels_(size()), weights_(size()) {
        std::mt19937 engine(7);
        for (std::uint8_t& p : pixels_) p = static_cast<std::uint8_t>(engine());
        for (float& w : weights_) w = 0.5F * static_cast<float>(engine() % 8);
        found_.assign(static_cast<std::size_t>(e.planes * count * e.rows * e.cols), 0x5a5a5a5a);
    }

    std::int64_t rows() const { return e_.planes * e_.rows; }

    /// Other pixels and weights in some of the rows, counted through all planes.
    void overwrite(std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first * row_); i < static_cast<std::size_t>(last * row_); ++i) {
            pixels_[i] = static_cast<std::uint8_t>(pixels_[i] + 100);
            weights_[i] += 2;
        }
    }

    detail::bin_run_result run(const workers& team, bool keep = false, std::int64_t bins_per_task = 2) {
        any_histogram_view tensor = view(found_);
        if (keep) tensor.entries.data = nullptr;
        detail::bin_job job{inputs(), &bins_, {}, tensor};
        job.sharing = {0, 200};  // however small, and in pieces
        return detail::run_bins(job, bins_per_task, team);
    }

    /// What one call makes of the image as it is, bit for bit.
    std::vector<std::uint32_t> expected() const {
        std::vector<std::uint32_t> entries(found_.size());
        integral_histogram(inputs(), bins_, {view(entries)});
        return entries;
    }

    const std::vector<std::uint32_t>& found() const { return found_; }

    /// What was kept, on whichever devices.
    std::vector<std::uint32_t> found(const detail::bin_run_result& kept) const {
        std::vector<std::uint32_t> entries(found_.size());
        any_tensor_view to = view(entries).entries;
        for (const auto& part : kept.kept) {
            if (part == nullptr) continue;  // done with one before
            cuda::set_device(*part->device());
            const cuda::stream stream;
            to.shape.bins = part->tensor().entries.shape.bins;
            cuda::copy_tensor_async(part->tensor().entries, to, stream);
            stream.synchronize();
            to.data = static_cast<std::byte*>(to.data) + to.shape.bins * to.shape.bin_stride;
        }
        cuda::set_device(0);
        return entries;
    }

  private:
    static constexpr std::int64_t count = 16;

    std::size_t size() const { return static_cast<std::size_t>(e_.planes * e_.rows * row_); }
    dtype entries() const { return weighted_ ? dtype::f32 : dtype::u32; }

    histogram_inputs inputs() const {
        histogram_inputs all{image_view<const std::uint8_t>(pixels_.data(), e_.rows, e_.cols, row_, 1, e_.planes)};
        if (weighted_) all.weights = image_view<const float>(weights_.data(), e_.rows, e_.cols, row_ * 4, 1, e_.planes);
        return all;
    }
    any_histogram_view view(std::vector<std::uint32_t>& all) const {
        any_histogram_view v = histogram_view<std::uint32_t>({all.data(), count, e_.rows, e_.cols, 0, 0, e_.planes});
        v.entries.shape.type = entries();
        return v;
    }

    extents e_;
    bool weighted_;
    std::int64_t row_;
    binning bins_ = binning::uniform(count, 0, 256);
    std::vector<std::uint8_t> pixels_;
    std::vector<float> weights_;
    std::vector<std::uint32_t> found_;
};

/// Does something when it has begun and its share is on the device, and before its first task.
class scripted_worker : public wrapped_worker {
  public:
    using step = std::function<void()>;
    scripted_worker(
        int device, step begun, step starts = [] {})
        : wrapped_worker(detail::make_cuda_bin_worker(device)), begun_(std::move(begun)), starts_(std::move(starts)) {}

    void begin(const detail::bin_job& job) override {
        wrapped_worker::begin(job);
        EXPECT_GE(upload_seconds(), 0);  // waits; a share may be empty
        begun_();
    }
    void start(const detail::bin_task& task) override {
        std::exchange(starts_, [] {})();
        wrapped_worker::start(task);
    }

  private:
    step begun_, starts_;
};

TEST_F(shared_upload, brings_half_of_the_rows_from_the_host_and_half_from_the_other_device) {
    for (const extents& e : all_extents)
        for (const bool weighted : {false, true})
            for (const bool keep : {false, true}) {
                run_case c(e, weighted);
                const auto expected = c.expected();
                // Nothing but what was uploaded before both had begun is in the result.
                std::barrier both_begun(2, [&]() noexcept { c.overwrite(0, c.rows()); });
                std::latch both_start(2);
                workers team;
                for (const int device : {0, 1})
                    team.push_back(std::make_unique<scripted_worker>(
                        device, [&] { both_begun.arrive_and_wait(); }, [&] { both_start.arrive_and_wait(); }));
                const detail::bin_run_result done = c.run(team, keep);
                EXPECT_EQ(keep ? c.found(done) : c.found(), expected)
                    << e.planes << " x " << e.rows << " x " << e.cols << (weighted ? ", weights" : "");
                for (const task_worker_report& w : done.report.workers) {
                    EXPECT_GE(w.tasks, 1) << w.name;
                    EXPECT_GT(w.upload_seconds, 0) << w.name;
                    EXPECT_EQ(w.failure, "");
                }
            }
}

TEST_F(shared_upload, of_a_worker_that_fails_afterwards_stays_for_the_other_one) {
    for (const int bad : {0, 1})
        for (const extents& e : all_extents) {
            run_case c(e);
            const auto expected = c.expected();
            std::promise<void> failed;
            const std::shared_future<void> failure = failed.get_future().share();
            workers team;
            team.push_back(std::make_unique<scripted_worker>(bad, [&] {
                c.overwrite(c.rows() * bad / 2, c.rows() * (bad + 1) / 2);
                failed.set_value();
                throw std::runtime_error("broken behind its begin");
            }));
            // Its own share comes at once.
            team.push_back(std::make_unique<scripted_worker>(1 - bad, [&] { failure.wait(); }));
            if (bad == 1) std::swap(team[0], team[1]);
            const auto done = c.run(team);
            EXPECT_EQ(c.found(), expected) << e.planes << " x " << e.rows << " x " << e.cols;
            EXPECT_NE(done.report.workers[static_cast<std::size_t>(bad)].failure, "");
            EXPECT_EQ(done.report.workers[static_cast<std::size_t>(1 - bad)].failure, "");
        }
}

TEST_F(shared_upload, that_nobody_begins_comes_from_the_host) {
    for (const int bad : {0, 1})
        for (const bool weighted : {false, true})
            for (const extents& e : all_extents) {
                run_case c(e, weighted);
                workers team;
                team.push_back(
                    std::make_unique<failing_worker>(detail::make_cuda_bin_worker(bad), failing_worker::at::begin));
                // Behind the begin of the good one: so what the bad one was to bring is that of now.
                const auto overwrite = [&] { c.overwrite(c.rows() * bad / 2, c.rows() * (bad + 1) / 2); };
                team.push_back(std::make_unique<scripted_worker>(1 - bad, overwrite));
                if (bad == 1) std::swap(team[0], team[1]);
                const auto done = c.run(team);
                EXPECT_EQ(c.found(), c.expected()) << e.planes << " x " << e.rows << " x " << e.cols;
                EXPECT_EQ(done.report.workers[static_cast<std::size_t>(1 - bad)].failure, "");
            }
}

/// Begins when it is told to.
class late_worker : public wrapped_worker {
  public:
    late_worker(int device, std::shared_future<void> event)
        : wrapped_worker(detail::make_cuda_bin_worker(device)), event_(std::move(event)) {}

    void begin(const detail::bin_job& job) override {
        event_.wait();
        wrapped_worker::begin(job);
    }

  private:
    std::shared_future<void> event_;
};

/// Tells when it has finished its first task.
class telling_worker : public wrapped_worker {
  public:
    explicit telling_worker(int device) : wrapped_worker(detail::make_cuda_bin_worker(device)) {}

    std::shared_future<void> first() { return first_.get_future().share(); }

    std::unique_ptr<detail::kept_bins> finish(const detail::bin_task& task) override {
        auto kept = wrapped_worker::finish(task);
        if (!std::exchange(told_, true)) first_.set_value();
        return kept;
    }

  private:
    std::promise<void> first_;
    bool told_ = false;
};

TEST_F(shared_upload, waits_for_no_late_worker) {
    for (const int late : {0, 1}) {
        run_case c(all_extents[0]);
        auto early = std::make_unique<telling_worker>(1 - late);
        workers team;
        team.push_back(std::make_unique<late_worker>(late, early->first()));
        team.push_back(std::move(early));
        const auto done = c.run(team, false, 1);
        EXPECT_EQ(c.found(), c.expected());
        for (const task_worker_report& w : done.report.workers) EXPECT_EQ(w.failure, "");
    }
}

TEST_F(shared_upload, goes_on_where_one_device_has_no_task) {
    run_case c(all_extents[3]);
    workers team;
    for (const int device : {0, 1}) team.push_back(detail::make_cuda_bin_worker(device));
    const auto done = c.run(team, false, 16);
    EXPECT_EQ(done.report.tasks, 1);
    EXPECT_EQ(c.found(), c.expected());
    for (const task_worker_report& w : done.report.workers) EXPECT_GT(w.upload_seconds, 0) << w.name;
}

TEST_F(shared_upload, leaves_the_tasks_to_whoever_is_free) {
    run_case c(all_extents[0]);
    test::virtual_time time(3, 16);
    workers team;
    team.push_back(
        std::make_unique<test::paced_worker>(detail::make_cuda_bin_worker(0), time, &test::virtual_time::fast_task));
    team.push_back(
        std::make_unique<test::paced_worker>(detail::make_cuda_bin_worker(1), time, &test::virtual_time::slow_task));
    const auto done = c.run(team, false, 1);
    EXPECT_EQ(c.found(), c.expected());
    EXPECT_NEAR(static_cast<double>(done.report.workers[0].tasks), 12, 2);
    EXPECT_NEAR(static_cast<double>(done.report.workers[1].tasks), 4, 2);
}

TEST_F(shared_upload, is_for_different_devices_and_for_more_than_one) {
    EXPECT_EQ(detail::share_upload({}), nullptr);
    EXPECT_EQ(detail::share_upload(std::array{0}), nullptr);
    EXPECT_EQ(detail::share_upload(std::array{0, 0}), nullptr);
    EXPECT_NE(detail::share_upload(std::array{1, 0}), nullptr);
}

}  // namespace
}  // namespace boxsum
