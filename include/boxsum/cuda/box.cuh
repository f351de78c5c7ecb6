#pragma once

#include <boxsum/box.hpp>
#include <boxsum/export.hpp>
#include <boxsum/table_view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// Box sums inside kernels: the four reads of box_sum() (Crow 1984), with the table's layout and the rule for wrapping,
/// and what follows from them. Compiled by nvcc or, for the host, by any compiler; needs no option of nvcc's.
///
///     __global__ void means_around(boxsum::cuda::device_table<std::uint32_t> sums, int radius, float* means) {
///         const std::int64_t r = blockIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
///         const boxsum::box window{r - radius, c - radius, 2 * radius + 1, 2 * radius + 1};
///         if (c < sums.cols) means[r * sums.cols + c] = contains(sums, window) ? box_mean(sums, window) : 0;
///     }
///
///     means_around<<<grid, 256>>>(boxsum::cuda::device_table(d_table.view()), 3, d_means);
///
/// Results have the bits that the functions of boxsum/box.hpp have on the host. Only sums of 32f may differ, where nvcc
/// is told to flush subnormal numbers (--use_fast_math).
#ifdef __CUDACC__
#define BOXSUM_BOX_HOST_DEVICE __host__ __device__
#else
#define BOXSUM_BOX_HOST_DEVICE
#endif

namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// The tables of a batch of images as a kernel reads them: plain data, made on the host from a view of device memory
/// and passed to kernels by value. Does not own. An offset of the form (table_form::offset) is not added back.
template <typename T>
struct device_table {
    const std::byte* data = nullptr;  ///< entry (0, 0) of channel 0 of plane 0
    std::int64_t row_stride = 0;      ///< bytes, as all strides
    std::int64_t col_stride = 0;
    std::int64_t plane_stride = 0;
    std::int64_t rows = 0;  ///< of pixels that boxes may have: all of the image, but the last of an exclusive table
    std::int64_t cols = 0;
    std::int64_t border = 0;  ///< table_form::border()

    device_table() = default;

    /// Host only. Checks nothing, as views do not.
    explicit device_table(const table_view<const T>& view)
        : device_table(view.entries().data(), view.entries().shape(), view.form()) {}

    /// Entries of type T by their shape, whatever type that names.
    device_table(const void* entries, const view_shape& s, const table_form& form)
        : data(static_cast<const std::byte*>(entries)),
          row_stride(s.row_stride),
          col_stride(s.pixel_stride()),
          plane_stride(s.planes == 1 ? 0 : s.plane_stride),
          rows(s.rows - form.border()),
          cols(s.cols - form.border()),
          border(form.border()) {}
};

template <typename T>
device_table(const table_view<T>&) -> device_table<std::remove_const_t<T>>;

/// Whether the box has a pixel and lies where the table answers. The functions below do not look.
template <typename T>
BOXSUM_BOX_HOST_DEVICE inline bool contains(const device_table<T>& table, const box& b) {
    return b.rows >= 1 && b.cols >= 1 && b.row >= 0 && b.col >= 0 && b.row <= table.rows - b.rows &&
           b.col <= table.cols - b.cols;
}

namespace box_detail {

__extension__ using uint128 = unsigned __int128;

/// The four entries at the corners of a box.
template <typename T>
struct corner_entries {
    T bottom_right, top_right, bottom_left, top_left;
};

template <typename T>
BOXSUM_BOX_HOST_DEVICE inline corner_entries<T> read_corners(const device_table<T>& table, const box& b,
                                                             std::int64_t channel, std::int64_t plane) {
    const std::byte* const first =
        table.data + plane * table.plane_stride + channel * static_cast<std::int64_t>(sizeof(T));
    const auto at = [](const std::byte* entry) { return *reinterpret_cast<const T*>(entry); };
    const std::int64_t top = b.row - 1 + table.border, left = b.col - 1 + table.border;
    // Sums of nothing, above and to the left of an inclusive table, are zeros that it does not have. Something is read
    // in their place, so that no read waits for a branch.
    const bool above = top >= 0, before = left >= 0;
    const std::byte* const upper = first + (above ? top * table.row_stride : 0);
    const std::byte* const lower = first + (top + b.rows) * table.row_stride;
    const std::int64_t to_left = before ? left * table.col_stride : 0;
    const std::int64_t to_right = (left + b.cols) * table.col_stride;
    corner_entries<T> e{at(lower + to_right), at(upper + to_right), at(lower + to_left), at(upper + to_left)};
    if (!above) e.top_right = T{};
    if (!before) e.bottom_left = T{};
    if (!above || !before) e.top_left = T{};
    return e;
}

/// Integers wrap, signed ones as unsigned ones do; floats are subtracted in the order of the host.
template <typename T>
BOXSUM_BOX_HOST_DEVICE inline T difference(const corner_entries<T>& e) {
    if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<U>(static_cast<U>(e.bottom_right) - static_cast<U>(e.top_right) -
                                             static_cast<U>(e.bottom_left) + static_cast<U>(e.top_left)));
    } else {
        return (e.bottom_right - e.top_right) - (e.bottom_left - e.top_left);
    }
}

BOXSUM_BOX_HOST_DEVICE inline double pixels(const box& b) {
    return static_cast<double>(b.rows) * static_cast<double>(b.cols);
}

/// A box's sum whose type is known by its values only.
struct any_sum {
    double value = 0;
    std::uint64_t magnitude = 0;  ///< of an integer
    bool negative = false;
    bool floating = false;
};

template <typename T>
BOXSUM_BOX_HOST_DEVICE inline any_sum to_any(T sum) {
    any_sum s;
    s.value = static_cast<double>(sum);
    if constexpr (std::is_integral_v<T>) {
        if constexpr (std::is_signed_v<T>) s.negative = sum < 0;
        s.magnitude = s.negative ? 0 - static_cast<std::uint64_t>(sum) : static_cast<std::uint64_t>(sum);
    } else {
        s.floating = true;
    }
    return s;
}

/// Of n pixels; box_variances() has the rule. `count` is n, or 0 where it is a sum of weights.
BOXSUM_BOX_HOST_DEVICE inline double variance(const any_sum& sum, const any_sum& squares, double n,
                                              std::uint64_t count) {
    if (!sum.floating && !squares.floating && count > 0) {
        if (squares.negative) return 0;  // and so is the difference
        const uint128 n_squares = uint128{count} * squares.magnitude;
        const uint128 square_of_sum = uint128{sum.magnitude} * sum.magnitude;
        if (((n_squares | square_of_sum) >> 127) == 0)  // what the host's signed 128 bits hold
            return n_squares > square_of_sum ? static_cast<double>(n_squares - square_of_sum) / (n * n) : 0;
    }
    const double mean = sum.value / n;
#ifdef __CUDA_ARCH__
    const double square_of_mean = __dmul_rn(mean, mean);  // never fused with the difference: the host's bits
#else
    const double square_of_mean = mean * mean;
#endif
    const double result = squares.value / n - square_of_mean;
    return result < 0 ? 0 : result;  // keeps NaN
}

BOXSUM_BOX_HOST_DEVICE inline double variance(const any_sum& sum, const any_sum& squares, const box& b) {
    return variance(sum, squares, pixels(b), static_cast<std::uint64_t>(b.rows) * static_cast<std::uint64_t>(b.cols));
}

}  // namespace box_detail

/// Sum of the image over a box that the table contains: boxsum::box_sum() inside kernels. Channel and plane exist.
template <typename T>
BOXSUM_BOX_HOST_DEVICE inline T box_sum(const device_table<T>& table, const box& b, std::int64_t channel = 0,
                                        std::int64_t plane = 0) {
    return box_detail::difference(box_detail::read_corners(table, b, channel, plane));
}

/// The sum divided by the number of pixels.
template <typename T>
BOXSUM_BOX_HOST_DEVICE inline double box_mean(const device_table<T>& table, const box& b, std::int64_t channel = 0,
                                              std::int64_t plane = 0) {
    return static_cast<double>(box_sum(table, b, channel, plane)) / box_detail::pixels(b);
}

/// The tables of sums and of squares of one image: a kernel's moment_views.
template <typename Sum, typename Square>
struct device_moments {
    device_table<Sum> sums;
    device_table<Square> squares;
};

template <typename Sum, typename Square>
device_moments(const device_table<Sum>&, const device_table<Square>&) -> device_moments<Sum, Square>;

/// Population variance from the two tables, as boxsum::box_variance() computes it.
template <typename Sum, typename Square>
BOXSUM_BOX_HOST_DEVICE inline double box_variance(const device_moments<Sum, Square>& tables, const box& b,
                                                  std::int64_t channel = 0, std::int64_t plane = 0) {
    return box_detail::variance(box_detail::to_any(box_sum(tables.sums, b, channel, plane)),
                                box_detail::to_any(box_sum(tables.squares, b, channel, plane)), b);
}

}  // namespace cuda
}  // namespace boxsum

#undef BOXSUM_BOX_HOST_DEVICE
