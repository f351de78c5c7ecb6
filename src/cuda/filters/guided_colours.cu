#include "cuda/filters/guided_adding.cuh"
#include "cuda/filters/guided_terms.cuh"
#include "cuda/filters/planned_filter.hpp"

#include <boxsum/cuda/memory.hpp>

#include <algorithm>
#include <cstdint>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

/// A guided filter whose guide has several channels, by planes of double: moments of pairs of channels by additions,
/// fits of every pixel from them, their means, and what these make of the guide.
namespace boxsum::cuda {
namespace {

// ---- moments --------------------------------------------------------------------------------------------------------

/// x, p and x p, with what they are rounded by.
struct product_terms {
    using sums = real_sums<0, 3>;
    static constexpr bool has_second = true;
    __device__ static int second_channel(int) { return 0; }  // the guide's view begins at its channel

    __device__ static sums of(double p, double x) {
        sums s;
        s.clear();
        const exact_product product = multiplied(x, p);
        s.v[0] = x;
        s.v[2] = p;
        s.v[4] = product.high;
        s.v[5] = product.low;
        return s;
    }
};

/// A plane of doubles for every channel, or one of all channels side by side.
struct channel_planes {
    char* data;
    std::int64_t row_bytes, col_bytes, channel_bytes;

    __device__ double& at(std::int64_t row, std::int64_t col, int channel) const {
        return *reinterpret_cast<double*>(data + row * row_bytes + col * col_bytes + channel * channel_bytes);
    }
};

/// Where covariances of an image's channels with one of the guide's go.
struct product_output {
    channel_planes covariances, means;  ///< means of the image; without data they are not wanted
    int first;                          ///< channels before are not wanted
};

__global__ __launch_bounds__(most_adding_threads) void adding_product_kernel(
    const __grid_constant__ adding_view t, const __grid_constant__ product_output to) {
    using kernel = adding_kernel<product_terms>;
    const int channel = static_cast<int>(blockIdx.y);
    if (channel < to.first) return;
    for_each_added_window<kernel>(t, [&](int row, std::int64_t col, double n, const kernel::sums& s) {
        const compensated_sum x(s.v[0], s.v[1]), p(s.v[2], s.v[3]), products(s.v[4], s.v[5]);
        to.covariances.at(row, col, channel) = moment_numerator(n, x, p, products, 0) / (n * n);
        if (to.means.data != nullptr) to.means.at(row, col, channel) = p.joined() / n;
    });
}

// ---- fits and results -----------------------------------------------------------------------------------------------

/// All planes of a filter: those of the guide, a channel each, and those of the image, all channels side by side.
struct colour_planes {
    int guides, channels;
    int rows, cols;
    view_shape of_guide, of_image;  ///< of one plane
    /// Of the guide: covariances of channels 0 with 0, 1, .., of 1 with 1, .., and its means.
    /// Of the image: covariances with the guide's channels and means, which become a and b.
    /// Their means, in the memory of the guide's.
    std::size_t image_at = 0, guide_at = 0, scratch_at = 0;
    char* space;

    explicit colour_planes(const guided_colours& filter)
        : guides(static_cast<int>(filter.guide.shape.channels)),
          channels(static_cast<int>(filter.image.shape.channels)),
          rows(static_cast<int>(filter.image.shape.rows)),
          cols(static_cast<int>(filter.image.shape.cols)),
          of_guide(device_shape(dtype::f64, rows, cols)),
          of_image(device_shape(dtype::f64, rows, cols, channels)),
          space(static_cast<char*>(filter.space)) {
        guide_at = plane_bytes(of_image) * static_cast<std::size_t>(guides + 1);
        const std::size_t moments = plane_bytes(of_guide) * static_cast<std::size_t>(pairs() + guides);
        scratch_at = guide_at + std::max(moments, guide_at);
    }

    static std::size_t plane_bytes(const view_shape& s) { return (span_bytes(s) + 255) / 256 * 256; }
    int pairs() const { return guides * (guides + 1) / 2; }

    /// Covariances of the guide's channel `first` with itself; with later ones behind.
    int pair_with_itself(int first) const { return first * guides - first * (first - 1) / 2; }
    char* guide_plane(int k) const { return space + guide_at + plane_bytes(of_guide) * static_cast<std::size_t>(k); }
    any_view fit(int k) const { return {space + plane_bytes(of_image) * static_cast<std::size_t>(k), of_image}; }
    any_view mean(int k) const {
        return {space + guide_at + plane_bytes(of_image) * static_cast<std::size_t>(k), of_image};
    }

    /// From plane k of the guide's on, one for each of its channels.
    channel_planes guide_planes(int k) const {
        return {guide_plane(k), of_guide.row_stride, 8, static_cast<std::int64_t>(plane_bytes(of_guide))};
    }
    static channel_planes side_by_side(const any_view& v) {
        return {static_cast<char*>(v.data), v.shape.row_stride, 8 * v.shape.channels, 8};
    }
};

/// As the kernels below take it.
struct colour_view {
    channel_planes covariances, means;  ///< of the guide, by pair and by channel
    char* fits;                         ///< planes of all channels of the image side by side: guides + 1 of them
    std::int64_t row_bytes, plane_bytes;
    std::int64_t elements;
    int rows, channels;

    __device__ double& fit(int k, std::int64_t row, std::int64_t element) const {
        return reinterpret_cast<double*>(fits + k * plane_bytes + row * row_bytes)[element];
    }
};

colour_view view_of(const colour_planes& planes, const any_view& first_fit) {
    const auto bytes = static_cast<std::int64_t>(colour_planes::plane_bytes(planes.of_image));
    return {planes.guide_planes(0),
            planes.guide_planes(planes.pairs()),
            static_cast<char*>(first_fit.data),
            planes.of_image.row_stride,
            bytes,
            std::int64_t{planes.cols} * planes.channels,
            planes.rows,
            planes.channels};
}

/// f(row, element) of all elements of a plane.
template <typename F>
__device__ void for_each_element(const colour_view& t, F f) {
    const auto element = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (element >= t.elements) return;
    for (std::int64_t row = blockIdx.y; row < t.rows; row += gridDim.y) f(row, element);
}

/// Covariances with the image and its mean become a and b: (covariances + epsilon E) a = those with the image, by
/// L D L^T as on the CPU.
template <int Guides>
__global__ __launch_bounds__(128) void colour_fit_kernel(const __grid_constant__ colour_view t, double epsilon) {
    for_each_element(t, [&](std::int64_t row, std::int64_t element) {
        const std::int64_t col = element / t.channels;
        double m[Guides][Guides], a[Guides], inverse[Guides];
        int pair = 0;
#pragma unroll
        for (int j = 0; j < Guides; ++j) {
            a[j] = t.fit(j, row, element);
#pragma unroll
            for (int i = j; i < Guides; ++i) m[i][j] = t.covariances.at(row, col, pair++);
            m[j][j] += epsilon;
        }
#pragma unroll
        for (int j = 0; j < Guides; ++j) {
            inverse[j] = 1 / m[j][j];
#pragma unroll
            for (int i = j + 1; i < Guides; ++i) {
                const double l = m[i][j] * inverse[j];
#pragma unroll
                for (int k = j + 1; k <= i; ++k) m[i][k] -= l * m[k][j];
                a[i] -= l * a[j];
            }
        }
        double b = t.fit(Guides, row, element);
#pragma unroll
        for (int j = Guides - 1; j >= 0; --j) {
#pragma unroll
            for (int i = j + 1; i < Guides; ++i) a[j] -= m[i][j] * a[i];
            a[j] *= inverse[j];
            t.fit(j, row, element) = a[j];
        }
#pragma unroll
        for (int j = 0; j < Guides; ++j) b -= a[j] * t.means.at(row, col, j);
        t.fit(Guides, row, element) = b;
    });
}

struct colour_evaluation {
    const char* guide;
    char* result;
    std::int64_t guide_stride, result_stride;
    dtype guide_type, result_type;
    int guides;
    double half;
};

/// `t.fits` are means of fits.
__global__ __launch_bounds__(128) void colour_result_kernel(const __grid_constant__ colour_view t,
                                                            const __grid_constant__ colour_evaluation to) {
    for_each_element(t, [&](std::int64_t row, std::int64_t element) {
        const std::int64_t first = element / t.channels * to.guides;
        const char* const guide = to.guide + row * to.guide_stride;
        double q = t.fit(to.guides, row, element);
        for (int i = 0; i < to.guides; ++i) q += t.fit(i, row, element) * load_pixel(guide, to.guide_type, first + i);
        store_pixel(to.result + row * to.result_stride, to.result_type, element, q, to.half);
    });
}

launch_shape elements_of(const colour_planes& planes) {
    const auto blocks = static_cast<unsigned>((std::int64_t{planes.cols} * planes.channels + 127) / 128);
    return {.grid = {blocks, static_cast<unsigned>(std::min(planes.rows, 65535)), 1}, .block = 128};
}

/// The guide from one of its channels on.
const_any_view from_channel(const_any_view guide, int channel) {
    guide.data = static_cast<const std::byte*>(guide.data) +
                 static_cast<std::size_t>(channel) * static_cast<std::size_t>(size_of(guide.shape.type));
    return guide;
}

void enqueue_moments(const guided_colours& filter, const colour_planes& planes, stream_ref stream) {
    const auto products = [&](const const_any_view& image, int guide, const product_output& to) {
        launch_adding<adding_kernel<product_terms>>(adding_product_kernel, *filter.fits, image,
                                                    from_channel(filter.guide, guide), {}, stream, to);
    };
    for (int g = 0; g < planes.guides; ++g) {
        product_output to{planes.guide_planes(planes.pair_with_itself(g) - g), {}, g};
        if (g == 0) to.means = planes.guide_planes(planes.pairs());
        products(filter.guide, g, to);
    }
    for (int g = 0; g < planes.guides; ++g) {
        product_output to{colour_planes::side_by_side(planes.fit(g)), {}, 0};
        if (g == 0) to.means = colour_planes::side_by_side(planes.fit(planes.guides));
        products(filter.image, g, to);
    }
}

}  // namespace

std::size_t guided_colour_bytes(const guided_colours& filter) {
    return colour_planes(filter).scratch_at +
           real_scratch_bytes(*filter.means, false, filter.means->first_row, filter.means->end_row);
}

void enqueue_guided_colours(const guided_colours& filter, stream_ref stream) {
    const colour_planes planes(filter);
    enqueue_moments(filter, planes, stream);
    const auto fit = [&](auto kernel) {
        launch(kernel, elements_of(planes), stream, view_of(planes, planes.fit(0)), filter.epsilon);
    };
    if (planes.guides == 2)
        fit(colour_fit_kernel<2>);
    else if (planes.guides == 3)
        fit(colour_fit_kernel<3>);
    else
        fit(colour_fit_kernel<4>);
    for (int k = 0; k <= planes.guides; ++k)
        enqueue_real_statistics({filter.means,
                                 planes.fit(k),
                                 {},
                                 {},
                                 filter.means->first_row,
                                 filter.means->end_row,
                                 planes.space + planes.scratch_at},
                                {.mean = planes.mean(k)}, stream);
    const view_shape &guide = filter.guide.shape, &result = filter.result.shape;
    launch(colour_result_kernel, elements_of(planes), stream, view_of(planes, planes.mean(0)),
           colour_evaluation{static_cast<const char*>(filter.guide.data), static_cast<char*>(filter.result.data),
                             guide.row_stride, result.row_stride, guide.type, result.type, planes.guides,
                             filter.rounding == rounding_mode::half_up ? 0.5 : 0});
}

}  // namespace boxsum::cuda
