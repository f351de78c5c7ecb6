#include "core/blur_terms.hpp"
#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "cpu/host.hpp"
#include "cpu/team.hpp"
#include "filters/blur_job.hpp"
#include "filters/radius_map.hpp"

#include <boxsum/memory.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/variable_blur.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace boxsum {
namespace {

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
void blur_row(const blur& b, std::int64_t r) {
    const view_shape& s = b.inputs.image.shape;
    const int order = b.options.order;
    const bool half_up = b.options.rounding == rounding_mode::half_up;
    const std::int64_t map = b.inputs.radius.shape.planes == 1 ? 0 : b.plane;
    const image_view<Out> out(static_cast<Out*>(b.result.data), b.result.shape);
    for (std::int64_t c = 0; c < s.cols; ++c) {
        const std::int64_t radius = filters::radius_at(b.inputs.radius, r, c, map), width = 2 * radius + 1;
        const u64 weights = blur_weights(s.rows, order, r, radius) * blur_weights(s.cols, order, c, radius);
        std::array<u64, 4> sums{};
        for (int i = 0; i <= order; ++i) {
            const std::int64_t y = r + order * radius - i * width;
            if (y < 0) break;
            const u64* const row = b.table.row(y);
            for (int j = 0; j <= order; ++j) {
                const std::int64_t x = c + order * radius - j * width;
                if (x < 0) break;
                const u64 factor = difference_weight(order, i) * difference_weight(order, j);
                for (std::int64_t k = 0; k < s.channels; ++k) {
                    const u64 term = factor * row[x * s.channels + k];
                    u64& sum = sums[static_cast<std::size_t>(k)];
                    sum = (i + j) % 2 == 0 ? sum + term : sum - term;
                }
            }
        }
        for (std::int64_t k = 0; k < s.channels; ++k)
            out(r, c, k, b.plane) = blurred_pixel<Out>(sums[static_cast<std::size_t>(k)], weights, half_up);
    }
}

}  // namespace

void variable_blur(const variable_inputs& inputs, const filter_outputs& outputs,
                   const variable_blur_options& options) try {
    filters::check_blur(inputs, outputs, options);
    filters::check_blur_memory(inputs, outputs);
    const packed_input image(inputs.image, is_plain), radius(inputs.radius, is_plain);
    variable_inputs plain = inputs;
    plain.image = image.view();
    plain.radius = radius.view();
    const std::int64_t largest = filters::check_radii(plain.radius, inputs.largest_radius);
    filters::require_exact_blur(plain.image.shape.type, options.order, largest);
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
    filters::check_lens(depth, radii, lens);
    const view_shape &d = depth.shape, &s = radii.shape;
    const auto largest = static_cast<f64>(lens.largest_radius);
    visit_type(type_list<u8, u16, f32, f64>{}, d.type, [&]<typename In>() {
        const image_view<const In> from(static_cast<const In*>(depth.data), d);
        visit_type(type_list<u8, u16, u32>{}, s.type, [&]<typename Out>() {
            const image_view<Out> to(static_cast<Out*>(radii.data), s);
            for (std::int64_t plane = 0; plane < d.planes; ++plane)
                for (std::int64_t r = 0; r < d.rows; ++r)
                    for (std::int64_t c = 0; c < d.cols; ++c) {
                        const auto z = static_cast<f64>(from(r, c, 0, plane));
                        to(r, c, 0, plane) = static_cast<Out>(confusion_radius(z, lens.focus, lens.aperture, largest));
                    }
        });
    });
}

}  // namespace boxsum
