#include "cuda/device/layers.cuh"
#include "support/device_check.cuh"

#include <cmath>
#include <limits>

namespace boxsum::cuda {
namespace {

class device_layers : public test::gpu_kernel_test {};

__global__ void number_elements(layers<std::uint16_t> all) {
    for (std::int64_t k = 0; k < all.count(); ++k)
        for (std::int64_t r = 0; r < all.rows; ++r)
            for (std::int64_t c = 0; c < all.cols; ++c)
                all[k].at(r, c) = static_cast<std::uint16_t>(1000 * k + 100 * r + c);
}

TEST_F(device_layers, every_element_of_every_channel_and_plane_has_its_place) {
    // 2 planes of 3 x 4 pixels with 3 channels, rows and planes with gaps.
    const image_view<std::uint16_t> view(nullptr, 3, 4, 30, 3, 2, 100);
    std::vector<std::uint16_t> values(100, 9);
    const device_buffer memory = upload(values);
    launch(number_elements, {}, stream(),
           layers<std::uint16_t>{as<std::uint16_t>(memory), 3, 4, view.row_stride(), view.plane_stride(), 2, 3});
    values = download<std::uint16_t>(memory);
    const image_view<std::uint16_t> result(values.data(), 3, 4, 30, 3, 2, 100);
    int owned = 0;
    for (std::int64_t plane = 0; plane < 2; ++plane)
        for (std::int64_t r = 0; r < 3; ++r)
            for (std::int64_t c = 0; c < 4; ++c)
                for (std::int64_t k = 0; k < 3; ++k, ++owned)
                    EXPECT_EQ(result(r, c, k, plane), 1000 * (plane * 3 + k) + 100 * r + c);
    EXPECT_EQ(std::count(values.begin(), values.end(), 9), 100 - owned);
}

__global__ void read_line(line<const int> row, line<const int> column, int* out) {
    for (int i = 0; i < 4; ++i) out[i] = row[i];
    for (int i = 0; i < 3; ++i) out[4 + i] = column[i];
}

TEST_F(device_layers, lines_step_by_bytes) {
    std::vector<int> values(3 * 8);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
    const device_buffer memory = upload(values), out = upload(std::vector<int>(7, -1));
    const int* const data = as<const int>(memory);
    launch(read_line, {}, stream(), line<const int>{data + 8, 8}, line<const int>{data + 3, 32}, as<int>(out));
    EXPECT_EQ(download<int>(out), (std::vector<int>{8, 10, 12, 14, 3, 11, 19}));
}

template <typename Sum, typename Pixel>
__global__ void widen_all(const Pixel* in, Sum* out, int count) {
    for (int i = 0; i < count; ++i) out[i] = widen<Sum>(in[i]);
}

TEST_F(device_layers, pixels_widen_by_sign_and_half_floats_exactly) {
    const device_buffer shorts = upload(std::vector<std::int16_t>{-32768, -1, 0, 32767});
    const device_buffer sums = upload(std::vector<std::uint64_t>(4, 7));
    launch(widen_all<std::uint64_t, std::int16_t>, {}, stream(), as<const std::int16_t>(shorts),
           as<std::uint64_t>(sums), 4);
    EXPECT_EQ(download<std::uint64_t>(sums),
              (std::vector<std::uint64_t>{0xffffffffffff8000u, 0xffffffffffffffffu, 0, 32767}));

    std::vector<float16> halves(1 << 16);
    for (std::size_t i = 0; i < halves.size(); ++i) halves[i].bits = static_cast<std::uint16_t>(i);
    const device_buffer in = upload(halves), out = upload(std::vector<float>(halves.size()));
    launch(widen_all<float, float16>, {}, stream(), as<const float16>(in), as<float>(out), 1 << 16);
    const std::vector<float> widened = download<float>(out);
    for (std::size_t i = 0; i < halves.size(); ++i) {
        const float expected = to_float(halves[i]);
        EXPECT_TRUE(std::isnan(expected) ? std::isnan(widened[i]) : expected == widened[i]) << "half " << i;
    }
}

TEST_F(device_layers, packed_scratch_has_the_extents_of_its_image) {
    const layers<int> scratch = packed_layers<int>(nullptr, 5, 7, 11);
    EXPECT_EQ(scratch.count(), 5);
    EXPECT_EQ(scratch.row_stride, 44);
    EXPECT_EQ(scratch.plane_stride, 7 * 44);
}

}  // namespace
}  // namespace boxsum::cuda
