#pragma once

#include "convolve/job.hpp"
#include "core/visit_types.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/device/layers.cuh"

#include <cstdint>

/// Images and their borders as the kernels of convolution see them.
namespace boxsum::cuda {

/// The sample of an axis that stands beyond its ends; -1: the border's value. Not inline: 64-bit remainders would be at
/// every load.
static __device__ __noinline__ std::int64_t beyond(std::int64_t i, std::int64_t extent, border_mode border) {
    if (border == border_mode::replicate) return i < 0 ? 0 : extent - 1;
    if (border != border_mode::reflect) return -1;
    const std::int64_t period = 2 * extent, phase = (i % period + period) % period;
    return phase < extent ? phase : period - 1 - phase;
}
__device__ inline std::int64_t source(std::int64_t i, std::int64_t extent, border_mode border) {
    return i >= 0 && i < extent ? i : beyond(i, extent, border);
}

/// A layer of an image, continued beyond its border, in the type of the sums.
template <typename Pixel, typename Sum>
struct bordered {
    layer<const Pixel> image;
    border_mode border;
    Sum value;

    __device__ Sum at(std::int64_t r, std::int64_t c) const { return column(c).at(r); }

    struct column_of {
        line<const Pixel> pixels;
        std::int64_t rows;
        border_mode border;
        Sum value;
        bool beyond;  ///< all of it is the border's value

        __device__ Sum at(std::int64_t r) const {
            const std::int64_t y = beyond ? -1 : source(r, rows, border);
            return y < 0 ? value : widen<Sum>(pixels[y]);
        }
    };
    __device__ column_of column(std::int64_t c) const {
        const std::int64_t x = source(c, image.cols, border);
        return {image.column(x < 0 ? 0 : x), image.rows, border, value, x < 0};
    }
};

/// All layers of a call.
template <typename Pixel, typename Sum>
struct convolved {
    layers<const Pixel> image;
    layers<Sum> result;
    border_mode border;
    Sum value;

    __device__ bordered<Pixel, Sum> input(std::int64_t layer) const { return {image[layer], border, value}; }
};

template <typename Pixel, typename Sum>
convolved<Pixel, Sum> convolved_of(const convolution::job& j, const void* image, void* result) {
    const auto layers_of = [&]<typename T>(T* data, const view_shape& s) {
        return layers<T>{data, s.rows, s.cols, s.row_stride, s.plane_stride, s.planes, s.channels};
    };
    return {layers_of(static_cast<const Pixel*>(image), j.image), layers_of(static_cast<Sum*>(result), j.result),
            j.border, static_cast<Sum>(j.border_value)};
}

#if defined(BOXSUM_TYPES_MIN)
using convolve_pairs = type_list<typed_pair<u8, f32>, typed_pair<f32, f32>>;
#else
using convolve_pairs = type_list<typed_pair<u8, f32>, typed_pair<u16, f32>, typed_pair<f32, f32>, typed_pair<f64, f64>>;
#endif

/// Calls f.template operator()<Pixel, Sum>(all layers) for the types of the job.
template <typename F>
void visit_convolved(const convolution::job& j, const void* image, void* result, F&& f) {
    visit_type_pair(convolve_pairs{}, {j.image.type, j.result.type},
                    [&]<typename Pixel, typename Sum>() { f(convolved_of<Pixel, Sum>(j, image, result)); });
}

/// Calls f.template operator()<N>() for N == n, which is First to Last: rows of a kernel, over which loops are
/// unrolled.
template <int First, int Last, typename F>
void visit_rows(int n, F&& f) {
    if (n == First) return f.template operator()<First>();
    if constexpr (First < Last) visit_rows<First + 1, Last>(n, f);
}

}  // namespace boxsum::cuda
