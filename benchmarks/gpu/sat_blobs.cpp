#include "cuda/runtime/cuda_try.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

#include <boxsum/blobs.hpp>
#include <boxsum/cuda/blobs.hpp>
#include <boxsum/cuda/memory.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

constexpr std::int64_t n = 4096;

/// Round spots of several sizes, one in every square of 64 x 64, on a background with noise.
std::vector<std::uint8_t> spots() {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(n * n));
    std::mt19937 random(11);
    for (std::int64_t row = 0; row < n; ++row)
        for (std::int64_t col = 0; col < n; ++col) {
            const auto down = static_cast<double>(row % 64 - 32), across = static_cast<double>(col % 64 - 32);
            const auto sigma = static_cast<double>(2 + (row / 64 + col / 64) % 8);
            const double spot = 160 * std::exp(-(down * down + across * across) / (2 * sigma * sigma));
            pixels[static_cast<std::size_t>(row * n + col)] = static_cast<std::uint8_t>(40 + spot + random() % 16);
        }
    return pixels;
}

}  // namespace

void blob_rows(cuda::stream_ref stream) {
    const std::vector<std::uint8_t> pixels = spots();
    const std::size_t area = pixels.size();
    // Copies of one image, more bytes than the cache holds, and as many determinants.
    constexpr int sets = 5;
    std::vector<cuda::device_buffer> images, determinants, copies;
    for (int i = 0; i < sets; ++i) {
        images.emplace_back(area, stream);
        determinants.emplace_back(4 * area, stream);
        copies.emplace_back(5 * area, stream);
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(images.back().data(), pixels.data(), area, cudaMemcpyHostToDevice, stream.get()));
    }
    const blob_inputs on_host{image_view<const std::uint8_t>(pixels.data(), n, n)};
    const auto in = [&images](int i) {
        const void* const data = images[static_cast<std::size_t>(i % sets)].data();
        return blob_inputs{image_view<const std::uint8_t>(static_cast<const std::uint8_t*>(data), n, n)};
    };
    const auto out = [&determinants](int i) {
        void* const data = determinants[static_cast<std::size_t>(i % sets)].data();
        return hessian_outputs{image_view<float>(static_cast<float*>(data), n, n)};
    };
    const hessian_options scale{.sigma = 4};
    const blob_options options{.sigmas = blob_scales(2, 10, 5)};
    const cuda::box_hessian_plan plan(in(0), out(0), scale);
    cuda::workspace workspace(plan.workspace_bytes(), stream), of_blobs;
    std::vector<blob> found;
    const std::size_t half = 5 * area / 2;
    const std::vector<runner> runners = {
        {"copy",
         [&](int i, cuda::stream_ref s) {
             auto* const to = static_cast<std::byte*>(copies[static_cast<std::size_t>(i % sets)].data());
             BOXSUM_CUDA_TRY(cudaMemcpyAsync(to, to + half, half, cudaMemcpyDeviceToDevice, s.get()));
         }},
        {"box Hessian", [&](int i, cuda::stream_ref s) { plan.run_async(in(i), out(i), workspace, s); }},
        {"blobs", [&](int i, cuda::stream_ref s) { found = cuda::find_blobs(in(i), of_blobs, s, options); }}};
    const std::vector<double> us = times_of(runners, 2, false, stream);

    BOXSUM_CUDA_TRY(cudaMemsetAsync(determinants[0].data(), 0x55, 4 * area, stream.get()));
    plan.run_async(in(0), out(0), workspace, stream);
    std::vector<float> got(area), expected(area);
    BOXSUM_CUDA_TRY(
        cudaMemcpyAsync(got.data(), determinants[0].data(), 4 * area, cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    box_hessian(on_host, {image_view<float>(expected.data(), n, n)}, scale);
    json_line()
        .text("section", "windows")
        .text("filter", "box Hessian 8u")
        .number("n", static_cast<double>(n))
        .number("sigma", scale.sigma)
        .number("us", us[1])
        .number("copy_us", us[0])
        .number("x", us[1] / us[0])
        .text("check", std::memcmp(got.data(), expected.data(), 4 * area) == 0 ? "equal" : "WRONG: not the host's bits")
        .print();
    const std::vector<blob> on_cpu = find_blobs(on_host, options);
    json_line()
        .text("section", "windows")
        .text("filter", "blobs 8u")
        .number("n", static_cast<double>(n))
        .number("scales", static_cast<double>(options.sigmas.size()))
        .number("blobs", static_cast<double>(found.size()))
        .number("us", us[2])
        .text("check", !on_cpu.empty() && found == on_cpu ? "equal" : "WRONG: not the host's blobs")
        .print();
}

}  // namespace boxsum::bench
