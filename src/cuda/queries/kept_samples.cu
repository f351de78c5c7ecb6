// Which pixels count, and what they are, as images that tables are made of. A thread has an element of every so many
// rows. Pixels that are kept or not are words of their width: NaN and equality are seen in the bits.

#include "core/visit_types.hpp"
#include "cuda/queries/kept_samples.hpp"
#include "cuda/queries/samples.cuh"
#include "cuda/runtime/launch.cuh"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace boxsum::cuda {
namespace {

constexpr int block_threads = 256;
constexpr std::int64_t most_lines = 65535;  // of a grid; threads go on with further rows

/// What values of pixels do not count, by their bits.
struct refused_values {
    std::uint64_t nodata = 0, magnitude = 0, infinity = 0;  ///< the last two of floats
    bool has_nodata = false, nan = false;

    template <typename Word>
    __device__ bool has(Word pixel) const {
        if (infinity != 0) {
            const std::uint64_t size = pixel & magnitude;
            if (size > infinity) return nan;
            return has_nodata && (pixel == nodata || (size == 0 && (nodata & magnitude) == 0));
        }
        return has_nodata && pixel == nodata;
    }
};

struct sample_task {
    samples image, mask, weights;
    refused_values refused;
    std::int64_t planes, rows, cols, channels;
    samples pixels, counts, sums, squares, weighted;
    samples positive, negative;
    std::uint32_t* any_infinite;

    __device__ void mark(bool is_positive, bool is_negative, std::int64_t plane, std::int64_t row, std::int64_t col,
                         std::int64_t channel) const {
        positive.at<std::uint8_t>(plane, row, col, channel) = is_positive ? 1 : 0;
        negative.at<std::uint8_t>(plane, row, col, channel) = is_negative ? 1 : 0;
        if (is_positive || is_negative) *any_infinite = 1;
    }
};

template <typename Word>
__device__ bool does_count(const sample_task& t, Word pixel, std::int64_t plane, std::int64_t row, std::int64_t col,
                           std::int64_t channel) {
    if (t.refused.has(pixel)) return false;
    return t.mask.data == nullptr || t.mask.at<const std::uint8_t>(plane, row, col, channel) != 0;
}

/// f(plane, row, col, channel) for the elements of a thread
template <typename F>
__device__ void for_own_elements(const sample_task& t, F&& f) {
    const std::int64_t i = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
    if (i >= t.cols * t.channels) return;
    const std::int64_t col = t.channels == 1 ? i : i / t.channels, channel = i - col * t.channels;
    for (std::int64_t line = blockIdx.y; line < t.planes * t.rows; line += gridDim.y) {
        const std::int64_t plane = t.planes == 1 ? 0 : line / t.rows;
        f(plane, line - plane * t.rows, col, channel);
    }
}

template <typename Word>
__global__ void __launch_bounds__(block_threads) keep_pixels_kernel(sample_task t) {
    for_own_elements(t, [&](std::int64_t plane, std::int64_t row, std::int64_t col, std::int64_t channel) {
        const Word pixel = t.image.at<const Word>(plane, row, col, channel);
        const bool kept = does_count(t, pixel, plane, row, col, channel);
        Word summed = kept ? pixel : Word{0};
        if (t.positive.data != nullptr) {
            const std::uint64_t size = summed & t.refused.magnitude;
            const bool nan = size > t.refused.infinity, infinite = size == t.refused.infinity, minus = size != summed;
            t.mark(nan || (infinite && !minus), nan || (infinite && minus), plane, row, col, channel);
            if (nan || infinite) summed = 0;
        }
        if (t.pixels.data != nullptr) t.pixels.at<Word>(plane, row, col, channel) = summed;
        if (t.counts.data != nullptr) t.counts.at<std::uint8_t>(plane, row, col, channel) = kept ? 1 : 0;
    });
}

template <typename T>
__global__ void __launch_bounds__(block_threads) weigh_pixels_kernel(sample_task t) {
    using word =
        std::conditional_t<sizeof(T) == 1, std::uint8_t,
                           std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                              std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
    for_own_elements(t, [&](std::int64_t plane, std::int64_t row, std::int64_t col, std::int64_t channel) {
        const T pixel = t.image.at<const T>(plane, row, col, channel);
        word bits;
        memcpy(&bits, &pixel, sizeof bits);
        const float given = t.weights.at<const float>(plane, row, col, channel);
        const bool kept = given > 0 && given <= FLT_MAX && does_count(t, bits, plane, row, col, channel);
        if (t.counts.data != nullptr) t.counts.at<std::uint8_t>(plane, row, col, channel) = kept ? 1 : 0;
        const double w = static_cast<double>(given), x = number_of(pixel);
        double product = kept ? w * x : 0;
        if (t.positive.data != nullptr) {
            const bool nan = product != product;
            t.mark(nan || product > DBL_MAX, nan || product < -DBL_MAX, plane, row, col, channel);
            if (!(fabs(product) <= DBL_MAX)) product = 0;
        }
        t.sums.at<double>(plane, row, col, channel) = product;
        if (t.squares.data != nullptr) t.squares.at<double>(plane, row, col, channel) = kept ? w * x * x : 0;
        if (t.weighted.data != nullptr) t.weighted.at<double>(plane, row, col, channel) = kept ? w : 0;
    });
}

/// Of floats of so many bits of mantissa.
template <typename T>
refused_values refused_of(nan_mode nan, const std::optional<double>& nodata) {
    refused_values refused;
    constexpr bool real = std::is_floating_point_v<T> || std::is_same_v<T, float16>;
    refused.has_nodata = nodata && !std::isnan(*nodata);
    refused.nan = nan == nan_mode::omit || (nodata && std::isnan(*nodata));
    if (refused.has_nodata) {
        T value{};
        if constexpr (std::is_same_v<T, float16>)
            value = to_float16(static_cast<float>(*nodata));
        else
            value = static_cast<T>(*nodata);
        std::memcpy(&refused.nodata, &value, sizeof value);  // the lower bytes: devices' hosts are little-endian
    }
    if constexpr (real) {
        refused.magnitude = ~std::uint64_t{0} >> (65 - 8 * sizeof(T));
        refused.infinity = sizeof(T) == 2 ? 0x7c00u : sizeof(T) == 4 ? 0x7f800000u : std::uint64_t{0x7ff} << 52;
    }
    return refused;
}

}  // namespace

void enqueue_kept(const sat_inputs& inputs, const std::optional<double>& nodata, const kept_images& to,
                  stream_ref stream) {
    const view_shape& s = inputs.image.shape;
    sample_task task{.image = samples(inputs.image),
                     .mask = samples(inputs.mask),
                     .weights = samples(inputs.weights),
                     .refused = {},
                     .planes = s.planes,
                     .rows = s.rows,
                     .cols = s.cols,
                     .channels = s.channels,
                     .pixels = samples(to.pixels),
                     .counts = samples(to.counts),
                     .sums = samples(to.sums),
                     .squares = samples(to.squares),
                     .weighted = samples(to.weights),
                     .positive = samples(to.positive),
                     .negative = samples(to.negative),
                     .any_infinite = to.any_infinite};
    const auto blocks = (s.cols * s.channels + block_threads - 1) / block_threads;
    const launch_shape shape{
        .grid = dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(std::min(s.planes * s.rows, most_lines))),
        .block = block_threads};
    visit_dtype(s.type, [&]<typename T>() {
        task.refused = refused_of<T>(inputs.nan, nodata);
        if (to.sums.data != nullptr) return launch(weigh_pixels_kernel<T>, shape, stream, task);
        if constexpr (sizeof(T) == 1)
            launch(keep_pixels_kernel<std::uint8_t>, shape, stream, task);
        else if constexpr (sizeof(T) == 2)
            launch(keep_pixels_kernel<std::uint16_t>, shape, stream, task);
        else if constexpr (sizeof(T) == 4)
            launch(keep_pixels_kernel<std::uint32_t>, shape, stream, task);
        else
            launch(keep_pixels_kernel<std::uint64_t>, shape, stream, task);
    });
}

}  // namespace boxsum::cuda
