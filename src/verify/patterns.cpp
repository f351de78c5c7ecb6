#include "verify/patterns.hpp"

#include "core/visit_types.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace boxsum {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): one call per element, from any starting point.
std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

struct position {
    std::int64_t plane, row, col, channel, rows, cols;
};

bool is_impulse(const position& at) {
    const auto at_edge = [](std::int64_t i, std::int64_t extent) {
        return i == 0 || i == extent - 1 || i % 32 == 31 || i % 64 == 0;
    };
    // Sparse enough that one misplaced carry changes few sums, dense enough to touch every tile.
    return at_edge(at.row, at.rows) && at_edge(at.col, at.cols) &&
           mix(static_cast<std::uint64_t>(at.row * 31 + at.col * 17 + at.channel * 7 + at.plane)) % 3 != 0;
}

std::uint64_t position_code(const position& at) {
    return static_cast<std::uint64_t>(at.row) * 7919u + static_cast<std::uint64_t>(at.col) * 104729u +
           static_cast<std::uint64_t>(at.channel) * 31u + static_cast<std::uint64_t>(at.plane) * 1299709u + 1u;
}

double extreme_float(std::uint64_t bits, double tiny, double huge) {
    switch (bits % 4) {
        case 0:
            return tiny * static_cast<double>((bits >> 8) % 1000);
        case 1:
            return huge * static_cast<double>((bits >> 8) % 1000);
        case 2:
            return -huge * static_cast<double>((bits >> 8) % 1000);
        default:
            return std::ldexp(static_cast<double>((bits >> 8) % 1000), -10);
    }
}

double float_value(pattern p, const position& at, std::uint64_t bits, double tiny, double huge) {
    switch (p) {
        case pattern::random:
            return std::ldexp(static_cast<double>(bits >> 40), -23) - 1.0;
        case pattern::position:
            return static_cast<double>(position_code(at) % 1021);
        case pattern::impulses:
            return is_impulse(at) ? 1.0 : 0.0;
        case pattern::all_max:
            return 255.0;
        case pattern::extreme:
            return extreme_float(bits, tiny, huge);
        case pattern::non_finite:
            break;
    }
    if (bits % 97 == 0 && at.row + at.col > 20) {
        constexpr std::array<double, 3> odd{std::numeric_limits<double>::quiet_NaN(),
                                            std::numeric_limits<double>::infinity(),
                                            -std::numeric_limits<double>::infinity()};
        return odd[(bits >> 20) % odd.size()];
    }
    return std::ldexp(static_cast<double>(bits >> 40), -23) - 1.0;
}

template <typename T>
T integer_value(pattern p, const position& at, std::uint64_t bits) {
    using limits = std::numeric_limits<T>;
    switch (p) {
        case pattern::position:
            return static_cast<T>(position_code(at));
        case pattern::impulses:
            return static_cast<T>(is_impulse(at) ? 1 : 0);
        case pattern::all_max:
            return limits::max();
        case pattern::extreme:
            return bits % 2 == 0 ? limits::min() : limits::max();
        default:
            return static_cast<T>(bits);
    }
}

template <typename T>
T value(pattern p, const position& at, std::uint64_t bits) {
    // Huge values leave room for sums of a million squares in the same type.
    if constexpr (std::is_same_v<T, float16>)
        return to_float16(static_cast<float>(float_value(p, at, bits, 0x1p-24, 32.0)));
    else if constexpr (std::is_same_v<T, float>)
        return static_cast<float>(float_value(p, at, bits, 0x1p-149, 1e10));
    else if constexpr (std::is_same_v<T, double>)
        return float_value(p, at, bits, 0x1p-1074, 1e100);
    else
        return integer_value<T>(p, at, bits);
}

constexpr std::array names{"random", "position", "impulses", "all-max", "extreme", "non-finite"};
constexpr std::array float_patterns{pattern::random,  pattern::position, pattern::impulses,
                                    pattern::all_max, pattern::extreme,  pattern::non_finite};

}  // namespace

std::string_view name_of(pattern p) noexcept {
    return names[static_cast<std::size_t>(p)];
}

std::span<const pattern> patterns_for(dtype type) noexcept {
    const std::span<const pattern> all(float_patterns);
    return is_floating(type) ? all : all.first(5);
}

void fill(const any_view& image, pattern p, std::uint64_t seed) {
    const view_shape& s = image.shape;
    visit_dtype(s.type, [&]<typename T>() {
        const image_view<T> view(static_cast<T*>(image.data), s.rows, s.cols, s.row_stride, s.channels, s.planes,
                                 s.plane_stride);
        std::uint64_t index = mix(seed);
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (std::int64_t r = 0; r < s.rows; ++r) {
                T* row = view.row(r, plane);
                for (std::int64_t c = 0; c < s.cols; ++c)
                    for (std::int64_t k = 0; k < s.channels; ++k)
                        row[c * s.channels + k] = value<T>(p, {plane, r, c, k, s.rows, s.cols}, mix(index++));
            }
    });
}

}  // namespace boxsum
