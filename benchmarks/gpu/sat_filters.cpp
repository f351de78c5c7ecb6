#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"
#include "measure/buffer_sets.hpp"
#include "measure/json_line.hpp"
#include "sat_sections.hpp"

#include <boxsum/cuda/filters.hpp>
#include <boxsum/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

/// Wall-clock milliseconds, the best of a few.
template <typename F>
double best_milliseconds(F f) {
    double best = 1e300;
    for (int i = 0; i < 5; ++i) {
        const auto start = std::chrono::steady_clock::now();
        f();
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        best = std::min(best, took.count());
    }
    return best;
}

/// On 300 windows inside the image, wherever a generator of random numbers puts them.
std::string verdict_on_means(const void* image, const void* means, std::int64_t rows, std::int64_t cols,
                             std::int64_t radius) {
    const auto* const pixels = static_cast<const std::uint8_t*>(image);
    const auto* const found = static_cast<const std::uint8_t*>(means);
    std::mt19937_64 random(static_cast<std::uint64_t>(radius));
    std::uniform_int_distribution<std::int64_t> any_row(radius, rows - 1 - radius), any_col(radius, cols - 1 - radius);
    for (int i = 0; i < 300; ++i) {
        const std::int64_t row = any_row(random), col = any_col(random), side = 2 * radius + 1;
        std::int64_t sum = 0;
        for (std::int64_t r = row - radius; r <= row + radius; ++r)
            for (std::int64_t c = col - radius; c <= col + radius; ++c) sum += pixels[r * cols + c];
        if (found[row * cols + col] != (2 * sum + side * side) / (2 * side * side))
            return "WRONG at row " + std::to_string(row) + ", column " + std::to_string(col);
    }
    return "equal in 300 windows";
}

}  // namespace

void filters_section(cuda::stream_ref stream) {
    const std::int64_t rows = 32768, cols = 32768;
    const view_shape shape = packed(dtype::u8, rows, cols);
    const std::size_t bytes = cuda::span_bytes(shape);
    const cuda::pinned_buffer from(bytes), to(bytes);
    std::memset(to.data(), 0, bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        static_cast<std::uint8_t*>(from.data())[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);

    // What the link does both ways at once: as one copy, and as strips, whichever it does faster.
    const cuda::stream up, down;
    const cuda::device_buffer a(bytes, up), b(bytes, down);
    up.synchronize();
    down.synchronize();
    const auto both_ways = [&](std::size_t part) {
        return best_milliseconds([&] {
            for (std::size_t at = 0; at < bytes; at += part) {
                BOXSUM_CUDA_TRY(cudaMemcpyAsync(static_cast<std::byte*>(a.data()) + at,
                                                static_cast<const std::byte*>(from.data()) + at, part,
                                                cudaMemcpyHostToDevice, up.get()));
                BOXSUM_CUDA_TRY(cudaMemcpyAsync(static_cast<std::byte*>(to.data()) + at,
                                                static_cast<const std::byte*>(b.data()) + at, part,
                                                cudaMemcpyDeviceToHost, down.get()));
            }
            up.synchronize();
            down.synchronize();
        });
    };
    const double link = std::min(both_ways(bytes), both_ways(std::size_t{16} << 20));
    std::vector<std::uint8_t> pageable_from(bytes), pageable_to(bytes, 2);
    std::memcpy(pageable_from.data(), from.data(), bytes);
    const auto page_locked = [&](const std::string& filter, const view_shape& s, std::int64_t radius) {
        filter_options options;
        options.window = window_radius(radius);
        const double pinned = best_milliseconds([&] {
            cuda::box_filter({const_any_view{from.data(), s}}, {any_view{to.data(), s}}, stream, options);
        });
        json_line()
            .text("section", "filters")
            .text("filter", filter)
            .number("n", static_cast<double>(s.cols))
            .number("radius", static_cast<double>(radius))
            .number("ms", pinned)
            .number("link_ms", link)
            .number("of_link", link / pinned)
            .text("check", s.type == dtype::u8 ? verdict_on_means(from.data(), to.data(), s.rows, s.cols, radius)
                                               : "by gpu_filters_test")
            .print();
    };
    for (const std::int64_t radius : {1, 15, 128, 250}) page_locked("box 8u, page-locked", shape, radius);
    try {  // as many bytes of wider pixels, in half as many rows, or half as many of both
        page_locked("box 16u of 16384 rows, page-locked", packed(dtype::u16, rows / 2, cols), 15);
        page_locked("box 32f of 16384 rows, page-locked", packed(dtype::f32, rows / 2, cols / 2), 15);
    } catch (const unsupported&) {  // BOXSUM_TYPES has no table for them
    }
    filter_options options;
    options.window = window_radius(15);
    const double pageable = best_milliseconds([&] {
        cuda::box_filter({const_any_view{pageable_from.data(), shape}}, {any_view{pageable_to.data(), shape}}, stream,
                         options);
    });
    json_line()
        .text("section", "filters")
        .text("filter", "box 8u, pageable")
        .number("n", static_cast<double>(rows))
        .number("radius", 15)
        .number("ms", pageable)
        .number("link_ms", link)
        .number("of_link", link / pageable)
        .text("check", verdict_on_means(pageable_from.data(), pageable_to.data(), rows, cols, 15))
        .print();

    // The same image on the device, where nothing travels.
    const cuda::device_buffer image(bytes, stream), result(4 * bytes, stream);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(image.data(), from.data(), bytes, cudaMemcpyHostToDevice, stream.get()));
    const auto resident = [&](const char* filter, double radius, bool means, auto run) {
        const double ms = best_milliseconds(run);
        if (means) {
            BOXSUM_CUDA_TRY(cudaMemcpyAsync(to.data(), result.data(), bytes, cudaMemcpyDeviceToHost, stream.get()));
            stream.synchronize();
        }
        json_line()
            .text("section", "filters")
            .text("filter", filter)
            .number("n", static_cast<double>(rows))
            .number("radius", radius)
            .number("ms", ms)
            .number("gigapixels_per_second", static_cast<double>(rows * cols) / ms / 1e6)
            .text("check", means
                               ? verdict_on_means(from.data(), to.data(), rows, cols, static_cast<std::int64_t>(radius))
                               : "by gpu_filters_test")
            .print();
    };
    const const_any_view pixels{image.data(), shape};
    const any_view bytes_out{result.data(), shape}, floats_out{result.data(), packed(dtype::f32, rows, cols)};
    for (const std::int64_t radius : {1, 15, 250}) {
        options.window = window_radius(radius);
        resident("box 8u, on the device", static_cast<double>(radius), true,
                 [&] { cuda::box_filter({pixels}, {bytes_out}, stream, options); });
    }
    const filter_options of_31{.window = 31};
    resident("Bradley 8u, on the device", 15, false, [&] {
        cuda::adaptive_threshold({pixels}, {bytes_out}, stream, {.method = threshold_method::bradley}, of_31);
    });
    resident("Sauvola 8u, on the device", 15, false,
             [&] { cuda::adaptive_threshold({pixels}, {bytes_out}, stream, {}, of_31); });
    resident("local contrast 8u to 32f, on the device", 15, false,
             [&] { cuda::local_contrast({pixels}, {floats_out}, stream, {}, of_31); });
    const cuda::device_buffer radii(bytes, stream);
    BOXSUM_CUDA_TRY(cudaMemsetAsync(radii.data(), 15, bytes, stream.get()));
    resident("box 8u, a radius map of 15, on the device", 15, true, [&] {
        cuda::variable_box_filter({pixels, const_any_view{radii.data(), shape}}, {bytes_out}, stream);
    });
}

}  // namespace boxsum::bench
