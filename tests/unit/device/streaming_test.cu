#include "cuda/device/streaming.cuh"
#include "support/device_check.cuh"

#include <numeric>

namespace boxsum::cuda {
namespace {

class device_streaming : public test::gpu_kernel_test {};

template <int Bytes, bool WithLine = false>
__global__ void copy_kernel(const unsigned char* from, unsigned char* to) {
    __shared__ __align__(16) unsigned char shared[32 * Bytes];
    copy_async<Bytes, WithLine>(shared + threadIdx.x * Bytes, from + threadIdx.x * Bytes, Bytes);
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
    for (int i = 0; i < Bytes; ++i) to[threadIdx.x * Bytes + i] = shared[threadIdx.x * Bytes + i];
}

// Copies that stop before their last byte are tested with the kernels that need them, by tables whose rows end
// anywhere.
TEST_F(device_streaming, copies_to_shared_memory_bring_every_byte) {
    std::vector<unsigned char> bytes(512);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
    const device_buffer from = upload(bytes);
    const auto check = [&]<int Bytes, bool WithLine = false>(std::integral_constant<int, Bytes>,
                                                             std::bool_constant<WithLine> = {}) {
        const device_buffer to = upload(std::vector<unsigned char>(32 * Bytes, 0xdd));
        launch(copy_kernel<Bytes, WithLine>, {.block = 32}, stream(), as<const unsigned char>(from),
               as<unsigned char>(to));
        const auto got = download<unsigned char>(to);
        for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], bytes[i]) << Bytes << " bytes, byte " << i;
    };
    check(std::integral_constant<int, 4>{});
    check(std::integral_constant<int, 8>{});
    check(std::integral_constant<int, 16>{});
    check(std::integral_constant<int, 16>{}, std::true_type{});
}

template <typename T, int N>
__global__ void store_kernel(T* to) {
    T x[N];
    for (int i = 0; i < N; ++i) x[i] = static_cast<T>(threadIdx.x * N + i + 1);
    store_streaming(to + threadIdx.x * N, x);
}

TEST_F(device_streaming, stores_write_their_values_in_order) {
    const auto check = [&]<typename T, int N>(T, std::integral_constant<int, N>) {
        const device_buffer to = upload(std::vector<T>(32 * N));
        launch(store_kernel<T, N>, {.block = 32}, stream(), as<T>(to));
        const auto got = download<T>(to);
        for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], static_cast<T>(i + 1));
    };
    check(float{}, std::integral_constant<int, 1>{});
    check(std::uint32_t{}, std::integral_constant<int, 2>{});
    check(std::uint32_t{}, std::integral_constant<int, 4>{});
    check(std::uint64_t{}, std::integral_constant<int, 1>{});
    check(double{}, std::integral_constant<int, 2>{});
}

template <typename T, int N>
__global__ void store_some_kernel(T* to, std::uint32_t wanted) {
    T x[N];
    for (int i = 0; i < N; ++i) x[i] = static_cast<T>(threadIdx.x * N + i + 1);
    store_streaming_if((wanted >> threadIdx.x & 1) != 0, to + threadIdx.x * N, x);
}

TEST_F(device_streaming, stores_that_are_not_wanted_leave_what_was_there) {
    const auto check = [&]<typename T, int N>(T, std::integral_constant<int, N>) {
        for (const std::uint32_t wanted : {0u, ~0u, 0x80000001u, 0x0f0f3355u}) {
            const device_buffer to = upload(std::vector<T>(32 * N, T{77}));
            launch(store_some_kernel<T, N>, {.block = 32}, stream(), as<T>(to), wanted);
            const auto got = download<T>(to);
            for (std::size_t i = 0; i < got.size(); ++i)
                EXPECT_EQ(got[i], (wanted >> i / N & 1) != 0 ? static_cast<T>(i + 1) : T{77}) << i;
        }
    };
    check(float{}, std::integral_constant<int, 4>{});
    check(std::uint32_t{}, std::integral_constant<int, 4>{});
    check(double{}, std::integral_constant<int, 2>{});
}

__global__ void discard_kernel(unsigned char* first, std::int64_t bytes) {
    discard_lines(first, bytes, threadIdx.x, blockDim.x);
}

/// Words from `first` on: others than before.
__global__ void write_kernel(std::uint32_t* first, int count) {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
        first[i] = static_cast<std::uint32_t>(7 * i);
}

TEST_F(device_streaming, discarded_lines_are_nobodys_until_they_are_written_again) {
    constexpr std::size_t words = 4096, first = 64, discarded = 3 * 1024;  // whole lines of 32 words, and 31 more
    std::vector<std::uint32_t> before(words);
    std::iota(before.begin(), before.end(), 1000u);
    const device_buffer memory = upload(before);
    auto* const line = as<std::uint32_t>(memory) + first;
    launch(discard_kernel, {.block = 96}, stream(), reinterpret_cast<unsigned char*>(line), (discarded + 31) * 4);
    auto got = download<std::uint32_t>(memory);
    for (std::size_t i = 0; i < words; ++i)
        if (i < first || i >= first + discarded) {
            ASSERT_EQ(got[i], before[i]) << i;
        }
    launch(write_kernel, {.block = 96}, stream(), line, static_cast<int>(discarded));
    got = download<std::uint32_t>(memory);
    for (std::size_t i = 0; i < discarded; ++i) ASSERT_EQ(got[first + i], 7 * i) << i;
}

}  // namespace
}  // namespace boxsum::cuda
