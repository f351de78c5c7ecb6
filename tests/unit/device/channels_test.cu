#include "cuda/device/channels.cuh"
#include "support/device_check.cuh"

#include <random>

namespace boxsum::cuda {
namespace {

class device_channels : public test::gpu_kernel_test {};

template <int Channels, typename T, int N>
__global__ void scan_channels_kernel(T* row) {
    T x[N];
    for (int i = 0; i < N; ++i) x[i] = row[lane_id() * N + i];
    warp_scan_channels<Channels>(x);
    for (int i = 0; i < N; ++i) row[lane_id() * N + i] = x[i];
}

template <typename T>
__global__ void turn_fours_kernel(T* row) {
    T x[4];
    for (int i = 0; i < 4; ++i) x[i] = row[lane_id() * 4 + i];
    turn_fours(x);
    for (int i = 0; i < 4; ++i) row[lane_id() * 4 + i] = x[i];
}

TEST_F(device_channels, every_channel_of_a_row_gets_its_own_prefix_sums) {
    const auto check = [&]<int Channels, typename T, int N>() {
        std::mt19937 random(7);
        std::vector<T> x(32 * N);
        for (T& v : x) v = static_cast<T>(random() % 1000);
        const device_buffer row = upload(x);
        launch(scan_channels_kernel<Channels, T, N>, {.block = 32}, stream(), as<T>(row));
        const std::vector<T> got = download<T>(row);
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (i >= Channels) x[i] += x[i - Channels];
            ASSERT_EQ(got[i], x[i]) << "element " << i << " of " << Channels << " channels, " << N << " a lane";
        }
    };
    const auto check_types = [&]<int Channels>() {
        check.template operator()<Channels, float, 4>();
        check.template operator()<Channels, std::uint32_t, 4>();
        check.template operator()<Channels, double, 2>();
        check.template operator()<Channels, std::uint64_t, 2>();
    };
    check_types.template operator()<1>();
    check_types.template operator()<2>();
    check_types.template operator()<3>();
    check_types.template operator()<4>();
}

TEST_F(device_channels, four_lanes_exchange_rows_for_columns) {
    std::vector<std::uint32_t> x(128);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint32_t>(i);
    const device_buffer row = upload(x);
    launch(turn_fours_kernel<std::uint32_t>, {.block = 32}, stream(), as<std::uint32_t>(row));
    const std::vector<std::uint32_t> got = download<std::uint32_t>(row);
    for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(got[i], i / 16 * 16 + i % 4 * 4 + i / 4 % 4) << "element " << i;
}

}  // namespace
}  // namespace boxsum::cuda
