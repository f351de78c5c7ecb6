#include "cuda/runtime/cuda_try.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

#include <boxsum/cuda/convolve.hpp>

#include <cuda_runtime_api.h>

#include <cmath>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

/// A pixel here and there against the definition in double; those of the border among them.
std::string verdict_on_sums(const buffer_sets& sets, std::int64_t n, int side, const std::vector<double>& weights) {
    std::vector<float> image(static_cast<std::size_t>(n * n)), result(image.size());
    const std::size_t bytes = image.size() * sizeof(float);
    BOXSUM_CUDA_TRY(cudaMemcpy(image.data(), sets.image(0).data, bytes, cudaMemcpyDeviceToHost));
    BOXSUM_CUDA_TRY(cudaMemcpy(result.data(), sets.table(0).data, bytes, cudaMemcpyDeviceToHost));
    std::mt19937_64 random(static_cast<std::uint64_t>(side));
    std::uniform_int_distribution<std::int64_t> any(0, n - 1);
    for (int i = 0; i < 1000; ++i) {
        const std::int64_t row = i < 20 ? 0 : any(random), col = i % 40 == 0 ? n - 1 : any(random);
        double exact = 0, magnitude = 0;
        for (int r = 0; r < side; ++r)
            for (int c = 0; c < side; ++c) {
                const std::int64_t y = row + r - side / 2, x = col + c - side / 2;
                if (y < 0 || y >= n || x < 0 || x >= n) continue;
                const double product = weights[static_cast<std::size_t>(r * side + c)] *
                                       static_cast<double>(image[static_cast<std::size_t>(y * n + x)]);
                exact += product;
                magnitude += std::fabs(product);
            }
        const double found = static_cast<double>(result[static_cast<std::size_t>(row * n + col)]);
        if (!(std::fabs(found - exact) <= (side * side + 2) * 0x1p-24 * magnitude))
            return "WRONG at row " + std::to_string(row) + ", column " + std::to_string(col);
    }
    return "within the bound at 1000 pixels";
}

}  // namespace

/// Figure 4 of Chen et al. 2019 (SSAM): 8192 x 8192, 32f, kernels of 2 x 2 to 20 x 20 and larger ones.
void convolve_section(cuda::stream_ref stream) {
    constexpr std::int64_t n = 8192;
    const buffer_sets sets(packed(dtype::f32, n, n), packed(dtype::f32, n, n), {}, stream);
    for (const int side : {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 31, 64}) {
        std::vector<double> weights;
        for (int i = 0; i < side * side; ++i) weights.push_back(((i * 37) % 101 - 50) / 100.0);
        const image_view<const double> kernel(weights.data(), side, side);
        std::deque<cuda::convolve_plan> plans;
        cuda::workspace workspace(0, stream);  // nothing is copied
        std::vector<runner> runners = references(sets);
        const std::size_t first = runners.size();
        for (const char* algorithm : {"systolic", "ssam", "direct"}) {
            if (side > 20 && algorithm == std::string("ssam")) continue;
            const cuda::convolve_plan& plan =
                plans.emplace_back(convolve_inputs{sets.image(0), kernel}, convolve_outputs{sets.table(0)},
                                   convolve_options{.algorithm = algorithm});
            runners.push_back({algorithm, [&sets, &plan, &workspace](int i, cuda::stream_ref s) {
                                   plan.run_async(sets.image(i), {sets.table(i)}, workspace, s);
                               }});
        }
        const std::vector<double> us = times_of(runners, 4, false, stream);
        const std::vector<double> of_references(us.begin(), us.begin() + static_cast<std::ptrdiff_t>(first));
        const double copy = best_reference({dtype::f32, dtype::f32}, runners, of_references, 0).us;
        for (std::size_t i = first; i < runners.size(); ++i) {
            runners[i].launch(0, stream);
            stream.synchronize();
            json_line()
                .text("section", "convolve")
                .text("algorithm", runners[i].name)
                .number("side", side)
                .number("n", static_cast<double>(n))
                .number("us", us[i])
                .number("copy_us", copy)
                .number("x", us[i] / copy)
                .number("gflops", 2.0 * side * side * static_cast<double>(n * n) / us[i] / 1000)
                .text("check", verdict_on_sums(sets, n, side, weights))
                .print();
        }
    }
}

}  // namespace boxsum::bench
