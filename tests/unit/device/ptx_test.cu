#include "cuda/device/ptx.cuh"
#include "support/device_check.cuh"

#include <algorithm>
#include <cmath>

namespace boxsum::cuda {
namespace {

class device_ptx : public test::gpu_kernel_test {};

__global__ void convert_kernel(float* out) {
    const unsigned bits = blockIdx.x * blockDim.x + threadIdx.x;
    out[bits] = half_to_float(float16{static_cast<std::uint16_t>(bits)});
}

TEST_F(device_ptx, every_half_float_converts_exactly) {
    const device_buffer out = upload(std::vector<float>(65536));
    launch(convert_kernel, {.grid = 256, .block = 256}, stream(), as<float>(out));
    const auto got = download<float>(out);
    for (std::size_t bits = 0; bits < got.size(); ++bits) {
        const float expected = to_float(float16{static_cast<std::uint16_t>(bits)});
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(got[bits])) << bits;
        } else {
            ASSERT_EQ(got[bits], expected) << bits;
            ASSERT_EQ(std::signbit(got[bits]), std::signbit(expected)) << bits;
        }
    }
}

/// 2^20 mantissas of an upper half, with an even and an odd exponent: the lower half is not looked at.
__global__ void roots_kernel(float* errors, unsigned first, unsigned low) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    const double x = __hiloint2double(static_cast<int>(0x3ff00000u + first + at), static_cast<int>(low));
    const double y = inverse_root_approximately(x);
    errors[at] = static_cast<float>(fabs(y * sqrt(x) - 1));
}

TEST_F(device_ptx, every_inverse_root_is_within_its_bound) {
    constexpr unsigned step = 1u << 16;
    const device_buffer out = upload(std::vector<float>(step));
    float largest = 0;
    for (unsigned first = 0; first < 2u << 20; first += step)
        for (const unsigned low : {0u, ~0u}) {
            launch(roots_kernel, {.grid = step / 256, .block = 256}, stream(), as<float>(out), first, low);
            for (const float error : download<float>(out)) largest = std::max(largest, error);
        }
    EXPECT_LT(largest, 0x1p-20f);
    EXPECT_GT(largest, 0);
}

/// One writes words whose halves are equal, others must never see two that differ.
__global__ void halves_kernel(unsigned long long* word, unsigned last, unsigned* torn) {
    if (blockIdx.x == 0) {
        if (threadIdx.x != 0) return;
        for (unsigned i = 1; i <= last; ++i) store_relaxed(word, static_cast<unsigned long long>(i) << 32 | i);
        return;
    }
    for (unsigned long long seen = 0; seen >> 32 != last;) {
        seen = load_relaxed(word);
        if (seen >> 32 != (seen & 0xffffffffu)) atomicAdd(torn, 1u);
    }
}

TEST_F(device_ptx, relaxed_words_are_seen_as_a_whole) {
    const device_buffer word = upload(std::vector<unsigned long long>(1)), torn = upload(std::vector<unsigned>(1));
    launch(halves_kernel, {.grid = 3, .block = 32}, stream(), as<unsigned long long>(word), 500u, as<unsigned>(torn));
    EXPECT_EQ(download<unsigned>(torn)[0], 0u);
}

__global__ void dynamic_kernel(unsigned long long* out, int count) {
    auto* const shared = dynamic_shared<unsigned long long>();
    for (int i = static_cast<int>(threadIdx.x); i < count; i += 32) shared[i] = static_cast<unsigned long long>(i * i);
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < count; i += 32) out[i] = shared[count - 1 - i];
    if (threadIdx.x == 0) out[count] = reinterpret_cast<std::uintptr_t>(shared) % 16;
}

TEST_F(device_ptx, dynamic_shared_memory_is_aligned_and_as_large_as_the_launch_asked_for) {
    for (const int count : {1, 100, 10000}) {  // the last above 48 KiB
        const auto n = static_cast<std::size_t>(count);
        const device_buffer out = upload(std::vector<unsigned long long>(n + 1, 99));
        launch(dynamic_kernel, {.block = 32, .shared_bytes = n * 8}, stream(), as<unsigned long long>(out), count);
        const auto got = download<unsigned long long>(out);
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], (n - 1 - i) * (n - 1 - i));
        EXPECT_EQ(got[n], 0u);
    }
}

}  // namespace
}  // namespace boxsum::cuda
