#include "cuda/device/warp_scan.cuh"
#include "support/device_check.cuh"

#include <random>

namespace boxsum::cuda {
namespace {

class device_warp_scan : public test::gpu_kernel_test {
  protected:
    /// Values of 32 lanes whose sums are exact in every type.
    template <typename T>
    static std::vector<T> values(std::size_t count) {
        std::mt19937 random(5);
        std::vector<T> x(count);
        for (T& v : x) v = static_cast<T>(static_cast<int>(random() % 2001) - (std::is_signed_v<T> ? 1000 : 0));
        return x;
    }
};

template <scan_network Network, typename T>
__global__ void scan_kernel(const T* in, T* inclusive, T* exclusive, T* total) {
    const int lane = lane_id();
    inclusive[lane] = warp_scan<Network>(in[lane]);
    exclusive[lane] = exclusive_of(inclusive[lane]);
    total[lane] = warp_sum(in[lane]);
    total[32] = last_lane(inclusive[lane]);
}

template <scan_steps Steps, typename T, int N>
__global__ void scan_row_kernel(T* row) {
    T x[N];
    for (int i = 0; i < N; ++i) x[i] = row[lane_id() * N + i];
    warp_scan_row<Steps>(x);
    for (int i = 0; i < N; ++i) row[lane_id() * N + i] = x[i];
}

TEST_F(device_warp_scan, lanes_get_the_sums_up_to_and_before_them_by_either_network) {
    const auto check = [&]<typename T>(T) {
        for (int choice = 0; choice < 2; ++choice) {
            const std::vector<T> x = values<T>(32);
            const device_buffer in = upload(x), a = upload(std::vector<T>(32)), b = upload(std::vector<T>(32)),
                                c = upload(std::vector<T>(33));
            visit_scan_network(choice, [&]<scan_network Network>() {
                launch(scan_kernel<Network, T>, {.block = 32}, stream(), as<const T>(in), as<T>(a), as<T>(b), as<T>(c));
            });
            const auto inclusive = download<T>(a), exclusive = download<T>(b), total = download<T>(c);
            T sum{};
            for (std::size_t lane = 0; lane < 32; ++lane) {
                EXPECT_EQ(exclusive[lane], sum);
                sum += x[lane];
                EXPECT_EQ(inclusive[lane], sum);
            }
            for (const T t : total) EXPECT_EQ(t, sum);
        }
    };
    check(std::uint32_t{});
    check(std::uint64_t{});
    check(float{});
    check(double{});
}

TEST_F(device_warp_scan, rows_of_several_values_a_lane_are_scanned_whole) {
    const auto check_steps = [&]<scan_steps Steps, typename T>(T) {
        const std::vector<T> x = values<T>(128);
        const device_buffer row = upload(x);
        launch(scan_row_kernel<Steps, T, 4>, {.block = 32}, stream(), as<T>(row));
        const auto sums = download<T>(row);
        T sum{};
        for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(sums[i], sum += x[i]);
    };
    const auto check = [&]<typename T>(T x) {
        check_steps.template operator()<scan_steps::selected>(x);
        check_steps.template operator()<scan_steps::predicated>(x);
    };
    check(std::uint32_t{});
    check(std::uint64_t{});
    check(float{});
    check(double{});
}

TEST_F(device_warp_scan, an_infinity_does_not_reach_the_lanes_before_it) {
    std::vector<float> x(32, 1.0f);
    x[20] = std::numeric_limits<float>::infinity();
    const device_buffer in = upload(x), a = upload(std::vector<float>(32)), b = upload(std::vector<float>(32)),
                        c = upload(std::vector<float>(33));
    launch(scan_kernel<scan_network::kogge_stone, float>, {.block = 32}, stream(), as<const float>(in), as<float>(a),
           as<float>(b), as<float>(c));
    const auto exclusive = download<float>(b);
    for (std::size_t lane = 0; lane <= 20; ++lane) EXPECT_EQ(exclusive[lane], static_cast<float>(lane));
    for (std::size_t lane = 21; lane < 32; ++lane) EXPECT_EQ(exclusive[lane], x[20]);
}

}  // namespace
}  // namespace boxsum::cuda
