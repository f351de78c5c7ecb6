// What the papers put on top of tables: variance shadows, and the filters that a table is a case of.

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/zoo/recursive_gaussian.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

#include <boxsum/cuda/shadow.hpp>
#include <boxsum/shadow.hpp>
#include <boxsum/table.hpp>

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

struct buffer {
    view_shape shape;
    cuda::device_buffer memory;

    buffer(const view_shape& s, const std::vector<float>& values, cuda::stream_ref stream)
        : shape(s), memory(values.size() * sizeof(float), stream) {
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(memory.data(), values.data(), memory.size(), cudaMemcpyHostToDevice, stream.get()));
        stream.synchronize();
    }
    any_view view() const { return {memory.data(), shape}; }
};

std::vector<std::byte> downloaded(const const_any_view& from) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(from.shape.rows * from.shape.row_stride));
    BOXSUM_CUDA_TRY(cudaMemcpy(bytes.data(), from.data, bytes.size(), cudaMemcpyDeviceToHost));
    return bytes;
}

/// A frame of a camera that looks at a map of n x n: pixels side by side see parts of the map that are side by side,
/// and whose sides grow from `smallest` pixels of the map at the top of the frame to `largest` at its bottom.
struct frame {
    static constexpr std::int64_t rows = 1080, cols = 1920;
    std::vector<float> receivers, rectangles;

    frame(std::int64_t n, double smallest, double largest) {
        std::mt19937 random(7);
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < cols; ++c) {
                const double down = static_cast<double>(r) / rows, across = static_cast<double>(c) / cols,
                             side = smallest + (largest - smallest) * down;
                receivers.push_back(static_cast<float>(random() % 256));
                for (const double part :
                     {down * static_cast<double>(n) - side / 2, across * static_cast<double>(n) - side / 2, side, side})
                    rectangles.push_back(static_cast<float>(part));
            }
    }
};

void shadows_of(type_pair types, dtype of_squares, std::int64_t n, double largest, cuda::stream_ref stream) {
    const buffer_sets sets(packed(types.input, n, n), packed(types.table, n, n), packed(of_squares, n, n), stream);
    const planned_table moments(sets, table_layout::inclusive, "auto", stream);
    const frame seen(n, 2, largest);
    const buffer receiver(packed(dtype::f32, frame::rows, frame::cols), seen.receivers, stream),
        rectangle(packed(dtype::f32, frame::rows, frame::cols, 4), seen.rectangles, stream),
        lit(packed(dtype::f32, frame::rows, frame::cols), std::vector<float>(seen.receivers.size()), stream);
    const shadow_options how{.min_variance = 1, .bleeding = 0.2};
    const auto shade = [&](int i, cuda::stream_ref s) {
        cuda::variance_shadows_async({{{sets.table(i)}, {sets.squares(i)}}, receiver.view(), rectangle.view()},
                                     {lit.view()}, s, how);
    };
    const std::vector<double> us = times_of({moments.as_runner(), {"shade", shade}}, 8, false, stream);

    moments.run(0, stream);
    shade(0, stream);
    stream.synchronize();
    std::vector<std::byte> sums = downloaded(sets.table(0)), squares = downloaded(sets.squares(0));
    std::vector<float> expected(seen.receivers.size());
    const auto host = [](auto& values, const view_shape& s) { return any_view{values.data(), s}; };
    std::vector<float> receivers = seen.receivers, rectangles = seen.rectangles;
    variance_shadows({{{host(sums, sets.table(0).shape)}, {host(squares, sets.squares(0).shape)}},
                      host(receivers, receiver.shape),
                      host(rectangles, rectangle.shape)},
                     {host(expected, lit.shape)}, how);
    const std::vector<std::byte> found = downloaded(lit.view());
    json_line()
        .text("section", "shadows")
        .text("types", std::string(name_of(types)) + std::string(name_of(of_squares)))
        .number("map", static_cast<double>(n))
        .number("rows", frame::rows)
        .number("cols", frame::cols)
        .number("largest_side", largest)
        .number("tables_us", us[0])
        .number("shade_us", us[1])
        .number("frame_us", us[0] + us[1])
        .text("check",
              std::memcmp(found.data(), expected.data(), found.size()) == 0 ? "equal" : "WRONG: not the host's bits")
        .print();
}

/// Pixels here and there against the Gaussian that the filter stands for: within 0.6 % of the range of values.
template <typename T>
std::string verdict_on_gaussian(const buffer_sets& sets, std::int64_t n, double sigma) {
    const std::vector<std::byte> image = downloaded(sets.image(0)), result = downloaded(sets.table(0));
    const auto* const pixels = reinterpret_cast<const T*>(image.data());
    const auto* const blurred = reinterpret_cast<const T*>(result.data());
    const auto [least, most] = std::minmax_element(pixels, pixels + n * n);
    const auto radius = static_cast<std::int64_t>(4 * sigma + 0.5);
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t d = -radius; d <= radius; ++d) {
        weights.push_back(std::exp(-0.5 * static_cast<double>(d * d) / (sigma * sigma)));
        sum += weights.back();
    }
    std::mt19937_64 random(9);
    std::uniform_int_distribution<std::int64_t> any(0, n - 1);
    for (int i = 0; i < 300; ++i) {
        const std::int64_t row = i < 20 ? 0 : any(random), col = i % 20 == 0 ? n - 1 : any(random);
        double exact = 0;
        for (std::int64_t y = -radius; y <= radius; ++y)
            for (std::int64_t x = -radius; x <= radius; ++x)
                if (row + y >= 0 && row + y < n && col + x >= 0 && col + x < n)
                    exact += weights[static_cast<std::size_t>(y + radius)] *
                             weights[static_cast<std::size_t>(x + radius)] / (sum * sum) *
                             static_cast<double>(pixels[(row + y) * n + col + x]);
        const double off = std::fabs(exact - static_cast<double>(blurred[row * n + col]));
        if (!(off <= 0.006 * static_cast<double>(*most - *least)))
            return "WRONG at row " + std::to_string(row) + ", column " + std::to_string(col);
    }
    return "within 0.6 % of the range at 300 pixels";
}

}  // namespace

void shadows_section(cuda::stream_ref stream) {
    for (const std::int64_t n : {1024, 2048})
        for (const double largest : {16.0, 64.0, 256.0}) {
            shadows_of({dtype::f32, dtype::f64}, dtype::f64, n, largest, stream);
            shadows_of({dtype::u16, dtype::u32}, dtype::u64, n, largest, stream);
        }
}

void recursive_section(cuda::stream_ref stream) {
    for (const dtype type : {dtype::f32, dtype::f64})
        for (const std::int64_t n : {1024, 4096, 8192}) {
            const double sigma = 5;
            const buffer_sets sets(packed(type, n, n), packed(type, n, n), {}, stream);
            const cuda::device_buffer workspace(cuda::recursive_gaussian_bytes(sets.image(0).shape), stream);
            std::vector<runner> runners = references(sets);
            const std::size_t first = runners.size();
            runners.push_back({"2R1W", [&](int i, cuda::stream_ref s) {
                                   cuda::enqueue_recursive_gaussian(sets.image(i), sets.table(i), sigma,
                                                                    workspace.data(), s);
                               }});
            const std::vector<double> us = times_of(runners, 8, false, stream);
            const std::vector<double> of_references(us.begin(), us.begin() + static_cast<std::ptrdiff_t>(first));
            const double copy = best_reference({type, type}, runners, of_references, 0).us;
            runners[first].launch(0, stream);
            stream.synchronize();
            json_line()
                .text("section", "recursive")
                .text("type", name_of(type))
                .number("n", static_cast<double>(n))
                .number("sigma", sigma)
                .number("us", us[first])
                .number("copy_us", copy)
                .number("x", us[first] / copy)
                .text("check", type == dtype::f32 ? verdict_on_gaussian<float>(sets, n, sigma)
                                                  : verdict_on_gaussian<double>(sets, n, sigma))
                .print();
        }
}

}  // namespace boxsum::bench
