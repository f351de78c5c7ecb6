#include "cuda/device/sum_and_squares.cuh"
#include "support/device_check.cuh"

namespace boxsum::cuda {
namespace {

using both = sum_and_squares<std::uint32_t, std::uint64_t>;

class device_sum_and_squares : public test::gpu_kernel_test {};

__global__ void both_scans_kernel(const both* in, both* inclusive, both* exclusive, both* by_shift, both* total,
                                  both* moved) {
    const int lane = lane_id();
    const both x = in[lane];
    inclusive[lane] = warp_scan(x);
    exclusive[lane] = exclusive_of(inclusive[lane], x);
    by_shift[lane] = exclusive_of(inclusive[lane]);
    total[lane] = warp_sum(x);
    moved[lane] = shuffle(x, 31 - lane);
    moved[32 + lane] = shuffle_up(x, 2);
    moved[64 + lane] = shuffle_xor(x, 4);
}

/// Sums wrap around for themselves: nothing of one gets into the other.
TEST_F(device_sum_and_squares, are_scanned_and_moved_side_by_side) {
    std::vector<both> x(32);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = {static_cast<std::uint32_t>(0xf0000000u + i), (std::uint64_t{1} << 62) + 1000 * i};
    const device_buffer in = upload(x), a = upload(std::vector<both>(32)), b = upload(std::vector<both>(32)),
                        c = upload(std::vector<both>(32)), d = upload(std::vector<both>(32)),
                        e = upload(std::vector<both>(96));
    launch(both_scans_kernel, {.block = 32}, stream(), as<const both>(in), as<both>(a), as<both>(b), as<both>(c),
           as<both>(d), as<both>(e));
    const auto inclusive = download<both>(a), exclusive = download<both>(b), by_shift = download<both>(c),
               total = download<both>(d), moved = download<both>(e);
    const auto expect = [](const both& found, std::uint32_t sum, std::uint64_t squares) {
        EXPECT_EQ(found.sum, sum);
        EXPECT_EQ(found.squares, squares);
    };
    std::uint32_t sum = 0;
    std::uint64_t squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        expect(exclusive[i], sum, squares);
        expect(by_shift[i], sum, squares);
        sum += x[i].sum;
        squares += x[i].squares;
        expect(inclusive[i], sum, squares);
        expect(moved[i], x[31 - i].sum, x[31 - i].squares);
        const std::size_t before = i < 2 ? i : i - 2;
        expect(moved[32 + i], x[before].sum, x[before].squares);
        expect(moved[64 + i], x[i ^ 4].sum, x[i ^ 4].squares);
    }
    for (const both& all : total) expect(all, sum, squares);
}

__global__ void other_types_kernel(const both* in, sum_and_squares<float, double>* out) {
    out[0] = static_cast<sum_and_squares<float, double>>(in[0] + in[1]);
    out[0] += out[0];
}

TEST_F(device_sum_and_squares, have_other_types) {
    const device_buffer in = upload(std::vector<both>{{3, 5}, {4, 6}}),
                        out = upload(std::vector<sum_and_squares<float, double>>(1));
    launch(other_types_kernel, {.block = 1}, stream(), as<const both>(in), as<sum_and_squares<float, double>>(out));
    const auto found = download<sum_and_squares<float, double>>(out);
    EXPECT_EQ(found[0].sum, 14.0f);
    EXPECT_EQ(found[0].squares, 22.0);
}

}  // namespace
}  // namespace boxsum::cuda
