#pragma once

#include "cuda/filters/window_walk.cuh"

/// Windows with a radius for every pixel.
namespace boxsum::cuda {

/// Radii of one plane.
struct radius_plane {
    const char* data;
    std::int64_t row_stride;
    dtype type;

    /// f of a number of the map's type.
    template <typename F>
    __device__ __forceinline__ auto visit(F f) const {
        switch (type) {
            case dtype::u8:
                return f(u8{});
            case dtype::u16:
                return f(u16{});
            case dtype::u32:
                return f(u32{});
            default:
                return f(s32{});
        }
    }

    __device__ std::int64_t at(std::int64_t row, std::int64_t col) const {
        return visit([&](auto number) -> std::int64_t {
            return reinterpret_cast<const decltype(number)*>(data + row * row_stride)[col];
        });
    }

    /// Those of the first `valid` of N rows, the rest as row 0's; none above `most`, and negative ones 0.
    template <int N>
    __device__ void read(int (&radius)[N], std::int64_t row, std::int64_t col, int valid, int most) const {
        const char* const from = data + row * row_stride;
        visit([&](auto number) {
            using T = decltype(number);
#pragma unroll
            for (int j = 0; j < N; ++j) {
                const T r = reinterpret_cast<const T*>(from + (j < valid ? j : 0) * row_stride)[col];
                radius[j] = std::int64_t{r} < 0 ? 0 : std::int64_t{r} < most ? static_cast<int>(r) : most;
            }
        });
    }
};

inline radius_plane plane_of(const const_any_view& radius, std::int64_t plane) {
    return {static_cast<const char*>(radius.data) + plane * radius.shape.plane_stride, radius.shape.row_stride,
            radius.shape.type};
}

/// The sum of a repeated image's samples before `position`, anywhere: `entry` of the table with a weight of 1, or of -1
/// where the image that it lies in is mirrored, and so many times what all repetitions before it come to.
struct repeated_prefix {
    std::int64_t entry, weight;
    std::int64_t ends;   ///< wrap: of the last entry; mirror: of the last two
    std::int64_t first;  ///< mirror: of entry 1, less
};
__device__ inline repeated_prefix prefix_before(std::int64_t position, std::int64_t n, border_mode border) {
    const bool mirror = border == border_mode::mirror;  // its period holds the edges once
    const std::int64_t period = mirror ? 2 * n - 2 : n;
    const std::int64_t rest = position % period, phase = rest < 0 ? rest + period : rest,
                       whole = (position - phase) / period;
    if (mirror && phase > n) return {2 * n - 1 - phase, -1, whole + 1, whole};
    return {phase, 1, whole, mirror ? whole : 0};
}

/// The window of this radius around sample i of an axis that has another one.
__device__ inline axis_terms terms_around(const filters::window_axis& axis, std::int64_t i, std::int64_t radius) {
    const std::int64_t low = i - radius, high = i + radius + 1;
    const bool beyond = low < 0 || high > axis.extent,
               repeats = axis.border == border_mode::mirror || axis.border == border_mode::wrap;
    if (beyond && !repeats) return terms_of(filters::window_axis(axis.extent, radius, radius, axis.border), i);
    axis_terms terms;
    terms.high = high;
    terms.low = low;
    terms.inside = terms.samples = high - low;
    if (!beyond) return terms;
    terms.extent = axis.extent;
    const repeated_prefix end = prefix_before(high, axis.extent, axis.border),
                          start = prefix_before(low, axis.extent, axis.border);
    terms.high = end.entry;
    terms.high_weight = end.weight;
    terms.low = start.entry;
    terms.low_weight = -start.weight;
    terms.last_weight = end.ends - start.ends;
    if (axis.border == border_mode::wrap) return terms;
    terms.before_last_weight = terms.last_weight;
    terms.first_weight = start.first - end.first;
    return terms;
}

/// x / n for the number of pixels of a window inside the image, and a sum, or that and half of n, where sums fit 32
/// bits: n below 2^24 then, and the quotient below 2^16.
__device__ inline u32 inner_quotient(u32 x, u32 n) {
    // Off by at most one before it is corrected: a few relative errors of 2^-23.
    auto q = static_cast<u32>(__fdividef(static_cast<float>(x), static_cast<float>(n)));
    const auto rest = static_cast<std::int32_t>(x - q * n);
    if (rest < 0) --q;
    if (rest >= static_cast<std::int32_t>(n)) ++q;
    return q;
}

/// Stores value(j), an element of each of N rows below each other, where it is wanted.
template <typename T, int N, typename Value>
__device__ void store_column(const any_view& to, std::int64_t row, std::int64_t element, const bool (&wanted)[N],
                             Value value) {
    char* const first = static_cast<char*>(to.data) + row * to.shape.row_stride;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        const T x = value(j);
        if (wanted[j]) reinterpret_cast<T*>(first + j * to.shape.row_stride)[element] = x;
    }
}

/// The same of numbers of pixels that count, or what they weigh, if there is a result for them: number_of(T(), j) is a
/// T.
template <int N, typename F>
__device__ void store_counts(const any_view& to, std::int64_t row, std::int64_t element, const bool (&wanted)[N],
                             F number_of) {
    if (to.data == nullptr) return;
    const auto store = [&](auto type) {
        store_column<decltype(type)>(to, row, element, wanted, [&](int j) { return number_of(type, j); });
    };
    switch (to.shape.type) {
        case dtype::u32:
            return store(u32{});
        case dtype::f32:
            return store(f32{});
        default:
            return store(f64{});
    }
}

inline dim3 grid_for(std::int64_t cols, std::int64_t rows, std::int64_t most) {
    return {static_cast<unsigned>((cols + walk_threads - 1) / walk_threads),
            static_cast<unsigned>(rows < most ? rows : most), 1};
}

/// Of kernels of which a thread owns the pixels of a column in so many rows, and in further ones.
inline dim3 grid_for_windows(const window_task& task, int rows) {
    return grid_for(task.image.shape.cols, (task.end_row - task.first_row + rows - 1) / rows, 32768);
}

/// Whether places in a table, in words of so many bytes, are numbers of 32 bits. So are pixels of windows of a radius
/// up to largest_inner_radius.
inline bool has_32_bit_places(const const_any_view& table, std::size_t word) {
    return table.shape.rows * (table.shape.row_stride / static_cast<std::int64_t>(word)) < std::int64_t{1} << 32;
}
inline constexpr int largest_inner_radius = 32767;

}  // namespace boxsum::cuda
