#include "cuda/device/tile_sat.cuh"
#include "support/device_check.cuh"

namespace boxsum::cuda {
namespace {

class device_tile_sat : public test::gpu_kernel_test {};

/// The table of one tile of an image, from the tile alone.
template <typename Pixel, typename T, int W>
__global__ void tile_sat_kernel(layer<const Pixel> image, layer<T> table, tile_index t) {
    __shared__ sat_tile<T, W> tile;
    const tile_box box = box_of<W>(t, image.rows, image.cols);
    load_tile(tile, image, box);
    scan_tile(tile);
    store_tile(tile, table, box);
}

template <typename Pixel, typename T, int W>
void check_tile(std::int64_t rows, std::int64_t cols, tile_index t, unsigned threads, const device_buffer& image,
                const device_buffer& table, stream_ref stream) {
    launch(tile_sat_kernel<Pixel, T, W>, {.block = threads}, stream,
           layer<const Pixel>{static_cast<const Pixel*>(image.data()), rows, cols,
                              cols * static_cast<std::int64_t>(sizeof(Pixel)), sizeof(Pixel)},
           layer<T>{static_cast<T*>(table.data()), rows, cols, cols * static_cast<std::int64_t>(sizeof(T)), sizeof(T)},
           t);
}

TEST_F(device_tile_sat, a_tile_is_loaded_scanned_and_stored_within_the_image) {
    constexpr std::int64_t rows = 50, cols = 41;
    std::vector<std::uint8_t> pixels(rows * cols);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 7 + i / 13);
    const device_buffer image = upload(pixels);
    constexpr int w = 32;
    for (const unsigned threads : {64u, 256u, 1024u})
        for (const tile_index t : {tile_index{0, 0}, tile_index{0, 1}, tile_index{1, 0}, tile_index{1, 1}}) {
            const device_buffer table = upload(std::vector<std::uint32_t>(rows * cols, 777u));
            check_tile<std::uint8_t, std::uint32_t, w>(rows, cols, t, threads, image, table, stream());
            const auto got = download<std::uint32_t>(table);
            const std::int64_t top = t.row * w, left = t.col * w;
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t c = 0; c < cols; ++c) {
                    std::uint32_t expected = 777;
                    if (r >= top && r < top + w && c >= left && c < left + w) {
                        expected = 0;
                        for (std::int64_t i = top; i <= r; ++i)
                            for (std::int64_t j = left; j <= c; ++j)
                                expected += pixels[static_cast<std::size_t>(i * cols + j)];
                    }
                    ASSERT_EQ(got[static_cast<std::size_t>(r * cols + c)], expected)
                        << threads << " threads, tile " << t.row << ", " << t.col << " at " << r << ", " << c;
                }
        }
}

}  // namespace
}  // namespace boxsum::cuda
