#include "measure/host_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>

namespace boxsum::bench {
namespace {

template <typename T>
double largest_relative_difference(const void* a, const void* b, std::int64_t elements) {
    const auto* const x = static_cast<const T*>(a);
    const auto* const y = static_cast<const T*>(b);
    double largest = 0;
    for (std::int64_t i = 0; i < elements; ++i) {
        const auto p = static_cast<double>(x[i]);
        const auto q = static_cast<double>(y[i]);
        if (p == q) continue;
        const double difference = std::abs(p - q) / std::max(std::abs(q), 1e-30);
        if (std::isnan(difference)) return difference;  // compares as too large
        largest = std::max(largest, difference);
    }
    return largest;
}

}  // namespace

void fill_random(void* data, dtype type, std::int64_t elements, std::uint64_t seed) {
    std::mt19937_64 generate(seed);
    if (type == dtype::f32 || type == dtype::f64 || type == dtype::f16) {
        for (std::int64_t i = 0; i < elements; ++i) {
            const double x = static_cast<double>(generate() >> 11) * 0x1p-53;
            if (type == dtype::f32) static_cast<float*>(data)[i] = static_cast<float>(x);
            if (type == dtype::f64) static_cast<double*>(data)[i] = x;
            if (type == dtype::f16) static_cast<float16*>(data)[i] = to_float16(static_cast<float>(x));
        }
        return;
    }
    const auto bytes = static_cast<std::size_t>(elements) * size_of(type);
    for (std::size_t i = 0; i < bytes; i += 8) {
        const std::uint64_t word = generate();
        std::memcpy(static_cast<std::byte*>(data) + i, &word, std::min<std::size_t>(8, bytes - i));
    }
}

view_shape aligned_shape(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t alignment) {
    view_shape s;
    s.type = type;
    s.rows = rows;
    s.cols = cols;
    const std::int64_t bytes = cols * static_cast<std::int64_t>(size_of(type));
    s.row_stride = (bytes + alignment - 1) / alignment * alignment;
    s.plane_stride = rows * s.row_stride;
    return s;
}

bool same_table(const const_any_view& got, const const_any_view& expected) {
    const view_shape& s = got.shape;
    const std::int64_t row = s.cols * s.channels;
    for (std::int64_t r = 0; r < s.rows; ++r) {
        const void* const a = static_cast<const std::byte*>(got.data) + r * s.row_stride;
        const void* const b = static_cast<const std::byte*>(expected.data) + r * expected.shape.row_stride;
        const double terms = static_cast<double>(s.rows + s.cols);
        if (s.type == dtype::f32) {
            if (!(largest_relative_difference<float>(a, b, row) <= terms * 0x1p-24)) return false;
        } else if (s.type == dtype::f64) {
            if (!(largest_relative_difference<double>(a, b, row) <= terms * 0x1p-53)) return false;
        } else if (std::memcmp(a, b, static_cast<std::size_t>(row) * size_of(s.type)) != 0) {
            return false;
        }
    }
    return true;
}

}  // namespace boxsum::bench
