#include "cuda/device/patches.cuh"
#include "support/device_check.cuh"

#include <algorithm>

namespace boxsum::cuda {
namespace {

constexpr int patches = 3;

/// What this thread loaded of patch number u, to the patches below each other in `to`.
template <typename Sum>
__device__ void keep(const Sum (&x)[patch_items], int u, Sum* to) {
    const patch_share own;
    for (int i = 0; i < patch_items; ++i) to[(u * patch_side + own.line) * patch_side + own.first + i] = x[i];
}

template <typename Pixel, typename Sum>
__global__ void load_each_kernel(layer<const Pixel> in, std::int64_t row, std::int64_t col, Sum* to) {
    const patch_share own;
    for (int u = 0; u < patches; ++u) {
        Sum x[patch_items];
        load_patch(x, in, row + u * patch_side + own.line, col + own.first);
        keep(x, u, to);
    }
}

template <typename Pixel, typename Sum>
__global__ void load_together_kernel(layer<const Pixel> in, std::int64_t row, std::int64_t col, Sum* to) {
    const patch_share own;
    Sum x[patches][patch_items];
    load_patches(x, in, row + own.line, col + own.first, static_cast<int>(in.rows - row) - own.line);
    for (int u = 0; u < patches; ++u) keep(x[u], u, to);
}

class device_patches : public test::gpu_kernel_test {
  protected:
    /// Patches from (4, 4) on of images of many sizes, the rows and columns of which are so many elements apart.
    template <typename Pixel, typename Sum>
    void expect_loaded(std::int64_t start, std::int64_t row_step, std::int64_t col_step) {
        constexpr std::int64_t row = 4, col = 4, bytes = sizeof(Pixel);
        std::vector<Pixel> pixels(10004);
        for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<Pixel>(i % 251 + 1);
        const device_buffer memory = upload(pixels);
        for (const std::int64_t rows : {1, 31, 67, 68, 69, 99, 100})
            for (const std::int64_t cols : {1, 6, 35, 36, 48}) {
                std::vector<Sum> expected(patches * patch_side * patch_side);
                for (std::int64_t r = row; r < std::min(row + patches * patch_side, rows); ++r)
                    for (std::int64_t c = col; c < std::min(col + patch_side, cols); ++c)
                        expected[static_cast<std::size_t>((r - row) * patch_side + c - col)] =
                            static_cast<Sum>(pixels[static_cast<std::size_t>(start + r * row_step + c * col_step)]);
                const layer<const Pixel> in{as<const Pixel>(memory) + start, rows, cols, row_step * bytes,
                                            col_step * bytes};
                for (const auto kernel : {load_each_kernel<Pixel, Sum>, load_together_kernel<Pixel, Sum>}) {
                    const device_buffer out = upload(std::vector<Sum>(expected.size(), Sum{7}));
                    launch(kernel, {.block = patch_threads}, stream(), in, row, col, as<Sum>(out));
                    ASSERT_EQ(download<Sum>(out), expected)
                        << (kernel == load_each_kernel<Pixel, Sum> ? "one by one, " : "together, ") << rows << " x "
                        << cols << ", from " << start << " in steps of " << row_step << " and " << col_step;
                }
            }
    }
};

TEST_F(device_patches, patches_of_images_of_any_size_pitch_and_channels_have_zeros_outside) {
    for (const std::int64_t start : {0, 1})
        for (const std::int64_t row_step : {100, 99})
            for (const std::int64_t col_step : {1, 2}) {
                expect_loaded<std::uint8_t, std::uint32_t>(start, row_step, col_step);
                expect_loaded<float, double>(start, row_step, col_step);
            }
}

template <typename Sum>
__global__ void scan_patch_kernel(Sum* x) {
    const patch_share own;
    Sum* const own_part = x + own.line * patch_side + own.first;
    Sum values[patch_items];
    for (int i = 0; i < patch_items; ++i) values[i] = own_part[i];
    scan_patch_lines(values);
    for (int i = 0; i < patch_items; ++i) own_part[i] = values[i];
}

TEST_F(device_patches, lines_are_scanned_each_by_itself) {
    const auto check = [&]<typename Sum>(Sum) {
        std::vector<Sum> values(patch_side * patch_side), expected(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<Sum>(i * 37 % 101);  // exact in floats, whatever the order
            expected[i] = i % patch_side == 0 ? values[i] : expected[i - 1] + values[i];
        }
        const device_buffer memory = upload(values);
        launch(scan_patch_kernel<Sum>, {.block = patch_threads}, stream(), as<Sum>(memory));
        EXPECT_EQ(download<Sum>(memory), expected);
    };
    check(std::uint32_t{});
    check(std::uint64_t{});
    check(float{});
    check(double{});
}

}  // namespace
}  // namespace boxsum::cuda
