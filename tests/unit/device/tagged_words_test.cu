#include "cuda/device/tagged_words.cuh"
#include "support/device_check.cuh"

namespace boxsum::cuda {
namespace {

class device_tagged_words : public test::gpu_kernel_test {};

template <typename Sum>
__global__ void round_trip_kernel(const Sum* in, tagged_word* words, Sum* out, bool* has) {
    const int lane = static_cast<int>(threadIdx.x);
    const std::uint64_t keep = keep_in_l2();
    words_of_value<Sum>::of(in[lane], 77).publish_at(words + lane * words_of<Sum>, keep);
    __threadfence();
    words_of_value<Sum> found;
    found.look_at(words + lane * words_of<Sum>, keep);
    has[2 * lane] = found.has(77);
    has[2 * lane + 1] = found.has(78);
    out[lane] = found.value();
}

TEST_F(device_tagged_words, a_value_comes_back_with_its_tag_and_no_other) {
    const auto check = [&]<typename Sum>(Sum) {
        std::vector<Sum> x(32);
        for (std::size_t i = 0; i < 32; ++i) x[i] = static_cast<Sum>(-1.5 * static_cast<double>(i) * 1e9);
        x[3] = static_cast<Sum>(~std::uint64_t{0} >> 1);
        const device_buffer in = upload(x), out = upload(std::vector<Sum>(32));
        const device_buffer words = upload(std::vector<tagged_word>(64)), has = upload(std::vector<std::uint8_t>(64));
        launch(round_trip_kernel<Sum>, {.block = 32}, stream(), as<const Sum>(in), as<tagged_word>(words), as<Sum>(out),
               as<bool>(has));
        EXPECT_EQ(download<Sum>(out), x);
        const auto flags = download<std::uint8_t>(has);
        for (std::size_t i = 0; i < 32; ++i) {
            EXPECT_TRUE(flags[2 * i]);
            EXPECT_FALSE(flags[2 * i + 1]);
        }
        const auto raw = download<tagged_word>(words);
        for (std::size_t i = 0; i < 32 * words_of<Sum>; ++i) EXPECT_EQ(raw[i] >> 32, 77u);
    };
    check(std::int32_t{});
    check(std::int64_t{});
    check(float{});
    check(double{});
}

/// Block b waits for the values of the blocks before it, and publishes one more than their sum.
template <typename Sum>
__global__ void chain_kernel(tagged_word* words, std::uint32_t tag, Sum* out) {
    using pairs = words_of_lane<Sum, 8 / sizeof(Sum)>;
    const int lane = static_cast<int>(threadIdx.x);
    const std::uint64_t keep = keep_in_l2();
    Sum sum[pairs::values]{};
    gather<4, pairs>(words + 2 * lane, 64, static_cast<int>(blockIdx.x), tag, keep, sum);
    for (Sum& s : sum) s += Sum{1};
    pairs::of(sum, tag).publish_at(words + 64 * blockIdx.x + 2 * lane, keep);
    for (int i = 0; i < pairs::values; ++i) out[(blockIdx.x * 32 + threadIdx.x) * pairs::values + i] = sum[i];
}

TEST_F(device_tagged_words, gather_waits_for_every_publisher_and_ignores_words_of_other_calls) {
    const auto check = [&]<typename Sum>(Sum) {
        constexpr std::size_t blocks = 11;
        constexpr auto values = 8 / sizeof(Sum);
        const device_buffer words = upload(std::vector<tagged_word>(64 * blocks, tagged_word{4} << 32 | 999));
        for (std::uint32_t tag = 5; tag < 8; ++tag) {  // nothing is cleared in between
            const device_buffer out = upload(std::vector<Sum>(blocks * 32 * values));
            launch(chain_kernel<Sum>, {.grid = blocks, .block = 32}, stream(), as<tagged_word>(words), tag,
                   as<Sum>(out));
            const auto found = download<Sum>(out);
            for (std::size_t b = 0; b < blocks; ++b)
                for (std::size_t i = 0; i < 32 * values; ++i)
                    EXPECT_EQ(found[b * 32 * values + i], static_cast<Sum>(std::uint64_t{1} << b)) << "tag " << tag;
        }
    };
    check(std::uint32_t{});
    check(std::uint64_t{});
    check(float{});
    check(double{});
}

}  // namespace
}  // namespace boxsum::cuda
