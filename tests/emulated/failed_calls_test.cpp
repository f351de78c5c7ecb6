// Calls that fail half-way leave their workspace fit for the next one: every launch of every kind of plan is refused
// once.

#include "support/device_tensors.hpp"
#include "support/emulation/settings.hpp"

#include <boxsum/cuda/convolve.hpp>
#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/guided_filter.hpp>
#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/cuda/non_local_means.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <list>
#include <vector>

namespace boxsum {
namespace {

using emulation::configure;

constexpr std::int64_t rows = 70, cols = 150;

/// Remembers where the workspace's memory is, which on this device can be read.
struct watched_memory {
    cuda::device_buffer memory;

    cuda::allocator get() {
        return {.name = "watched_memory", .context = this, .allocate = allocate, .deallocate = deallocate};
    }
    static void* allocate(void* context, std::size_t bytes, CUstream_st* stream) {
        auto& self = *static_cast<watched_memory*>(context);
        self.memory = cuda::device_buffer(bytes, stream);
        return self.memory.data();
    }
    static void deallocate(void* context, void*, std::size_t, CUstream_st*) noexcept {
        static_cast<watched_memory*>(context)->memory = {};
    }
    bool is_zero() const {
        const auto* const bytes = static_cast<const unsigned char*>(memory.data());
        return std::all_of(bytes, bytes + memory.size(), [](unsigned char b) { return b == 0; });
    }
};

class failed_calls : public testing::Test {
  protected:
    ~failed_calls() override { configure() = {}; }

    using call = std::function<void(cuda::workspace&)>;

    /// `result`: all memory of what the calls write. Returns how many launches a call has.
    template <typename Plan>
    int expect_usable(const Plan& plan, const any_view& result, const call& run) {
        watched_memory watched;
        cuda::workspace workspace(plan.workspace_bytes(), stream, watched.get());
        const auto bytes = [&] {
            const auto* const first = static_cast<const unsigned char*>(result.data);
            return std::vector<unsigned char>(first, first + cuda::span_bytes(result.shape));
        };
        const auto poison = [&] {
            auto* const first = static_cast<unsigned char*>(result.data);
            std::fill(first, first + cuda::span_bytes(result.shape), static_cast<unsigned char>(0x5a));
        };
        poison();
        run(workspace);
        const std::vector<unsigned char> expected = bytes();
        for (int launch = 1; launch < 1000; ++launch) {
            configure().refused_launch = launch;
            poison();
            try {
                run(workspace);
            } catch (const cuda_error&) {
                EXPECT_TRUE(watched.is_zero()) << "launch " << launch;
                poison();
                run(workspace);
                EXPECT_EQ(bytes(), expected) << "behind a refused launch " << launch;
                continue;
            }
            configure().refused_launch = 0;
            EXPECT_EQ(bytes(), expected);
            return launch - 1;
        }
        ADD_FAILURE() << "no end of launches";
        return 0;
    }

    /// Random pixels without gaps between rows.
    template <typename T>
    image_view<T> image_of(std::uint32_t seed) {
        const std::vector<T> pixels = test::random_pixels<T>(rows * cols, seed);
        T* const to = static_cast<T*>(images_.emplace_back(pixels.size() * sizeof(T), stream).data());
        std::copy(pixels.begin(), pixels.end(), to);
        return {to, rows, cols};
    }
    /// Turned by half: kernels take copies.
    static image_view<std::uint8_t> turned(const image_view<std::uint8_t>& image) {
        return {&image(rows - 1, cols - 1), rows, cols, view_strides{.row = -cols, .col = -1}};
    }

    cuda::stream stream;

  private:
    std::list<cuda::device_buffer> images_;
};

TEST_F(failed_calls, of_tables) {
    const auto image = image_of<std::uint8_t>(1);
    const cuda::table<std::uint32_t> table(rows, cols, stream);
    for (const auto& [name, launches] : {std::pair{"2r1w", 3}, {"1r1w-skss-lb", 1}, {"2r2w", 2}, {"fast", 1}}) {
        SCOPED_TRACE(name);
        const cuda::sat_plan plan({image}, {table}, {.algorithm = name});
        EXPECT_GE(expect_usable(plan, table.view().entries(),
                                [&](cuda::workspace& w) { plan.run_async({image}, {table}, w, stream); }),
                  launches);
    }
}

/// Whose image and table are copied.
TEST_F(failed_calls, of_strided_tables) {
    const auto image = turned(image_of<std::uint8_t>(2));
    const cuda::table<std::uint32_t> table(rows, cols, stream);
    const cuda::sat_plan plan({image}, {table}, {.algorithm = "2r1w"});
    EXPECT_GE(expect_usable(plan, table.view().entries(),
                            [&](cuda::workspace& w) { plan.run_async({image}, {table}, w, stream); }),
              4);
}

TEST_F(failed_calls, of_histograms) {
    const auto image = image_of<std::uint8_t>(3);
    const binning bins = binning::uniform(5, 0, 251);
    const cuda::histogram_table<std::uint32_t> tensor(5, rows, cols, stream);
    const tensor_view<std::uint32_t> entries = tensor.view().entries();
    const any_view all{entries.data(), {dtype::u32, 1, 5 * rows, cols, 1, entries.shape().row_stride, 0}};
    ASSERT_EQ(entries.shape().bin_stride, rows * entries.shape().row_stride);
    for (const auto& [name, launches] : {std::pair{"fast", 2}, {"wf-tis", 2}}) {
        SCOPED_TRACE(name);
        const cuda::histogram_plan plan({image}, bins, {tensor}, {.algorithm = name});
        EXPECT_GE(expect_usable(plan, all, [&](cuda::workspace& w) { plan.run_async({image}, {tensor}, w, stream); }),
                  launches);
    }
    const std::vector<double> target{5, 4, 3, 2, 1};
    const cuda::device_buffer d_target(sizeof(double) * 5, stream), found(sizeof(histogram_match) * 3, stream);
    std::copy(target.begin(), target.end(), static_cast<double*>(d_target.data()));
    const std::vector<window_grid> grids{{.rows = 9, .cols = 7}};
    const cuda::best_windows_plan search(tensor.view().shape(), grids, histogram_distance::intersection, 3);
    auto* const matches = static_cast<histogram_match*>(found.data());
    const any_view result =
        image_view<std::uint8_t>(static_cast<std::uint8_t*>(found.data()), 1, static_cast<std::int64_t>(found.size()));
    EXPECT_GE(expect_usable(search, result,
                            [&](cuda::workspace& w) {
                                search.run_async(tensor.view(), static_cast<const double*>(d_target.data()), matches, w,
                                                 stream);
                            }),
              2);
}

TEST_F(failed_calls, of_filters) {
    const auto image = image_of<std::uint8_t>(4), radius = image_of<std::uint8_t>(5);
    const auto real = image_of<float>(6);
    const cuda::image<std::uint8_t> bytes(rows, cols, stream);
    const cuda::image<float> floats(rows, cols, stream), deviations(rows, cols, stream);
    const filter_options how{.window = 9};

    const cuda::variable_box_filter_plan of_tables({image, radius}, {bytes}, {});
    EXPECT_GE(expect_usable(of_tables, bytes,
                            [&](cuda::workspace& w) {
                                of_tables.run_async({image, radius}, {bytes}, w, stream);
                            }),
              2);
    const cuda::local_statistics_plan of_floats({real}, {.variance = floats}, how);
    EXPECT_GE(expect_usable(of_floats, floats,
                            [&](cuda::workspace& w) { of_floats.run_async({real}, {.variance = floats}, w, stream); }),
              1);
    const cuda::adaptive_threshold_plan of_extremes({image}, {bytes}, {threshold_method::wolf}, how);
    EXPECT_GE(expect_usable(of_extremes, bytes,
                            [&](cuda::workspace& w) { of_extremes.run_async({image}, {bytes}, w, stream); }),
              2);
    const cuda::guided_filter_plan guided({real, image}, {floats}, {0.5}, how);
    EXPECT_GE(expect_usable(guided, floats,
                            [&](cuda::workspace& w) {
                                guided.run_async({real, image}, {floats}, w, stream);
                            }),
              2);
    const cuda::non_local_means_plan means({image}, {bytes}, {.patch = 3}, {.window = 5});
    EXPECT_GE(expect_usable(means, bytes, [&](cuda::workspace& w) { means.run_async({image}, {bytes}, w, stream); }),
              2);
}

TEST_F(failed_calls, of_convolution) {
    const auto image = turned(image_of<std::uint8_t>(7));
    const cuda::image<float> result(rows, cols, stream);
    const std::vector<double> weights{1, 2, 3, 4, 5, 6, 7, 8, 9};
    const convolve_inputs inputs{image, {weights.data(), 3, 3}};
    const cuda::convolve_plan plan(inputs, {result});
    EXPECT_GE(expect_usable(plan, result, [&](cuda::workspace& w) { plan.run_async(inputs, {result}, w, stream); }), 2);
    EXPECT_GE(expect_usable(plan, result, [&](cuda::workspace& w) { convolve_async(inputs, {result}, w, stream); }), 2);
}

}  // namespace
}  // namespace boxsum
