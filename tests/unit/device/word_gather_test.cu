#include "cuda/device/word_gather.cuh"
#include "support/device_check.cuh"

namespace boxsum::cuda {
namespace {

class device_word_gather : public test::gpu_kernel_test {};

/// Block 0 waits for the words of the others, who publish theirs late ones first.
template <bool ByWarp, typename Sum, typename Words, int Batch>
__global__ void gather_kernel(tagged_word* words, unsigned stride, int publishers, std::uint32_t tag, Sum* out) {
    const int lane = static_cast<int>(threadIdx.x);
    const std::uint64_t keep = keep_in_l2();
    const auto value = [&](int publisher, int i) { return static_cast<Sum>(publisher * 1000 + lane * 2 + i); };
    if (blockIdx.x != 0) {
        const int publisher = publishers - static_cast<int>(blockIdx.x);
        tagged_word* const where = words + std::size_t{stride} * publisher;
        if constexpr (std::is_same_v<Words, words_of_value<Sum>>) {
            Words::of(value(publisher, 0), tag).publish_at(where + lane * words_of<Sum>, keep);
        } else {
            Sum x[Words::values];
            for (int i = 0; i < Words::values; ++i) x[i] = value(publisher, i);
            Words::of(x, tag).publish_at(where + 2 * lane, keep);
        }
        return;
    }
    // The order counts: a hash, not a sum.
    Sum hash{};
    const auto add = [&](const Words& found) {
        if constexpr (std::is_same_v<Words, words_of_value<Sum>>) {
            hash = hash * Sum{3} + found.value();
        } else {
            Sum x[Words::values]{};
            found.add_to(x);
            for (const Sum& one : x) hash = hash * Sum{3} + one;
        }
    };
    const tagged_word* const where =
        words + (std::is_same_v<Words, words_of_value<Sum>> ? lane * words_of<Sum> : 2 * lane);
    if (ByWarp)
        gather_by_warp<Batch, Words>(where, stride, publishers, tag, keep, add);
    else
        gather_in_order<Batch, Words>(where, stride, publishers, tag, keep, add);
    out[lane] = hash;
}

TEST_F(device_word_gather, every_publisher_in_its_order_and_no_word_of_another_call) {
    const auto check_kernel = [&]<bool ByWarp, typename Sum, typename Words, int Batch>(int values) {
        constexpr unsigned stride = 256;
        for (const int publishers : {0, 1, 2, 3, 4, 7, 8}) {
            // Old words lie where the new ones come.
            const device_buffer words = upload(std::vector<tagged_word>(stride * 9, tagged_word{8} << 32 | 5));
            const device_buffer out = upload(std::vector<Sum>(32, Sum{1}));
            launch(gather_kernel<ByWarp, Sum, Words, Batch>,
                   {.grid = static_cast<unsigned>(publishers) + 1, .block = 32}, stream(), as<tagged_word>(words),
                   stride, publishers, 9u, as<Sum>(out));
            const auto found = download<Sum>(out);
            for (int lane = 0; lane < 32; ++lane) {
                Sum hash{};
                for (int p = 0; p < publishers; ++p)
                    for (int i = 0; i < values; ++i) hash = hash * Sum{3} + static_cast<Sum>(p * 1000 + lane * 2 + i);
                EXPECT_EQ(found[static_cast<std::size_t>(lane)], hash) << publishers << " publishers, lane " << lane;
            }
        }
    };
    const auto check = [&]<typename Sum, typename Words, int Batch>(int values) {
        check_kernel.operator()<false, Sum, Words, Batch>(values);
        check_kernel.operator()<true, Sum, Words, Batch>(values);
    };
    check.operator()<std::uint32_t, words_of_value<std::uint32_t>, 4>(1);
    check.operator()<std::uint64_t, words_of_value<std::uint64_t>, 3>(1);
    check.operator()<std::uint32_t, words_of_lane<std::uint32_t, 2>, 2>(2);
    check.operator()<std::uint32_t, words_of_lane<std::uint32_t, 4>, 3>(4);
    check.operator()<double, words_of_lane<double, 2>, 2>(2);
}

/// The same for words of a lane, of a type that is added up as another.
template <typename T, int Values, typename Sum>
__global__ void lane_words_kernel(tagged_word* words, unsigned stride, int publishers, std::uint32_t tag, Sum* out) {
    using lane_words = words_of_lane<T, Values>;
    const int lane = static_cast<int>(threadIdx.x);
    const std::uint64_t keep = keep_in_l2();
    if (blockIdx.x != 0) {
        const int publisher = publishers - static_cast<int>(blockIdx.x);
        T x[Values];
        for (int i = 0; i < Values; ++i) x[i] = static_cast<T>(60000 - 7 * lane - 501 * publisher - i);
        lane_words::of(x, tag).publish_at(words + std::size_t{stride} * publisher + lane_words::first(lane), keep);
        return;
    }
    Sum sum[Values]{};
    gather_by_warp<2, lane_words>(words + lane_words::first(lane), stride, publishers, tag, keep,
                                  [&](const lane_words& found) { found.add_to(sum); });
    for (int i = 0; i < Values; ++i) out[lane * Values + i] = sum[i];
}

/// Two rows of publishers, of which those of the second one have larger values; the words of a batch added as they are.
__global__ void two_rows_kernel(tagged_word* words, unsigned stride, int publishers, std::uint32_t tag,
                                std::uint32_t* out) {
    using lane_words = words_of_lane<std::uint16_t, 4>;
    const int lane = static_cast<int>(threadIdx.x);
    const std::uint64_t keep = keep_in_l2();
    tagged_word* const beside = words + 64;
    if (blockIdx.x != 0) {
        const int publisher = publishers - static_cast<int>(blockIdx.x);
        for (int row = 0; row < 2; ++row) {
            std::uint16_t x[4];
            for (int i = 0; i < 4; ++i) x[i] = static_cast<std::uint16_t>(10000 * row + 500 * publisher + 7 * lane + i);
            lane_words::of(x, tag).publish_at(
                (row == 0 ? words : beside) + std::size_t{stride} * publisher + lane_words::first(lane), keep);
        }
        return;
    }
    std::uint32_t sum[2][4]{};
    gather_two_by_warp<3, lane_words>(words + lane_words::first(lane), beside + lane_words::first(lane), stride,
                                      publishers, tag, keep, [&](const auto& found, const auto& found_beside) {
                                          lane_words::add_all_to(sum[0], found);
                                          lane_words::add_all_to(sum[1], found_beside);
                                      });
    for (int i = 0; i < 8; ++i) out[lane * 8 + i] = sum[i / 4][i % 4];
}

TEST_F(device_word_gather, two_rows_of_publishers_are_added_batch_by_batch) {
    constexpr unsigned stride = 256;
    for (const int publishers : {0, 1, 2, 3, 4, 7, 8}) {
        const device_buffer words = upload(std::vector<tagged_word>(stride * 9, tagged_word{8} << 32 | 5));
        const device_buffer out = upload(std::vector<std::uint32_t>(256, 1));
        launch(two_rows_kernel, {.grid = static_cast<unsigned>(publishers) + 1, .block = 32}, stream(),
               as<tagged_word>(words), stride, publishers, 9u, as<std::uint32_t>(out));
        const auto found = download<std::uint32_t>(out);
        for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < 8; ++i) {
                std::uint32_t sum = 0;
                for (int p = 0; p < publishers; ++p)
                    sum += static_cast<std::uint32_t>(10000 * (i / 4) + 500 * p + 7 * lane + i % 4);
                EXPECT_EQ(found[static_cast<std::size_t>(lane * 8 + i)], sum)
                    << publishers << " publishers, lane " << lane << ", value " << i;
            }
    }
}

TEST_F(device_word_gather, words_of_lanes_are_added_in_a_wider_type) {
    const auto check = [&]<typename T, int Values, typename Sum>(int words_of_a_lane) {
        EXPECT_EQ((words_of_lane<T, Values>::words), words_of_a_lane);
        constexpr unsigned stride = 256;
        for (const int publishers : {0, 1, 2, 5, 8}) {
            const device_buffer words = upload(std::vector<tagged_word>(stride * 9, tagged_word{8} << 32 | 5));
            const device_buffer out = upload(std::vector<Sum>(32 * Values, Sum{1}));
            launch(lane_words_kernel<T, Values, Sum>, {.grid = static_cast<unsigned>(publishers) + 1, .block = 32},
                   stream(), as<tagged_word>(words), stride, publishers, 9u, as<Sum>(out));
            const auto found = download<Sum>(out);
            for (int lane = 0; lane < 32; ++lane)
                for (int i = 0; i < Values; ++i) {
                    Sum sum{};
                    for (int p = 0; p < publishers; ++p)
                        sum += static_cast<Sum>(static_cast<T>(60000 - 7 * lane - 501 * p - i));
                    EXPECT_EQ(found[static_cast<std::size_t>(lane * Values + i)], sum)
                        << publishers << " publishers, lane " << lane << ", value " << i;
                }
        }
    };
    check.operator()<std::uint16_t, 2, std::uint32_t>(1);
    check.operator()<std::uint16_t, 4, std::uint64_t>(2);
    check.operator()<std::uint16_t, 6, std::uint32_t>(4);  // an even number of words
    check.operator()<std::uint16_t, 8, std::uint32_t>(4);
    check.operator()<std::int32_t, 2, std::uint64_t>(2);
    check.operator()<float, 4, float>(4);
    check.operator()<double, 4, double>(8);
}

template <typename Sum>
__global__ void look_kernel(const tagged_word* words, std::uint32_t tag, Sum* out, bool* missing) {
    const int lane = static_cast<int>(threadIdx.x);
    words_of_value<Sum> found{};
    const std::uint64_t keep = keep_in_l2();
    const tagged_word* const where = words + lane * words_of<Sum>;
    missing[3 * lane] = look_at_missing(lane % 2 == 0, found, where, tag, keep);      // looks
    missing[3 * lane + 1] = look_at_missing(lane % 2 == 0, found, where, tag, keep);  // has it, or it is not there
    missing[3 * lane + 2] = found.has(tag);
    out[lane] = found.value();
}

TEST_F(device_word_gather, only_what_is_wanted_is_looked_at_and_only_what_is_missing_again) {
    std::vector<tagged_word> raw(32);
    for (std::size_t i = 0; i < 32; ++i) raw[i] = tagged_word{i % 4 == 2 ? 6u : 7u} << 32 | (100 + i);
    const device_buffer words = upload(raw), out = upload(std::vector<std::uint32_t>(32, 1));
    const device_buffer missing = upload(std::vector<std::uint8_t>(96, 9));
    launch(look_kernel<std::uint32_t>, {.block = 32}, stream(), as<const tagged_word>(words), 7u,
           as<std::uint32_t>(out), as<bool>(missing));
    const auto values = download<std::uint32_t>(out);
    const auto flags = download<std::uint8_t>(missing);
    for (std::size_t lane = 0; lane < 32; ++lane) {
        const bool wanted = lane % 2 == 0, there = lane % 4 != 2;
        EXPECT_EQ(flags[3 * lane] != 0, wanted);
        EXPECT_EQ(flags[3 * lane + 1] != 0, wanted && !there);
        EXPECT_EQ(flags[3 * lane + 2] != 0, wanted && there);
        EXPECT_EQ(values[lane], wanted ? 100 + lane : 0u);
    }
}

}  // namespace
}  // namespace boxsum::cuda
