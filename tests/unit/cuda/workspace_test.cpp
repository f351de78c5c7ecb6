// What a workspace promises, and every way to use one wrongly: an error, and no hang.

#include "api/registry.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "support/complaint.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/integral_histogram.hpp>
#include <boxsum/sat.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace boxsum {
namespace {

class workspace : public test::gpu_stream_test {
  protected:
    static constexpr std::int64_t rows = 37, cols = 53;

    void SetUp() override {
        test::gpu_stream_test::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        std::iota(pixels_.begin(), pixels_.end(), std::uint8_t{3});
        image_ = cuda::image<std::uint8_t>(rows, cols, stream());
        table_ = cuda::table<std::uint32_t>(rows, cols, stream());
        cuda::copy(host(), any_view(image_), stream());
    }

    image_view<const std::uint8_t> host() const { return {pixels_.data(), rows, cols}; }

    cuda::sat_plan plan() const { return cuda::sat_plan({image_}, {table_}, {.algorithm = "1r1w-skss-lb"}); }

    void run(const cuda::sat_plan& plan, cuda::workspace& memory, cuda::stream_ref stream) const {
        plan.run_async({image_}, {table_}, memory, stream);
    }

    /// Poisons the table, so that the next run counts.
    void spoil(cuda::stream_ref stream) const {
        BOXSUM_CUDA_TRY(
            cudaMemsetAsync(table_.view().entries().data(), 0xa5, cuda::span_bytes(table_.shape()), stream.get()));
    }

    void expect_right(cuda::stream_ref stream) const {
        std::vector<std::uint32_t> found(rows * cols), expected(rows * cols);
        sat({host()}, {any_view(image_view<std::uint32_t>(expected.data(), rows, cols))}, {.algorithm = "reference"});
        cuda::copy(const_any_table_view(table_).entries, any_view(image_view<std::uint32_t>(found.data(), rows, cols)),
                   stream);
        EXPECT_EQ(found, expected);
    }

    cuda::image<std::uint8_t> image_;
    cuda::table<std::uint32_t> table_;

  private:
    std::vector<std::uint8_t> pixels_ = std::vector<std::uint8_t>(rows * cols);
};

TEST_F(workspace, knows_what_it_has) {
    cuda::workspace empty;
    EXPECT_EQ(empty.bytes(), 0u);
    EXPECT_EQ(empty.device(), -1);
    empty.reserve(1000, stream());
    EXPECT_GE(empty.bytes(), 1000u);
    EXPECT_EQ(empty.device(), cuda::current_device());
    EXPECT_EQ(empty.stream(), stream());
    const cuda::workspace moved = std::move(empty);
    EXPECT_GE(moved.bytes(), 1000u);
    EXPECT_EQ(empty.device(), -1);  // NOLINT: what a moved-from workspace is, is said
}

TEST_F(workspace, is_zero_when_it_is_fresh_and_when_it_has_grown) {
    cuda::workspace memory(100, stream());
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{70000}}) {
        memory.reserve(bytes, stream());
        const cuda::workspace_use use(memory, bytes, memory.device(), stream());
        std::vector<std::uint8_t> found(use.bytes(), 1);
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(found.data(), use.data(), found.size(), cudaMemcpyDeviceToHost, stream().get()));
        stream().synchronize();
        EXPECT_EQ(found, std::vector<std::uint8_t>(found.size()));
        BOXSUM_CUDA_TRY(cudaMemsetAsync(use.data(), 0x5a, use.bytes(), stream().get()));
    }
}

TEST_F(workspace, that_is_large_enough_stays_where_it_is) {
    cuda::workspace memory(5000, stream());
    const void* const before = cuda::workspace_use(memory, 0, memory.device(), stream()).data();
    memory.reserve(4000, stream());
    EXPECT_EQ(cuda::workspace_use(memory, 0, memory.device(), stream()).data(), before);
}

TEST_F(workspace, without_memory_is_refused) {
    cuda::workspace never, given(plan().workspace_bytes(), stream());
    const cuda::workspace taken = std::move(given);
    EXPECT_COMPLAINT(run(plan(), never, stream()), "workspace: has no memory and no device");
    EXPECT_COMPLAINT(run(plan(), given, stream()), "workspace: has no memory and no device");  // NOLINT: moved from
    EXPECT_COMPLAINT(never.follow(stream()), "workspace: has no memory and no device");
    given.reserve(plan().workspace_bytes(), stream());
    run(plan(), given, stream());
    expect_right(stream());
}

TEST_F(workspace, that_is_too_small_names_both_sizes) {
    const cuda::sat_plan p = plan();
    cuda::workspace small(p.workspace_bytes() - 1, stream());
    EXPECT_COMPLAINT(run(p, small, stream()), "workspace: has " + std::to_string(p.workspace_bytes() - 1) +
                                                  " bytes, but the plan needs " + std::to_string(p.workspace_bytes()));
    small.reserve(p.workspace_bytes(), stream());
    run(p, small, stream());
    expect_right(stream());
}

TEST_F(workspace, follows_another_stream_only_when_told) {
    const cuda::stream other;
    const cuda::sat_plan p = plan();
    cuda::workspace memory(p.workspace_bytes(), stream());
    run(p, memory, stream());
    EXPECT_COMPLAINT(run(p, memory, other), "workspace: is on another stream");
    EXPECT_COMPLAINT(memory.reserve(1, other), "workspace: is on another stream");
    memory.follow(other);
    EXPECT_EQ(memory.stream(), cuda::stream_ref(other));
    spoil(other);
    run(p, memory, other);
    expect_right(other);
    EXPECT_COMPLAINT(run(p, memory, stream()), "workspace: is on another stream");
    memory.reserve(2 * memory.bytes(), other);
    memory.follow(stream());
    spoil(stream());
    run(p, memory, stream());
    expect_right(stream());
}

TEST_F(workspace, of_another_device_is_refused) {
    if (cuda::device_count() < 2) GTEST_SKIP() << "needs two CUDA devices";
    const int here = cuda::current_device();
    cuda::set_device(1 - here);
    const cuda::stream there;
    cuda::workspace memory(plan().workspace_bytes(), there);
    cuda::set_device(here);
    EXPECT_COMPLAINT(run(plan(), memory, there), "workspace: is memory of cuda:" + std::to_string(1 - here));
    EXPECT_COMPLAINT(memory.follow(stream()), "stream: belongs to cuda:" + std::to_string(here));
}

TEST_F(workspace, is_kept_from_a_second_thread) {
    const cuda::sat_plan p = plan();
    cuda::workspace memory(p.workspace_bytes(), stream());
    {
        const cuda::workspace_use first(memory, 0, p.device(), stream());
        std::string refused, not_grown;
        std::thread second([&] {
            refused = test::complaint([&] { run(p, memory, stream()); });
            not_grown = test::complaint([&] { memory.reserve(2 * memory.bytes(), stream()); });
        });
        second.join();
        EXPECT_EQ(refused, "workspace: is in use by another thread");
        EXPECT_EQ(not_grown, refused);
    }
    run(p, memory, stream());
    expect_right(stream());
}

TEST_F(workspace, refused_call_leaves_it_usable) {
    const cuda::sat_plan p = plan();
    cuda::workspace memory(p.workspace_bytes(), stream());
    const cuda::stream other;
    for (int i = 0; i < 3; ++i) EXPECT_COMPLAINT(run(p, memory, other), "another stream");
    run(p, memory, stream());
    expect_right(stream());
}

/// Histograms and tables, with words that carry epochs and without, take turns.
TEST_F(workspace, serves_plans_of_all_operations) {
    const auto expected = integral_histogram<std::uint32_t>(host(), binning::uniform(5, 0, 256));
    const cuda::histogram_table<std::uint32_t> device(5, rows, cols, stream());
    std::vector<cuda::histogram_plan> histograms;
    for (const char* name : {"fast", "cw-tis"})
        if (const auto* record = find_record(operation::histogram, name); record->info.built)
            histograms.emplace_back(histogram_inputs{image_}, binning::uniform(5, 0, 256), histogram_outputs{device},
                                    histogram_options{.algorithm = name});
    std::vector<cuda::sat_plan> tables;
    for (const algorithm_record* record : registry(operation::sat))
        if (record->info.where == backend::cuda && record->info.built)
            tables.emplace_back(sat_inputs{image_}, sat_outputs{table_},
                                sat_options{.algorithm = std::string(record->info.name)});
    ASSERT_FALSE(histograms.empty());
    ASSERT_FALSE(tables.empty());
    cuda::workspace memory;
    for (const auto& h : histograms) memory.reserve(h.workspace_bytes(), stream());
    for (const auto& p : tables) memory.reserve(p.workspace_bytes(), stream());
    for (int round = 0; round < 2; ++round)
        for (const cuda::sat_plan& p : tables)
            for (const cuda::histogram_plan& h : histograms) {
                h.run_async({image_}, {device}, memory, stream());
                spoil(stream());
                run(p, memory, stream());
                expect_right(stream());
                if (HasFailure()) FAIL() << p.algorithm().name << " after " << h.algorithm().name;
            }
    histogram_table<std::uint32_t> found(5, rows, cols);
    for (std::int64_t bin = 0; bin < 5; ++bin) {
        const image_view<const std::uint32_t> right = expected.view().bin(bin).entries();
        const image_view<std::uint32_t> copy = found.view().bin(bin).entries();
        cuda::copy(device.view().bin(bin).entries(), copy, stream());
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < cols; ++c) ASSERT_EQ(copy(r, c), right(r, c)) << bin << ", " << r << ", " << c;
    }
}

/// What a call leaves, zeroed as far as other calls want, and no further.
TEST_F(workspace, what_calls_leave_is_zeroed_as_far_as_others_want) {
    const cuda::sat_plan tables = plan();
    constexpr std::size_t little = 2048;
    cuda::workspace memory(tables.workspace_bytes() + 5000, stream());
    const auto leave = [&](std::size_t bytes) {
        const cuda::workspace_end end(memory, bytes, bytes, memory.device(), stream());
        BOXSUM_CUDA_TRY(cudaMemsetAsync(end.data(), 0xa5, end.use().bytes() - end.bytes_before(), stream().get()));
        end.leave();
    };
    const auto content = [&](std::size_t clean) {
        const cuda::workspace_use use(memory, 0, memory.device(), stream(), clean);
        std::vector<std::uint8_t> bytes(use.bytes());
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(bytes.data(), use.data(), bytes.size(), cudaMemcpyDefault, stream().get()));
        stream().synchronize();
        return bytes;
    };
    const auto expected = [&](std::size_t zeros) {
        std::vector<std::uint8_t> bytes(memory.bytes(), 0xa5);
        std::fill_n(bytes.begin(), zeros, std::uint8_t{0});
        return bytes;
    };
    leave(memory.bytes());
    EXPECT_EQ(content(0), expected(0));
    EXPECT_EQ(content(little), expected(little));
    leave(memory.bytes());
    leave(300);
    EXPECT_EQ(content(0), expected(little));
    run(tables, memory, stream());
    expect_right(stream());
    leave(memory.bytes());
    run(tables, memory, stream());
    expect_right(stream());
    leave(memory.bytes());
    EXPECT_EQ(content(cuda::all_of_workspace), expected(memory.bytes()));
    leave(memory.bytes());
    EXPECT_EQ(content(0), expected(memory.bytes()));
}

// ---- calls without a plan -------------------------------------------------------------------------------------------

TEST_F(workspace, grows_in_calls_without_a_plan) {
    cuda::workspace memory;
    for (int round = 0; round < 2; ++round) {
        spoil(stream());
        cuda::sat_async({image_}, {table_}, memory, stream(), {.algorithm = "1r1w-skss-lb"});
        expect_right(stream());
    }
    EXPECT_GE(memory.bytes(), plan().workspace_bytes());
}

TEST_F(workspace, of_the_library_serves_every_stream) {
    for (int round = 0; round < 3; ++round) {
        const cuda::stream other;
        for (const cuda::stream_ref s : {stream(), cuda::stream_ref(other), cuda::stream_ref::legacy_default()}) {
            spoil(s);
            s.synchronize();
            cuda::sat({image_}, {table_}, s, {.algorithm = "1r1w-skss-lb"});
            expect_right(s);
        }
    }
}

TEST_F(workspace, plan_of_a_call_without_one_depends_on_form_and_options) {
    const cuda::table<std::uint32_t> padded(rows, cols, stream(), table_layout::padded);
    cuda::sat({image_}, {padded}, stream(), {.algorithm = "1r1w-skss-lb"});
    spoil(stream());
    cuda::sat({image_}, {table_}, stream(), {.algorithm = "1r1w-skss-lb"});
    expect_right(stream());
    EXPECT_THROW(cuda::sat({image_}, {table_}, stream(), {.algorithm = "no-such"}), unsupported);
    std::uint32_t corner = 1;
    const view_shape one{dtype::u32, 1, 1, 1, 1, 4, 0};
    cuda::copy(const_any_view{padded.view().entries().data(), one}, any_view{&corner, one}, stream());
    EXPECT_EQ(corner, 0u);
}

}  // namespace
}  // namespace boxsum
