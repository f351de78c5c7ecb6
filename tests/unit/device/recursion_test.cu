#include "cuda/device/recursion.cuh"
#include "support/device_check.cuh"

namespace boxsum::cuda {
namespace {

class device_recursion : public test::gpu_kernel_test {};

constexpr int line_tiles = 3;

/// A line a lane, of `line_tiles` tiles, forwards, then backwards; tile by tile, each among zeros, and what comes from
/// the line_tiles around it added afterwards, as the exhibit's walks and last kernel do.
__global__ void filter_tiles_kernel(const double* in, double* out, const recursion<double> f) {
    double p[line_tiles + 1][recursion_order] = {}, e[line_tiles + 1][recursion_order] = {};
    const double none[recursion_order] = {};
    double data[matrix_size];
    const auto load = [&](int tile) {
        for (int j = 0; j < matrix_size; ++j) data[j] = in[(tile * matrix_size + j) * warp_size + lane_id()];
    };
    for (int tile = 0; tile < line_tiles; ++tile) {
        load(tile);
        filter_forwards(data, f, none);
        for (int k = 0; k < recursion_order; ++k) p[tile + 1][k] = data[matrix_size - 1 - k];
        add_product(p[tile + 1], f.over, p[tile]);
        filter_backwards(data, f, none);
        for (int k = 0; k < recursion_order; ++k) e[tile][k] = data[k];
    }
    add_product(e[line_tiles], f.end, p[line_tiles]);
    for (int tile = line_tiles - 1; tile >= 0; --tile) {
        add_product(e[tile], f.turned, p[tile]);
        add_product(e[tile], f.over, e[tile + 1]);
    }
    for (int tile = 0; tile < line_tiles; ++tile) {
        load(tile);
        filter_forwards(data, f, none);
        filter_backwards(data, f, none);
        for (int j = 0; j < matrix_size; ++j) {
            double sum = data[j];
            for (int k = 0; k < recursion_order; ++k)
                sum += f.from_prologue[k][j] * p[tile][k] + f.from_epilogue[k][j] * e[tile + 1][k];
            out[(tile * matrix_size + j) * warp_size + lane_id()] = sum;
        }
    }
}

/// The recursion as it is written, over the line and the zeros behind it.
TEST_F(device_recursion, tiles_and_their_carries_are_the_line_at_once) {
    constexpr std::size_t length = line_tiles * matrix_size;
    for (const double sigma : {1.0, 4.0, 20.0}) {
        const recursion<double> f = recursion_of(sigma);
        EXPECT_NEAR(f.gain + f.a[0] + f.a[1] + f.a[2], 1, 1e-12);  // a constant stays what it is
        std::vector<double> x(length * warp_size);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 7919 % 211) - 100;
        const device_buffer in = upload(x), out = upload(std::vector<double>(x.size(), 9));
        launch(filter_tiles_kernel, {.block = 32}, stream(), as<const double>(in), as<double>(out), f);
        const auto got = download<double>(out);
        for (std::size_t lane = 0; lane < warp_size; ++lane) {
            std::vector<double> y(length + static_cast<std::size_t>(60 * sigma));
            for (std::size_t i = 0; i < length; ++i) y[i] = x[i * warp_size + lane];
            for (int turn = 0; turn < 2; ++turn) {
                double before[3] = {};
                for (double& v : y) {
                    v = f.gain * v + f.a[0] * before[0] + f.a[1] * before[1] + f.a[2] * before[2];
                    before[2] = before[1];
                    before[1] = before[0];
                    before[0] = v;
                }
                std::reverse(y.begin(), y.end());
            }
            for (std::size_t i = 0; i < length; ++i)
                ASSERT_NEAR(got[i * warp_size + lane], y[i], 1e-8) << sigma << ", " << i;
        }
    }
}

/// That the exhibit's last kernel begins with the carries instead makes the same values.
__global__ void filter_begun_kernel(const float* in, float* out, const recursion<float> f) {
    float data[matrix_size], carry[recursion_order];
    for (int j = 0; j < matrix_size; ++j) data[j] = in[j * warp_size + lane_id()];
    for (int k = 0; k < recursion_order; ++k) carry[k] = static_cast<float>(k + lane_id());
    filter_forwards(data, f, carry);
    filter_backwards(data, f, carry);
    for (int j = 0; j < matrix_size; ++j) out[j * warp_size + lane_id()] = data[j];
}

TEST_F(device_recursion, begins_with_what_is_around_a_tile) {
    const recursion<double> f = recursion_of(3);
    std::vector<float> x(matrix_size * warp_size);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 31 % 97);
    const device_buffer in = upload(x), out = upload(std::vector<float>(x.size(), 9));
    launch(filter_begun_kernel, {.block = 32}, stream(), as<const float>(in), as<float>(out), rounded<float>(f));
    const auto got = download<float>(out);
    for (std::size_t lane = 0; lane < warp_size; ++lane) {
        const auto l = static_cast<double>(lane);
        const double carry[recursion_order] = {l, l + 1, l + 2};
        std::vector<double> line(matrix_size);
        for (std::size_t j = 0; j < line.size(); ++j) line[j] = static_cast<double>(x[j * warp_size + lane]);
        line = filtered(line, f, carry, carry);
        for (std::size_t j = 0; j < line.size(); ++j)
            ASSERT_NEAR(static_cast<double>(got[j * warp_size + lane]), line[j], 0.01);
    }
}

}  // namespace
}  // namespace boxsum::cuda
