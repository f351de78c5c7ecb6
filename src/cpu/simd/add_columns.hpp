#pragma once

// Sums of columns over rows, one channel or several. Part of scan_kernels.hpp.

#include "cpu/simd/row_group.hpp"

namespace boxsum::cpu {
namespace {

template <typename In, typename Sum, bool Square>
void add_columns(const void* image, std::int64_t image_stride, std::int64_t rows, std::int64_t elements, void* sums) {
    constexpr int lanes = vec<Sum>::lanes;
    constexpr int together = 8;  // vectors of sums that stay in registers
    auto* const out = static_cast<Sum*>(sums);
    const auto terms = [](vec<Sum> pixels) __attribute__((always_inline)) {
        if constexpr (Square) return square(pixels);
        return pixels;
    };
    std::int64_t i = 0;
    for (; i + together * lanes <= elements; i += together * lanes) {
        vec<Sum> s[together];
        for (int k = 0; k < together; ++k) s[k] = load(out + i + k * lanes);
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto* const x = reinterpret_cast<const In*>(at(image, r * image_stride)) + i;
            for (int k = 0; k < together; ++k) s[k] = add(s[k], terms(load_pixels<In, Sum>(x + k * lanes)));
        }
        for (int k = 0; k < together; ++k) store(out + i + k * lanes, s[k]);
    }
    for (; i < elements; i += lanes) {
        const int count = elements - i < lanes ? static_cast<int>(elements - i) : lanes;
        vec<Sum> s = load_first(out + i, count);
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto* const x = reinterpret_cast<const In*>(at(image, r * image_stride)) + i;
            s = add(s, terms(load_pixels_edge<In, Sum>(x, count)));
        }
        store_edge(out + i, s, count);
    }
}

}  // namespace
}  // namespace boxsum::cpu
