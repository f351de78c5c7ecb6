// The sums on the device that other tests and the benchmarks compare tables with: every form against additions one
// pixel after the other, and that one wrong entry is found.

#include "support/device_oracle.hpp"

#include "support/device_block.hpp"
#include "support/gpu.hpp"
#include "support/random_blocks.hpp"

#include <boxsum/cuda/memory.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using test::block;
using test::device_block;
using test::lying;

class device_oracle : public test::gpu_stream_test, protected test::random_blocks {
  protected:
    device_oracle() : random_blocks(17) {}

    template <typename Pixel, typename Sum>
    void check(bool with_origins) {
        const std::int64_t rows = 1 + pick(12), cols = 1 + pick(12), channels = 1 + pick(3), planes = 1 + pick(2);
        const auto layout = static_cast<table_layout>(with_origins ? 1 + pick(2) : pick(3));
        table_form form(layout, {}, static_cast<double>(pick(3) * 50));
        if (with_origins) form.origin = {pick(form.table_extent(rows)), pick(form.table_extent(cols))};

        const block<Pixel> image(rows, cols, channels, planes, lying::row_major, random_);
        image.for_each([&](auto, auto, auto, auto, Pixel& x) { x = static_cast<Pixel>(pick(128)); });
        const block<Sum> table(form.table_extent(rows), form.table_extent(cols), channels, planes, lying::row_major,
                               random_);
        table.for_each([&](std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t k, Sum& entry) {
            const std::int64_t row = r + 1 - form.border(), col = c + 1 - form.border();
            const std::int64_t top = form.origin.row, left = form.origin.col;
            std::int64_t sum = 0;
            for (std::int64_t y = std::min(top, row); y < std::max(top, row); ++y)
                for (std::int64_t x = std::min(left, col); x < std::max(left, col); ++x)
                    sum += static_cast<std::int64_t>(image.view()(y, x, k, plane)) -
                           static_cast<std::int64_t>(form.offset);
            entry = static_cast<Sum>((row < top) != (col < left) ? -sum : sum);
        });
        SCOPED_TRACE(std::string(name_of(layout)) + ", origin " + std::to_string(form.origin.row) + ", " +
                     std::to_string(form.origin.col) + ", offset " + std::to_string(form.offset));
        test::device_oracle oracle(planes * rows * cols * channels, stream());
        const device_block d_image(image, stream());
        oracle.sum(d_image.view(), false, stream());
        const device_block right(table, stream());
        oracle.compare(right.view(), form, stream());
        EXPECT_EQ(oracle.result(stream()), "");

        Sum& entry = table.view()(pick(table.view().rows()), pick(table.view().cols()), pick(channels), pick(planes));
        entry = static_cast<Sum>(entry + Sum{1});
        const device_block wrong(table, stream());
        oracle.compare(wrong.view(), form, stream());
        EXPECT_EQ(oracle.result(stream()).find("1 wrong entries"), 0u);
    }
};

TEST_F(device_oracle, knows_every_layout_offset_and_origin) {
    for (int i = 0; i < 40 && !HasFailure(); ++i) {
        check<std::uint8_t, std::uint32_t>(i % 2 == 0);
        check<float, float>(i % 2 == 0);
        check<float, double>(i % 2 == 0);
    }
}

/// Pixels as far below the level as above, but never more than the magnitude away.
TEST_F(device_oracle, a_level_is_added_to_what_is_filled) {
    constexpr std::int64_t count = 600;
    const cuda::device_buffer memory(count * sizeof(float), stream());
    const any_view image{memory.data(), {dtype::f32, 1, 20, 30, 1, 30 * sizeof(float), count * sizeof(float)}};
    std::vector<float> plain(count), lifted(count);
    const auto filled = [&](std::vector<float>& pixels, std::int64_t level) {
        test::fill_exact(image, 255, 3, stream(), 1, level);
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(pixels.data(), memory.data(), memory.size(), cudaMemcpyDeviceToHost, stream().get()));
        stream().synchronize();
    };
    filled(plain, 0);
    filled(lifted, 100);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        EXPECT_LE(std::abs(plain[i]), 255.0f);
        EXPECT_EQ(lifted[i], plain[i] + 100);
    }
}

/// Halves are read and written by rules of their own.
TEST_F(device_oracle, halves) {
    constexpr std::int64_t count = 4097;
    const cuda::device_buffer memory(count * sizeof(float16), stream());
    const any_view image{memory.data(), {dtype::f16, 1, 1, count, 1, 2 * count, 2 * count}};
    test::fill_exact(image, 2000, 5, stream());
    std::vector<float16> pixels(count);
    BOXSUM_CUDA_TRY(
        cudaMemcpyAsync(pixels.data(), memory.data(), memory.size(), cudaMemcpyDeviceToHost, stream().get()));
    stream().synchronize();
    test::device_oracle oracle(count, stream());
    oracle.sum(image, false, stream());
    const block<double> table(1, count, 1, 1, lying::row_major, random_);
    double sum = 0, most = 0;
    table.for_each([&](auto, auto, std::int64_t c, auto, double& entry) {
        const double pixel = static_cast<double>(to_float(pixels[static_cast<std::size_t>(c)]));
        EXPECT_EQ(pixel, std::floor(pixel));
        most = std::max(most, std::abs(pixel));
        entry = sum += pixel;
    });
    EXPECT_GT(most, 1024);
    EXPECT_LE(most, 2000);
    const device_block right(table, stream());
    oracle.compare(right.view(), table_layout::inclusive, stream());
    EXPECT_EQ(oracle.result(stream()), "");
}

}  // namespace
}  // namespace boxsum
