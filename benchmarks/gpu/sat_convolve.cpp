#include "competitors/convolve_peers.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

#include <boxsum/cuda/convolve.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <cuda_runtime_api.h>

#include <cmath>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

/// What is right: how far a sum may be off, in products' magnitudes, and how many pixels of the border are left alone.
struct demands {
    double relative;
    double absolute = 0;
    std::int64_t border = 0;
};

/// A pixel here and there against the definition in double; those of the border among them.
std::string verdict_on_sums(const buffer_sets& sets, std::int64_t n, int side, const std::vector<double>& weights,
                            const demands& wanted) {
    std::vector<float> image(static_cast<std::size_t>(n * n)), result(image.size());
    const std::size_t bytes = image.size() * sizeof(float);
    BOXSUM_CUDA_TRY(cudaMemcpy(image.data(), sets.image(0).data, bytes, cudaMemcpyDeviceToHost));
    BOXSUM_CUDA_TRY(cudaMemcpy(result.data(), sets.table(0).data, bytes, cudaMemcpyDeviceToHost));
    std::mt19937_64 random(static_cast<std::uint64_t>(side));
    const std::int64_t least = wanted.border, most = n - 1 - wanted.border;
    std::uniform_int_distribution<std::int64_t> any(least, most);
    for (int i = 0; i < 1000; ++i) {
        const std::int64_t row = i < 20 ? least : any(random), col = i % 40 == 0 ? most : any(random);
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
        if (!(std::fabs(found - exact) <= wanted.relative * magnitude + wanted.absolute))
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
        for (const char* algorithm : {"auto", "systolic", "tiled", "ssam", "direct"}) {
            if (side > (algorithm == std::string("systolic") ? 5 : algorithm == std::string("ssam") ? 20 : 64))
                continue;
            const cuda::convolve_plan& plan =
                plans.emplace_back(convolve_inputs{sets.image(0), kernel}, convolve_outputs{sets.table(0)},
                                   convolve_options{.algorithm = algorithm});
            runners.push_back({algorithm, [&sets, &plan, &workspace](int i, cuda::stream_ref s) {
                                   plan.run_async({sets.image(i)}, {sets.table(i)}, workspace, s);
                               }});
        }
        const std::size_t ours = runners.size();
        std::optional<cuda::device_buffer> turned;
        const auto pixels = [&sets](int i) { return static_cast<const float*>(sets.image(i).data); };
        const auto results = [&sets](int i) { return static_cast<float*>(sets.table(i).data); };
        if (const std::string absent = side > 20 ? "the figure ends at 20 x 20" : npp_filter_absent(); absent.empty()) {
            const std::vector<float> backwards(weights.rbegin(), weights.rend());
            turned.emplace(backwards.size() * sizeof(float), stream);
            BOXSUM_CUDA_TRY(cudaMemcpyAsync(turned->data(), backwards.data(), turned->size(), cudaMemcpyHostToDevice,
                                            stream.get()));
            stream.synchronize();
            runners.push_back({"NPP nppiFilter_32f_C1R", [&, side](int i, cuda::stream_ref s) {
                                   npp_filter(pixels(i), static_cast<const float*>(turned->data()), results(i), n, side,
                                              s);
                               }});
        } else {
            json_line()
                .text("section", "convolve")
                .text("peer", "NPP")
                .number("side", side)
                .text("note", absent)
                .print();
        }
        std::optional<fft_convolution> fft;
        try {
            fft.emplace(n, side, weights, stream);
            runners.push_back({"cuFFT", [&](int i, cuda::stream_ref s) { fft->run(pixels(i), results(i), s); }});
        } catch (const unsupported& e) {
            json_line()
                .text("section", "convolve")
                .text("peer", "cuFFT")
                .number("side", side)
                .text("note", e.what())
                .print();
        }
        const std::vector<double> us = times_of(runners, 4, false, stream);
        const std::vector<double> of_references(us.begin(), us.begin() + static_cast<std::ptrdiff_t>(first));
        const double copy = best_reference({dtype::f32, dtype::f32}, runners, of_references, 0).us;
        double of_weights = 0;
        for (const double w : weights) of_weights += std::fabs(w);
        for (std::size_t i = first; i < runners.size(); ++i) {
            demands wanted{(side * side + 2) * 0x1p-24};
            if (runners[i].name == "cuFFT") wanted.absolute = 255 * of_weights * 1e-5;  // of the image's norm
            if (i >= ours && runners[i].name != "cuFFT") wanted.border = side;
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
                .text("check", verdict_on_sums(sets, n, side, weights, wanted))
                .print();
        }
    }
}

}  // namespace boxsum::bench
