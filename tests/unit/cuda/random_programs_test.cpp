// Random programs of the public API on a device: one workspace for all of them. Runs on a GPU, and on the emulated
// device.

#include "support/random_programs.hpp"

#include "support/device_block.hpp"
#include "support/gpu.hpp"

#include <boxsum/algorithms.hpp>
#include <boxsum/cuda/box.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/window_queries.hpp>

#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

class device_functions {
  public:
    static constexpr std::int64_t most_extent = 300;

    explicit device_functions(cuda::stream_ref stream) : stream_(stream), workspace_(0, stream) {}

    template <typename T>
    test::device_block<T> upload(const test::block<T>& b) {
        return {b, stream_};
    }
    template <typename T>
    static void download(const test::device_block<T>& b) {
        b.download();
    }

    /// By every form of the call, and every path of the kernels, in turn.
    void sat(const sat_inputs& inputs, const sat_outputs& outputs, sat_options options) {
        static constexpr const char* paths[] = {"path=auto", "path=wave", "path=tiles"};
        ++calls_;
        if (calls_ % 2 == 0) {
            options.algorithm = "fast";
            options.parameters = paths[calls_ / 6 % 3];
        }
        if (calls_ % 3 == 0) {
            cuda::sat(inputs, outputs, stream_, options);
        } else if (calls_ % 3 == 1) {
            cuda::sat_async(inputs, outputs, workspace_, stream_, options);
        } else {
            const cuda::sat_plan plan(inputs, outputs, options);
            workspace_.reserve(plan.workspace_bytes(), stream_);
            plan.run_async(inputs, outputs, workspace_, stream_);
        }
    }

    void window_sums(const const_any_table_view& table, const any_view& sums, const window_query_options& options) {
        cuda::window_sums_async(table, sums, stream_, options);
    }

    template <typename T>
    std::vector<T> box_sums(const table_view<const T>& table, const std::vector<box>& boxes, std::int64_t channel,
                            std::int64_t plane) {
        return answers<T>(boxes, [&](const cuda::device_boxes& there, const cuda::any_device_span& out) {
            cuda::box_sums_async(table, there, out, stream_, channel, plane);
        });
    }
    template <typename T>
    std::vector<double> box_means(const table_view<const T>& table, const std::vector<box>& boxes, std::int64_t channel,
                                  std::int64_t plane) {
        return answers<double>(boxes, [&](const cuda::device_boxes& there, const cuda::any_device_span& out) {
            cuda::box_means_async(table, there, out, stream_, channel, plane);
        });
    }
    template <typename T>
    void expect_no_answer(const table_view<const T>& table, const box& b) {
        const T sum = box_sums(table, {b}, 0, 0)[0];
        if constexpr (std::is_integral_v<T>)
            EXPECT_EQ(sum, 0);
        else
            EXPECT_TRUE(std::isnan(sum));
    }

  private:
    template <typename T, typename Call>
    std::vector<T> answers(const std::vector<box>& boxes, Call call) {
        const cuda::device_buffer there(boxes.size() * sizeof(box), stream_), out(boxes.size() * sizeof(T), stream_);
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(there.data(), boxes.data(), there.size(), cudaMemcpyHostToDevice, stream_.get()));
        const auto count = static_cast<std::int64_t>(boxes.size());
        call({static_cast<const box*>(there.data()), count}, {static_cast<T*>(out.data()), count});
        std::vector<T> values(boxes.size());
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(values.data(), out.data(), out.size(), cudaMemcpyDeviceToHost, stream_.get()));
        stream_.synchronize();
        return values;
    }

    cuda::stream_ref stream_;
    cuda::workspace workspace_;
    unsigned calls_ = 0;
};

class random_programs_on_a_device : public test::gpu_stream_test {
  protected:
    /// Where this build has kernels of the types.
    template <typename Pixel, typename Entry, typename Square = void>
    bool run_programs() {
        std::optional<dtype> squares;
        if constexpr (!std::is_void_v<Square>) squares = dtype_of<Square>;
        const view_shape shape = image_view<Pixel>(nullptr, 9, 9).shape();
        if (!supports(*find_algorithm(operation::sat, "fast"), shape, dtype_of<Entry>, {}, squares)) return false;
        device_functions device(stream());
        test::run_programs<Pixel, Entry, Square>(device, 24);
        return true;
    }
};

TEST_F(random_programs_on_a_device, of_bytes) {
    EXPECT_TRUE((run_programs<std::uint8_t, std::uint32_t, std::uint64_t>()));
    run_programs<std::uint8_t, std::uint64_t, std::uint64_t>();
}

TEST_F(random_programs_on_a_device, of_words) {
    const bool squares = run_programs<std::uint16_t, std::uint64_t, std::uint64_t>();
    const bool negative = run_programs<std::int16_t, std::int64_t>();
    if (!squares && !negative) GTEST_SKIP() << "this build has no kernels of these types";
}

TEST_F(random_programs_on_a_device, of_floats) {
    EXPECT_TRUE((run_programs<float, float>()));
    run_programs<float, double, double>();
    run_programs<double, double>();
}

}  // namespace
}  // namespace boxsum
