#include "cpu/part_edges.hpp"

#include "core/visit_types.hpp"

#include <concepts>
#include <cstring>
#include <type_traits>

namespace boxsum::cpu {
namespace {

/// f.operator()<T>() for the type of a table's entries.
template <typename F>
void visit_entries(dtype type, F f) {
    visit_dtype(type, [&]<typename T>() {
        if constexpr (!std::is_same_v<T, float16> && sizeof(T) >= 4) f.template operator()<T>();
    });
}

/// What a row adds left of the part. An infinity stays one: it is in the row above already.
template <typename T>
T row_step(T now, T before) {
    if constexpr (std::integral<T>) {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<U>(static_cast<U>(now) - static_cast<U>(before)));
    } else {
        return now == before ? T{0} : now - before;
    }
}

std::int64_t entries_of_plane(const view_shape& image) {
    return (image.rows + 1) * image.channels;
}

/// The edge of the rows before `row` on, from the one above `row`: entry i + channels is of row + i / channels.
template <typename T>
const T* edge_before(const table_job& job, const table_pass& pass, std::int64_t plane, std::int64_t row) {
    return static_cast<const T*>(pass.left_edge) + plane * entries_of_plane(job.image_shape) + row * job.channels;
}

/// Words hold steps of integers, negative ones too (row_sums_within()), which only a signed type takes from a float.
template <typename Sum, typename T>
Sum as_row_sum(T step) {
    if constexpr (std::integral<Sum> && std::floating_point<T>)
        return static_cast<Sum>(static_cast<std::int64_t>(step));
    else
        return static_cast<Sum>(step);
}

template <typename Sum, typename T>
void put_steps(const T* edge, std::int64_t channels, std::int64_t count, void* row_sums) {
    auto* const sums = static_cast<Sum*>(row_sums);
    for (std::int64_t i = 0; i < count; ++i) sums[i] = as_row_sum<Sum>(row_step(edge[i + channels], edge[i]));
}

}  // namespace

host_buffer gather_left_edge(const carry_shapes& shapes, const carry_data& data, const view_shape& image,
                             const view_shape& table) {
    const bool has_corner = shapes.corners(image.cols) > 0;
    if (!shapes.left && !has_corner) return {};
    const std::int64_t plane_entries = entries_of_plane(image), channels = image.channels;
    host_buffer edge =
        memory_pool::shared().acquire(static_cast<std::size_t>(image.planes * plane_entries) * size_of(table.type));
    visit_entries(table.type, [&]<typename T>() {
        const auto pixel = static_cast<std::size_t>(channels) * sizeof(T);
        for (std::int64_t plane = 0; plane < image.planes; ++plane) {
            auto* const out = static_cast<T*>(edge.data()) + plane * plane_entries;
            std::memset(out, 0, pixel);
            if (has_corner)
                std::memcpy(out, static_cast<const std::byte*>(data.above) + plane * shapes.above->plane_stride, pixel);
            if (!shapes.left) {
                std::memset(out + channels, 0, static_cast<std::size_t>(image.rows) * pixel);
                continue;
            }
            const auto* const left = static_cast<const std::byte*>(data.left) + plane * shapes.left->plane_stride;
            const std::int64_t stride = shapes.left->row_stride;
            if (channels == 1)
                for (std::int64_t r = 0; r < image.rows; ++r)
                    out[1 + r] = *reinterpret_cast<const T*>(left + r * stride);
            else
                for (std::int64_t r = 0; r < image.rows; ++r)
                    std::memcpy(out + (1 + r) * channels, left + r * stride, pixel);
        }
    });
    return edge;
}

bool row_sums_within(const void* left_edge, const view_shape& image, dtype table, std::int64_t least,
                     std::int64_t most) {
    bool within = true;
    visit_entries(table, [&]<typename T>() {
        for (std::int64_t plane = 0; plane < image.planes; ++plane) {
            const T* const edge = static_cast<const T*>(left_edge) + plane * entries_of_plane(image);
            for (std::int64_t i = 0; i < image.rows * image.channels; ++i) {
                const T step = row_step(edge[i + image.channels], edge[i]);
                if constexpr (std::integral<T>) {
                    const auto value = static_cast<std::int64_t>(step);  // of 64 bits, whatever its sign
                    within = within && value >= least && value <= most;
                } else {  // the ends have at most 31 bits; NaN is not within
                    within = within && step >= static_cast<T>(least) && step <= static_cast<T>(most) &&
                             static_cast<T>(static_cast<std::int64_t>(step)) == step;
                }
            }
        }
    });
    return within;
}

void write_border_row(const carry_shapes& shapes, const carry_data& data, const view_shape& image,
                      const view_shape& table, void* entries) {
    const auto pixel = static_cast<std::size_t>(table.channels) * size_of(table.type);
    const std::size_t row = static_cast<std::size_t>(table.cols) * pixel;
    const std::size_t corner = shapes.corners(image.cols) > 0 ? 0 : pixel;  // what `above` leaves out
    for (std::int64_t plane = 0; plane < table.planes; ++plane) {
        std::byte* const out = static_cast<std::byte*>(entries) + plane * table.plane_stride;
        if (!shapes.above) {
            std::memset(out, 0, row);
            continue;
        }
        const auto* const above = static_cast<const std::byte*>(data.above) + plane * shapes.above->plane_stride;
        std::memmove(out + corner, above, row - corner);
        std::memset(out, 0, corner);
    }
}

void put_row_sums(const table_job& job, const table_pass& pass, std::int64_t plane, std::int64_t row, std::int64_t rows,
                  void* row_sums) {
    visit_entries(pass.shape.type, [&]<typename T>() {
        const T* const edge = edge_before<T>(job, pass, plane, row);
        const std::int64_t channels = job.channels, count = rows * channels;
        if (pass.sums_in_words)
            put_steps<std::uint32_t>(edge, channels, count, row_sums);
        else
            put_steps<T>(edge, channels, count, row_sums);
    });
}

void start_rows_at_origin(const table_job& job, const table_pass& pass, tile& t, std::int64_t rows, void* border) {
    tile left = t;
    left.rows = rows;
    left.elements = job.left_elements;
    left.negated = !t.negated;  // a row starts with minus what lies left of the origin
    pass.sum_rows(left);
    visit_entries(pass.shape.type, [&]<typename T>() {
        const std::int64_t channels = job.channels;
        const T* const starts = static_cast<const T*>(t.carry);
        auto* const column = static_cast<T*>(border);
        for (std::int64_t i = 0; i < rows * channels; ++i) {
            const T above = i >= channels        ? column[i - channels]
                            : t.above == nullptr ? T{}
                                                 : (static_cast<const T*>(t.above) - channels)[i];
            if constexpr (std::integral<T>) {
                using U = std::make_unsigned_t<T>;
                column[i] = static_cast<T>(static_cast<U>(above) + static_cast<U>(starts[i]));
            } else {
                column[i] = above + starts[i];
            }
        }
    });
    t.border_values = t.border_sums = border;
}

void add_edges(const table_job& job, const table_pass& pass, std::int64_t row, void* row_above) {
    visit_entries(pass.shape.type, [&]<typename T>() {
        if constexpr (std::integral<T>) {
            using U = std::make_unsigned_t<T>;
            auto* const out = static_cast<U*>(row_above);
            const auto* const above = reinterpret_cast<const U*>(pass.above);
            const std::int64_t channels = job.channels;
            U left[4] = {};  // what the rows up to here add left of the part
            if (pass.left_edge != nullptr) {
                const U* const corner = edge_before<U>(job, pass, 0, 0);
                for (std::int64_t k = 0; k < channels; ++k) left[k] = corner[row * channels + k] - corner[k];
            }
            for (std::int64_t i = 0, k = 0; i < job.elements; ++i, k = k + 1 == channels ? 0 : k + 1)
                out[i] += (above == nullptr ? U{0} : above[i]) + left[k];
        }
    });
}

}  // namespace boxsum::cpu
