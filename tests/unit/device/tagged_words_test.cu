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

}  // namespace
}  // namespace boxsum::cuda
