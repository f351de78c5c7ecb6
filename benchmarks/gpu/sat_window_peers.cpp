#include "competitors/convolve_peers.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "measure/buffer_sets.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

#include <boxsum/cuda/filters.hpp>
#include <boxsum/filters.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

double at(const std::byte* pixels, dtype type, std::int64_t i) {
    if (type == dtype::u8) return std::to_integer<int>(pixels[i]);
    if (type == dtype::u16) {
        std::uint16_t value;
        std::memcpy(&value, pixels + 2 * i, 2);
        return value;
    }
    float value;
    std::memcpy(&value, pixels + 4 * i, 4);
    return static_cast<double>(value);
}

/// Rows of NPP's means beside the CPU's, where windows are inside the image: what a border does differs. Its integers
/// may be rounded otherwise.
std::string verdict_on_means(const buffer_sets& sets, std::int64_t n, std::int64_t radius) {
    constexpr std::int64_t high = 4;
    const dtype type = sets.image(0).shape.type;
    const std::size_t size = size_of(type);
    const std::int64_t first = n / 2, top = first - radius, bottom = first + high + radius;
    const auto rows_of = [&](const void* device, std::int64_t from, std::int64_t to) {
        std::vector<std::byte> host(static_cast<std::size_t>((to - from) * n) * size);
        BOXSUM_CUDA_TRY(cudaMemcpy(host.data(),
                                   static_cast<const std::byte*>(device) + static_cast<std::size_t>(from * n) * size,
                                   host.size(), cudaMemcpyDeviceToHost));
        return host;
    };
    const std::vector<std::byte> pixels = rows_of(sets.image(0).data, top, bottom);
    const std::vector<std::byte> found = rows_of(sets.table(0).data, first, first + high);
    std::vector<float> means(static_cast<std::size_t>(high * n));
    filter_inputs in{const_any_view{pixels.data(), packed(type, bottom - top, n)}};
    in.at = {top, 0};
    in.whole = {n, n};
    in.results = {first, first + high};
    local_statistics(in, {.mean = {means.data(), packed(dtype::f32, high, n)}}, {.window = window_radius(radius)});
    for (std::int64_t row = 0; row < high; ++row)
        for (std::int64_t col = radius; col < n - radius; ++col) {
            const double mean = static_cast<double>(means[static_cast<std::size_t>(row * n + col)]);
            const double off = std::fabs(at(found.data(), type, row * n + col) - mean);
            if (!(off <= (type == dtype::f32 ? 1e-3 * (1 + std::fabs(mean)) : 1.0)))
                return "WRONG at row " + std::to_string(first + row) + ", column " + std::to_string(col);
        }
    return "within a step inside";
}

}  // namespace

/// NPP's box filter takes the square of the radius or, at best, a multiple of it; so there are few rounds of it.
void window_peers_section(cuda::stream_ref stream) {
    const auto line = [] {
        json_line row;
        row.text("section", "window-peers");
        return row;
    };
    if (const std::string absent = npp_filter_absent(); !absent.empty()) {
        line().text("peer", "NPP").text("note", absent).print();
        return;
    }
    for (const std::int64_t n : {4096, 16384})
        for (const dtype type : {dtype::u8, dtype::u16, dtype::f32})
            for (const std::int64_t radius : {3, 15, 250}) {
                if (n > 4096 && radius > 100) {  // 2.5e5 reads a pixel: seconds a call
                    line()
                        .text("peer", "NPP nppiFilterBoxBorder")
                        .text("filter", std::string("box mean ") + std::string(name_of(type)))
                        .number("n", static_cast<double>(n))
                        .number("radius", static_cast<double>(radius))
                        .text("note", "takes seconds a call, not measured")
                        .print();
                    continue;
                }
                const view_shape shape = packed(type, n, n);
                const buffer_sets sets(shape, shape, {}, stream);
                const filter_options options{.window = window_radius(radius)};
                const cuda::box_filter_plan plan({sets.image(0)}, {sets.table(0)}, options);
                cuda::workspace workspace(plan.workspace_bytes(), stream);
                const auto theirs = [&](int i) {
                    npp_box_mean(type, sets.image(i).data, sets.table(i).data, n, static_cast<int>(radius), stream);
                };
                const auto ours = [&](int i) { plan.run_async({sets.image(i)}, {sets.table(i)}, workspace, stream); };
                const auto median_us = [&](const auto& launch, int rounds) {
                    const stopwatch time_us = device_stopwatch(stream);
                    launch(1);
                    std::vector<double> us;
                    for (int i = 0; i < rounds; ++i) us.push_back(time_us([&] { launch(i); }));
                    std::nth_element(us.begin(), us.begin() + rounds / 2, us.end());
                    return us[static_cast<std::size_t>(rounds / 2)];
                };
                const double our_us = median_us(ours, 15), their_us = median_us(theirs, 5);
                theirs(0);
                stream.synchronize();
                line()
                    .text("peer", "NPP nppiFilterBoxBorder")
                    .text("filter", std::string("box mean ") + std::string(name_of(type)))
                    .number("n", static_cast<double>(n))
                    .number("radius", static_cast<double>(radius))
                    .number("us", their_us)
                    .number("boxsum_us", our_us)
                    .text("check", verdict_on_means(sets, n, radius))
                    .print();
            }
}

}  // namespace boxsum::bench
