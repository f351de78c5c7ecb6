// boxsum/cuda/box.cuh as kernels use it: the bits of the host's functions.

#include "support/device_check.cuh"

#include <boxsum/box.hpp>
#include <boxsum/cuda/box.cuh>
#include <boxsum/error.hpp>

#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

struct answers {
    double mean, variance;
    std::int64_t sum_bits;  ///< of the table's type, the rest zero
    bool contained;
};

template <typename Sum, typename Square>
__global__ void ask_kernel(cuda::device_table<Sum> sums, cuda::device_table<Square> squares, const box* boxes,
                           int count, std::int64_t channel, std::int64_t plane, answers* out) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= count) return;
    answers a{0, 0, 0, contains(sums, boxes[i])};
    if (a.contained) {
        const Sum sum = box_sum(sums, boxes[i], channel, plane);
        std::memcpy(&a.sum_bits, &sum, sizeof sum);
        a.mean = box_mean(sums, boxes[i], channel, plane);
        a.variance = box_variance(cuda::device_moments{sums, squares}, boxes[i], channel, plane);
    }
    out[i] = a;
}

bool same(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

class box_in_kernel : public test::gpu_kernel_test {
  protected:
    static constexpr std::int64_t rows = 14, cols = 19, channels = 2, planes = 2, row_gap = 3;

    template <typename T>
    static image_view<const T> entries(const void* data) {
        constexpr std::int64_t row = (cols * channels + row_gap) * static_cast<std::int64_t>(sizeof(T));
        return {static_cast<const T*>(data), rows, cols, row, channels, planes, (rows + 1) * row};
    }

    template <typename T>
    static std::vector<T> any_entries(std::uint64_t seed) {
        std::mt19937_64 random(seed);
        std::vector<T> all(static_cast<std::size_t>(planes * (rows + 1) * (cols * channels + row_gap)));
        for (T& entry : all) {
            const std::uint64_t bits = random();
            if constexpr (std::is_floating_point_v<T>)
                entry = static_cast<T>(static_cast<double>(bits % 100000) / 7);
            else
                entry = static_cast<T>(bits);
        }
        return all;
    }

    template <typename Sum, typename Square>
    void ask(table_layout layout) {
        const std::vector<Sum> sums = any_entries<Sum>(3);
        const std::vector<Square> squares = any_entries<Square>(4);
        const cuda::device_buffer d_sums = upload(sums), d_squares = upload(squares);
        const table_view<const Sum> there(entries<Sum>(d_sums.data()), layout);
        const table_view<const Square> squares_there(entries<Square>(d_squares.data()), layout);
        const table_view<const Sum> here(entries<Sum>(sums.data()), layout);
        const table_view<const Square> squares_here(entries<Square>(squares.data()), layout);

        std::vector<box> boxes;  // all that touch an edge, or a corner, and some that are not inside
        for (const std::int64_t r : {-1, 0, 1, 7})
            for (const std::int64_t c : {-1, 0, 1, 8})
                for (const std::int64_t h : {0, 1, 3, 6, 13, 14})
                    for (const std::int64_t w : {0, 1, 5, 10, 18, 19}) boxes.push_back({r, c, h, w});
        const cuda::device_buffer d_boxes = upload(boxes);
        for (std::int64_t plane = 0; plane < planes; ++plane)
            for (std::int64_t channel = 0; channel < channels; ++channel) {
                const cuda::device_buffer out = upload(std::vector<answers>(boxes.size(), answers{-1, -1, -1, false}));
                cuda::launch(ask_kernel<Sum, Square>,
                             {.grid = static_cast<unsigned>(boxes.size() / 64 + 1), .block = 64}, stream(),
                             cuda::device_table<Sum>(there), cuda::device_table<Square>(squares_there),
                             as<const box>(d_boxes), static_cast<int>(boxes.size()), channel, plane, as<answers>(out));
                const std::vector<answers> found = download<answers>(out);
                std::size_t inside = 0;
                for (std::size_t i = 0; i < boxes.size(); ++i) {
                    answers expected{0, 0, 0, false};
                    try {
                        const Sum sum = box_sum(here, boxes[i], channel, plane);
                        expected.contained = true;
                        std::memcpy(&expected.sum_bits, &sum, sizeof sum);
                        expected.mean = box_mean(here, boxes[i], channel, plane);
                        expected.variance = box_variance({here, squares_here}, boxes[i], channel, plane);
                        ++inside;
                    } catch (const invalid_argument&) {
                    }
                    const answers& a = found[i];
                    ASSERT_EQ(a.contained, expected.contained) << i;
                    ASSERT_EQ(a.sum_bits, expected.sum_bits) << i;
                    ASSERT_TRUE(same(a.mean, expected.mean)) << a.mean << ' ' << expected.mean;
                    ASSERT_TRUE(same(a.variance, expected.variance)) << a.variance << ' ' << expected.variance;
                }
                ASSERT_GT(inside, 50u);
            }
    }
};

TEST_F(box_in_kernel, answers_are_those_of_the_host_bit_for_bit) {
    for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded}) {
        ask<std::uint32_t, std::uint64_t>(layout);
        ask<std::int32_t, std::int32_t>(layout);
        ask<std::int64_t, double>(layout);
        ask<std::uint64_t, std::uint64_t>(layout);
        ask<float, double>(layout);
        ask<double, double>(layout);
    }
}

TEST(device_table, is_plain_data_that_says_where_boxes_may_lie) {
    static_assert(std::is_trivially_copyable_v<cuda::device_table<std::uint32_t>>);
    std::uint32_t entries[12] = {};
    const table_view<std::uint32_t> padded({entries, 3, 4}, table_layout::padded);
    const cuda::device_table table(padded);
    EXPECT_EQ(table.rows, 2);
    EXPECT_EQ(table.cols, 3);
    EXPECT_TRUE(contains(table, {0, 0, 2, 3}));
    EXPECT_FALSE(contains(table, {0, 0, 3, 3}));
    EXPECT_FALSE(contains(table, {1, 0, 2, 3}));
}

/// The same header on the host.
TEST(device_table, answers_on_the_host) {
    const std::int32_t entries[6] = {1, 3, 6, 5, 12, 21};  // of 1 2 3 over 4 5 6
    const cuda::device_table table(table_view<const std::int32_t>({entries, 2, 3}));
    EXPECT_EQ(box_sum(table, {0, 0, 2, 3}), 21);
    EXPECT_EQ(box_sum(table, {1, 1, 1, 2}), 11);
    EXPECT_EQ(box_mean(table, {1, 1, 1, 2}), 5.5);
    const std::int32_t squares[6] = {1, 5, 14, 17, 46, 91};
    const cuda::device_moments tables{table, cuda::device_table(table_view<const std::int32_t>({squares, 2, 3}))};
    EXPECT_EQ(box_variance(tables, {1, 1, 1, 2}), 0.25);
}

}  // namespace
}  // namespace boxsum
