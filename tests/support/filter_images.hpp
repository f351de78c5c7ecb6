#pragma once

#include "core/visit_types.hpp"
#include "verify/patterns.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/filters.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

/// Images of filter tests, on the host and on a device.
namespace boxsum::test {

/// How many random cases a test draws: BOXSUM_FILTER_CASES, or as many as it says itself.
inline int random_cases(int otherwise) {
    const char* const text = std::getenv("BOXSUM_FILTER_CASES");
    return text == nullptr ? otherwise : std::atoi(text);
}

/// What a test draws its cases from, other ones for each BOXSUM_FILTER_SEED.
inline std::uint64_t random_seed(std::uint64_t seed) {
    const char* const text = std::getenv("BOXSUM_FILTER_SEED");
    return text == nullptr ? seed : seed ^ std::strtoull(text, nullptr, 10) << 32;
}

inline view_shape packed(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t channels,
                         std::int64_t planes = 1) {
    view_shape s{type, planes, rows, cols, channels, 0, 0};
    s.row_stride = cols * channels * static_cast<std::int64_t>(size_of(type));
    s.plane_stride = rows * s.row_stride;
    return s;
}

/// Host memory of a shape, poisoned.
struct host_image {
    std::vector<std::byte> bytes;
    view_shape shape;

    explicit host_image(const view_shape& s) : bytes(cuda::span_bytes(s), std::byte{0x5a}), shape(s) {}
    any_view view() { return {bytes.data(), shape}; }
};

inline host_image random_image(const view_shape& shape, unsigned seed) {
    host_image image(shape);
    fill(image.view(), pattern::random, seed);
    return image;
}

/// Device memory for images, freed together.
class device_images {
  public:
    explicit device_images(cuda::stream_ref stream) : stream_(stream) {}

    any_view allocate(const view_shape& shape) {
        memory_.emplace_back(cuda::span_bytes(shape), stream_);
        return {memory_.back().data(), shape};
    }
    /// With the device's row stride.
    any_view allocate_like(const view_shape& s) {
        return allocate(cuda::device_shape(s.type, s.rows, s.cols, s.channels, s.planes));
    }
    any_view upload(const const_any_view& host) {
        const any_view device = allocate_like(host.shape);
        cuda::copy(host, device, stream_);
        return device;
    }
    /// With the host's row stride.
    any_view upload_packed(const const_any_view& host) {
        const any_view device = allocate(host.shape);
        cuda::copy(host, device, stream_);
        return device;
    }

  private:
    cuda::stream_ref stream_;
    std::deque<cuda::device_buffer> memory_;
};

/// The largest difference of two images; infinite where one is NaN and the other is not.
inline double largest_difference(const host_image& a, const host_image& b) {
    double largest = 0;
    visit_dtype(a.shape.type, [&]<typename T>() {
        if constexpr (!std::is_same_v<T, float16>) {
            const auto* x = reinterpret_cast<const T*>(a.bytes.data());
            const auto* y = reinterpret_cast<const T*>(b.bytes.data());
            for (std::size_t i = 0; i < a.bytes.size() / sizeof(T); ++i) {
                const double d = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
                if (std::isnan(d) ? std::isnan(static_cast<double>(x[i])) != std::isnan(static_cast<double>(y[i]))
                                  : d > largest)
                    largest = std::isnan(d) ? INFINITY : d;
            }
        }
    });
    return largest;
}

struct filter_case {
    dtype type;
    std::int64_t rows, cols, channels, planes;
    boxsum::window window;
    border_mode border;
};

inline std::string text_of(const filter_case& c) {
    return std::string(name_of(c.type)) + " " + std::to_string(c.planes) + " x " + std::to_string(c.rows) + " x " +
           std::to_string(c.cols) + " x " + std::to_string(c.channels) + ", window " + std::to_string(c.window.above) +
           ", " + std::to_string(c.window.below) + ", " + std::to_string(c.window.left) + ", " +
           std::to_string(c.window.right) + ", " + std::string(name_of(c.border));
}

inline constexpr border_mode all_borders[] = {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                              border_mode::constant};

/// The largest radius of a map that goes with a case.
inline std::int64_t radius_of(const filter_case& c) {
    return std::max({c.window.above, c.window.below, c.window.left, c.window.right});
}

/// Of the cases with a constant border.
inline double border_value_of(border_mode border) {
    return border == border_mode::constant ? 3 : 0;
}

/// The options of a case, for one thread.
inline filter_options options_of(const filter_case& c) {
    return {.window = c.window, .border = c.border, .border_value = border_value_of(c.border), .threads = 1};
}

}  // namespace boxsum::test
