#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "cpu/host.hpp"
#include "cpu/team.hpp"
#include "filters/radius_map.hpp"

#include <boxsum/error.hpp>
#include <boxsum/memory.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/variable_blur.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace boxsum {
namespace {

__extension__ using uint128 = unsigned __int128;

constexpr int highest_order = 3;

/// Coefficients of the difference of each order, without their signs.
constexpr std::array<std::array<u64, highest_order + 1>, highest_order + 1> binomials{
    {{1, 0, 0, 0}, {1, 1, 0, 0}, {1, 2, 1, 0}, {1, 3, 3, 1}}};

u64 power(u64 base, int exponent) {
    u64 result = 1;
    for (int i = 0; i < exponent; ++i) result *= base;
    return result;
}

[[noreturn]] void refuse_type(const char* argument, dtype type, const char* allowed) {
    throw invalid_argument(std::string(argument) + ": type is " + std::string(name_of(type)) + ", must be " + allowed);
}

void require_same(const char* argument, const char* what, std::int64_t value, std::int64_t wanted,
                  const char* other = "image") {
    if (value != wanted)
        throw invalid_argument(std::string(argument) + ": " + what + " is " + std::to_string(value) +
                               ", but that of the " + other + " is " + std::to_string(wanted));
}

void check(const variable_inputs& inputs, const filter_outputs& outputs, const variable_blur_options& options) {
    const view_shape &image = inputs.image.shape, &radius = inputs.radius.shape, &result = outputs.result.shape;
    check_read("image", inputs.image);
    if (image.type != dtype::u8 && image.type != dtype::u16)
        throw unsupported("image: type is " + std::string(name_of(image.type)) + ", must be 8u or 16u");
    check_read("radius", inputs.radius);
    if (radius.type != dtype::u8 && radius.type != dtype::u16 && radius.type != dtype::u32 && radius.type != dtype::s32)
        refuse_type("radius", radius.type, "8u, 16u, 32u or 32s");
    require_same("radius", "rows", radius.rows, image.rows);
    require_same("radius", "cols", radius.cols, image.cols);
    require_same("radius", "channels", radius.channels, 1, "map of radii");
    if (radius.planes != 1) require_same("radius", "planes", radius.planes, image.planes);
    check_written("result", outputs.result);
    if (result.type != image.type && result.type != dtype::f32 && result.type != dtype::f64)
        refuse_type("result", result.type, "the image's, 32f or 64f");
    require_same("result", "rows", result.rows, image.rows);
    require_same("result", "cols", result.cols, image.cols);
    require_same("result", "channels", result.channels, image.channels);
    require_same("result", "planes", result.planes, image.planes);
    if (overlap(outputs.result, inputs.image)) throw invalid_argument("result: overlaps image");
    if (overlap(outputs.result, inputs.radius)) throw invalid_argument("result: overlaps radius");
    if (outputs.count.data != nullptr) throw unsupported("count: a blur of weighted pixels counts none");
    if (inputs.at != origin{} || (inputs.whole != extent{} && inputs.whole != extent{image.rows, image.cols}))
        throw unsupported("at and whole: the image must be the whole");
    if (options.order < 1 || options.order > highest_order)
        throw invalid_argument("order: is " + std::to_string(options.order) + ", must be 1 to 3");
    check_threads(options.threads);
    if (options.rounding != rounding_mode::half_up && options.rounding != rounding_mode::floor)
        throw invalid_argument("rounding: is " + std::to_string(static_cast<int>(options.rounding)) +
                               ", not a rounding_mode");
}

/// The widest window whose weights, times the largest pixel, fit 64 bits.
std::int64_t largest_exact_radius(dtype image, int order) {
    const uint128 most = std::numeric_limits<u64>::max() / (image == dtype::u8 ? 255 : 65535);
    const auto fits = [&](std::int64_t radius) {
        uint128 weights = 1;
        for (int i = 0; i < 2 * order; ++i) {
            weights *= static_cast<u64>(2 * radius + 1);
            if (weights > most) return false;
        }
        return true;
    };
    std::int64_t low = 0, high = std::int64_t{1} << 30;
    while (high - low > 1) {
        const std::int64_t middle = (low + high) / 2;
        (fits(middle) ? low : high) = middle;
    }
    return low;
}

/// Windows of one order over an axis of n pixels.
struct axis {
    std::int64_t n;
    int order;

    /// The sum of the weights within the axis of the window around `at`: of a table of ones, which ends with the axis.
    u64 weights(std::int64_t at, std::int64_t radius) const {
        const std::int64_t width = 2 * radius + 1, last = at + order * radius;
        if (at - order * radius >= 0 && last < n) return power(static_cast<u64>(width), order);
        u64 sum = 0;
        for (int j = 0; j <= order; ++j) {
            const std::int64_t k = last - j * width;
            const u64 term =
                binomials[static_cast<std::size_t>(order)][static_cast<std::size_t>(j)] * (ones(k) - ones(k - n));
            sum = j % 2 == 0 ? sum + term : sum - term;
        }
        return sum;
    }

    /// Entry k of the order-fold running sum of endless ones, modulo 2^64.
    u64 ones(std::int64_t k) const {
        if (k < 0) return 0;
        uint128 product = 1;
        for (int i = 1; i <= order; ++i) product = product * static_cast<u64>(k + i) / static_cast<u64>(i);
        return static_cast<u64>(product);
    }
};

/// The table of one plane: `order` times the table of the table, of an image that continues with zeros.
struct order_table {
    std::int64_t rows, cols, channels;
    host_buffer memory;

    order_table(const const_any_view& image, std::int64_t reach)
        : rows(image.shape.rows + reach),
          cols(image.shape.cols + reach),
          channels(image.shape.channels),
          memory(memory_pool::shared().acquire(bytes())) {}

    std::size_t bytes() const {
        const view_shape s = packed_shape(dtype::u64, 1, rows, cols, channels);
        return static_cast<std::size_t>(checked_span_bytes("image", s));
    }
    u64* row(std::int64_t r) const { return static_cast<u64*>(memory.data()) + r * cols * channels; }

    void fill(const const_any_view& image, std::int64_t plane, int order, int threads) const {
        visit_type(type_list<u8, u16>{}, image.shape.type, [&]<typename T>() {
            const image_view<const T> pixels(static_cast<const T*>(image.data), image.shape);
            const view_shape& s = image.shape;
            for (std::int64_t r = 0; r < rows; ++r) {
                u64* const to = row(r);
                const std::int64_t given = r < s.rows ? s.cols : 0;
                for (std::int64_t c = 0; c < given; ++c)
                    for (std::int64_t k = 0; k < channels; ++k) to[c * channels + k] = pixels(r, c, k, plane);
                std::fill(to + given * channels, to + cols * channels, u64{0});
            }
        });
        const image_view<u64> all(row(0), rows, cols, 0, channels);
        for (int i = 0; i < order; ++i) sat({all}, {table_view<u64>(all)}, {.threads = threads});
    }
};

struct blur {
    const variable_inputs& inputs;
    const any_view& result;
    const variable_blur_options& options;
    const order_table& table;
    std::int64_t plane;
};

template <typename Out>
Out rounded(u64 sum, u64 weights, rounding_mode rounding) {
    if constexpr (std::is_floating_point_v<Out>)
        return static_cast<Out>(static_cast<f64>(sum) / static_cast<f64>(weights));
    const u64 whole = sum / weights, rest = sum % weights;
    return static_cast<Out>(whole + (rounding == rounding_mode::half_up && rest >= weights - rest ? 1 : 0));
}

template <typename Out>
void blur_row(const blur& b, std::int64_t r) {
    const view_shape& s = b.inputs.image.shape;
    const int order = b.options.order;
    const axis vertical{s.rows, order}, horizontal{s.cols, order};
    const auto& binomial = binomials[static_cast<std::size_t>(order)];
    const std::int64_t map = b.inputs.radius.shape.planes == 1 ? 0 : b.plane;
    const image_view<Out> out(static_cast<Out*>(b.result.data), b.result.shape);
    for (std::int64_t c = 0; c < s.cols; ++c) {
        const std::int64_t radius = filters::radius_at(b.inputs.radius, r, c, map), width = 2 * radius + 1;
        const u64 weights = vertical.weights(r, radius) * horizontal.weights(c, radius);
        std::array<u64, 4> sums{};
        for (int i = 0; i <= order; ++i) {
            const std::int64_t y = r + order * radius - i * width;
            if (y < 0) break;
            const u64* const row = b.table.row(y);
            for (int j = 0; j <= order; ++j) {
                const std::int64_t x = c + order * radius - j * width;
                if (x < 0) break;
                const u64 factor = binomial[static_cast<std::size_t>(i)] * binomial[static_cast<std::size_t>(j)];
                for (std::int64_t k = 0; k < s.channels; ++k) {
                    const u64 term = factor * row[x * s.channels + k];
                    u64& sum = sums[static_cast<std::size_t>(k)];
                    sum = (i + j) % 2 == 0 ? sum + term : sum - term;
                }
            }
        }
        for (std::int64_t k = 0; k < s.channels; ++k)
            out(r, c, k, b.plane) = rounded<Out>(sums[static_cast<std::size_t>(k)], weights, b.options.rounding);
    }
}

}  // namespace

void variable_blur(const variable_inputs& inputs, const filter_outputs& outputs,
                   const variable_blur_options& options) try {
    check(inputs, outputs, options);
    const packed_input image(inputs.image, is_plain), radius(inputs.radius, is_plain);
    variable_inputs plain = inputs;
    plain.image = image.view();
    plain.radius = radius.view();
    const std::int64_t largest = filters::check_radii(plain.radius, inputs.largest_radius);
    const std::int64_t exact = largest_exact_radius(plain.image.shape.type, options.order);
    if (largest > exact)
        throw unsupported("radius: the largest is " + std::to_string(largest) + "; sums of order " +
                          std::to_string(options.order) + " are exact up to " + std::to_string(exact));
    const order_table table(plain.image, options.order * largest);
    const view_shape& s = plain.image.shape;
    const int threads =
        static_cast<int>(std::min<std::int64_t>(cpu::choose_threads(s.rows * s.cols * 64, options.threads), s.rows));
    for (std::int64_t plane = 0; plane < s.planes; ++plane) {
        table.fill(plain.image, plane, options.order, options.threads);
        blur b{plain, outputs.result, options, table, plane};
        visit_type(type_list<u8, u16, f32, f64>{}, outputs.result.shape.type, [&]<typename Out>() {
            cpu::run_team(
                threads,
                [](void* context, int thread, int team) {
                    const blur& one = *static_cast<const blur*>(context);
                    const std::int64_t rows = one.inputs.image.shape.rows;
                    for (std::int64_t r = rows * thread / team; r < rows * (thread + 1) / team; ++r)
                        blur_row<Out>(one, r);
                },
                &b);
        });
    }
} catch (...) {
    rethrow_as_ours();
}

void circles_of_confusion(const const_any_view& depth, const any_view& radii, const thin_lens& lens) {
    check_read("depth", depth);
    check_written("radii", radii);
    const view_shape &d = depth.shape, &s = radii.shape;
    if (d.type != dtype::u8 && d.type != dtype::u16 && d.type != dtype::f32 && d.type != dtype::f64)
        refuse_type("depth", d.type, "8u, 16u, 32f or 64f");
    if (s.type != dtype::u8 && s.type != dtype::u16 && s.type != dtype::u32)
        refuse_type("radii", s.type, "8u, 16u or 32u");
    require_same("depth", "channels", d.channels, 1, "map of radii");
    require_same("radii", "rows", s.rows, d.rows, "depth");
    require_same("radii", "cols", s.cols, d.cols, "depth");
    require_same("radii", "channels", s.channels, 1, "depth");
    require_same("radii", "planes", s.planes, d.planes, "depth");
    if (overlap(radii, depth)) throw invalid_argument("radii: overlaps depth");
    if (!(lens.focus > 0) || !std::isfinite(lens.focus))
        throw invalid_argument("focus: is " + std::to_string(lens.focus) + ", must be above 0 and finite");
    if (!(lens.aperture >= 0) || !std::isfinite(lens.aperture))
        throw invalid_argument("aperture: is " + std::to_string(lens.aperture) + ", must be finite, not negative");
    const std::int64_t most = s.type == dtype::u8 ? 255 : s.type == dtype::u16 ? 65535 : std::int64_t{UINT32_MAX};
    if (lens.largest_radius < 0 || lens.largest_radius > most)
        throw invalid_argument("largest_radius: is " + std::to_string(lens.largest_radius) + ", radii of " +
                               std::string(name_of(s.type)) + " are 0 to " + std::to_string(most));
    const auto largest = static_cast<f64>(lens.largest_radius);
    visit_type(type_list<u8, u16, f32, f64>{}, d.type, [&]<typename In>() {
        const image_view<const In> from(static_cast<const In*>(depth.data), d);
        visit_type(type_list<u8, u16, u32>{}, s.type, [&]<typename Out>() {
            const image_view<Out> to(static_cast<Out*>(radii.data), s);
            for (std::int64_t plane = 0; plane < d.planes; ++plane)
                for (std::int64_t r = 0; r < d.rows; ++r)
                    for (std::int64_t c = 0; c < d.cols; ++c) {
                        const auto z = static_cast<f64>(from(r, c, 0, plane));
                        f64 radius = z > 0 ? lens.aperture * std::abs(1 - lens.focus / z) : largest;
                        if (std::isnan(z)) radius = 0;
                        to(r, c, 0, plane) = static_cast<Out>(std::min(std::floor(radius + 0.5), largest));
                    }
        });
    });
}

}  // namespace boxsum
