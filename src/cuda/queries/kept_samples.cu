// Which pixels count, and what they are, as images that tables are made of. A thread has some neighbouring elements of
// every so many rows, or one where elements do not lie side by side. Pixels that are kept or not are words of their
// width: NaN and equality are seen in the bits.

#include "core/visit_types.hpp"
#include "cuda/device/streaming.cuh"
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
    bool together;  ///< all images' elements of a row lie side by side
};

/// Elements of one row, N of which the first `valid` are there.
template <int N>
struct run_of_elements {
    std::int64_t plane, row, element, channels;
    int valid;

    template <typename T>
    __device__ T* first_in(const samples& image) const {
        if constexpr (N == 1) {
            const std::int64_t col = channels == 1 ? element : element / channels;
            return &image.at<T>(plane, row, col, element - col * channels);
        } else {
            return reinterpret_cast<T*>(image.data + plane * image.plane_stride + row * image.row_stride) + element;
        }
    }
    template <typename T>
    __device__ bool is_whole(const T* at) const {
        return valid == N && reinterpret_cast<std::uintptr_t>(at) % (sizeof(T) * N) == 0;
    }
    template <typename T>
    __device__ void read(T (&x)[N], const samples& image) const {
        const T* const from = first_in<const T>(image);
        if (N > 1 && is_whole(from)) {
            const auto whole = *reinterpret_cast<const vector_of<T, N>*>(from);
#pragma unroll
            for (int i = 0; i < N; ++i) x[i] = whole.x[i];
            return;
        }
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = i < valid ? from[i] : T{};
    }
    template <typename T>
    __device__ void write(const samples& image, const T (&x)[N]) const {
        T* const to = first_in<T>(image);
        if (N > 1 && is_whole(to)) {
            vector_of<T, N> whole;
#pragma unroll
            for (int i = 0; i < N; ++i) whole.x[i] = x[i];
            *reinterpret_cast<vector_of<T, N>*>(to) = whole;
            return;
        }
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (i < valid) to[i] = x[i];
    }
};

/// Elements that a thread takes at once where they lie together.
constexpr int run_length(std::size_t bytes) {
    return bytes == 1 ? 8 : 4;
}

/// f(run_of_elements<N>) for those of a thread.
template <int N, typename F>
__device__ void for_own_runs(const sample_task& t, F&& f) {
    const std::int64_t n = t.cols * t.channels, first = (std::int64_t{blockIdx.x} * block_threads + threadIdx.x) * N;
    if (first >= n) return;
    const int valid = n - first < N ? static_cast<int>(n - first) : N;
    for (std::int64_t line = blockIdx.y; line < t.planes * t.rows; line += gridDim.y) {
        const std::int64_t plane = t.planes == 1 ? 0 : line / t.rows;
        f(run_of_elements<N>{plane, line - plane * t.rows, first, t.channels, valid});
    }
}

/// Which of the pixels count, for all that weights say.
template <typename Word, int N>
__device__ void find_kept(std::uint8_t (&kept)[N], const Word (&pixels)[N], const sample_task& t,
                          const run_of_elements<N>& run) {
    if (t.mask.data != nullptr) {
        run.read(kept, t.mask);
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) kept[i] = 1;
    }
#pragma unroll
    for (int i = 0; i < N; ++i) kept[i] = kept[i] != 0 && !t.refused.has(pixels[i]) ? 1 : 0;
}

/// 1 where a number is positive and not finite, or negative and so, or for both NaN.
template <int N>
__device__ void write_infinite(const std::uint8_t (&positive)[N], const std::uint8_t (&negative)[N],
                               const sample_task& t, const run_of_elements<N>& run) {
    bool any = false;
#pragma unroll
    for (int i = 0; i < N; ++i) any = any || positive[i] != 0 || negative[i] != 0;
    run.write(t.positive, positive);
    run.write(t.negative, negative);
    if (any) *t.any_infinite = 1;
}

template <typename Word, int N>
__device__ void keep_pixels(const sample_task& t, const run_of_elements<N>& run) {
    Word pixels[N];
    std::uint8_t kept[N];
    run.read(pixels, t.image);
    find_kept(kept, pixels, t, run);
#pragma unroll
    for (int i = 0; i < N; ++i) pixels[i] = kept[i] != 0 ? pixels[i] : Word{0};
    if (t.positive.data != nullptr) {
        std::uint8_t positive[N], negative[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const std::uint64_t size = pixels[i] & t.refused.magnitude;
            const bool nan = size > t.refused.infinity, infinite = size == t.refused.infinity,
                       minus = size != pixels[i];
            positive[i] = nan || (infinite && !minus) ? 1 : 0;
            negative[i] = nan || (infinite && minus) ? 1 : 0;
            if (nan || infinite) pixels[i] = 0;
        }
        write_infinite(positive, negative, t, run);
    }
    if (t.pixels.data != nullptr) run.write(t.pixels, pixels);
    if (t.counts.data != nullptr) run.write(t.counts, kept);
}

template <typename T, int N>
__device__ void weigh_pixels(const sample_task& t, const run_of_elements<N>& run) {
    using word =
        std::conditional_t<sizeof(T) == 1, std::uint8_t,
                           std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                              std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
    T pixels[N];
    word bits[N];
    float given[N];
    std::uint8_t kept[N];
    run.read(pixels, t.image);
    run.read(given, t.weights);
    memcpy(bits, pixels, sizeof bits);
    find_kept(kept, bits, t, run);
    double products[N], weights[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        kept[i] = kept[i] != 0 && given[i] > 0 && given[i] <= FLT_MAX ? 1 : 0;
        weights[i] = kept[i] != 0 ? static_cast<double>(given[i]) : 0;
        products[i] = kept[i] != 0 ? weights[i] * number_of(pixels[i]) : 0;
    }
    if (t.squares.data != nullptr) {
        double squares[N];
#pragma unroll
        for (int i = 0; i < N; ++i) squares[i] = kept[i] != 0 ? products[i] * number_of(pixels[i]) : 0;
        run.write(t.squares, squares);
    }
    if (t.positive.data != nullptr) {
        std::uint8_t positive[N], negative[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const bool nan = products[i] != products[i];
            positive[i] = nan || products[i] > DBL_MAX ? 1 : 0;
            negative[i] = nan || products[i] < -DBL_MAX ? 1 : 0;
            if (positive[i] != 0 || negative[i] != 0) products[i] = 0;
        }
        write_infinite(positive, negative, t, run);
    }
    run.write(t.sums, products);
    if (t.weighted.data != nullptr) run.write(t.weighted, weights);
    if (t.counts.data != nullptr) run.write(t.counts, kept);
}

template <typename Word>
__global__ void __launch_bounds__(block_threads) keep_pixels_kernel(sample_task t) {
    if (t.together)
        for_own_runs<run_length(sizeof(Word))>(t, [&](const auto& run) { keep_pixels<Word>(t, run); });
    else
        for_own_runs<1>(t, [&](const auto& run) { keep_pixels<Word>(t, run); });
}

template <typename T>
__global__ void __launch_bounds__(block_threads) weigh_pixels_kernel(sample_task t) {
    if (t.together)
        for_own_runs<run_length(8)>(t, [&](const auto& run) { weigh_pixels<T>(t, run); });
    else
        for_own_runs<1>(t, [&](const auto& run) { weigh_pixels<T>(t, run); });
}

bool has_elements_together(const view_shape& s, std::int64_t channels) {
    return s.channels == channels && s.pixel_stride() == channels * static_cast<std::int64_t>(size_of(s.type));
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
    const std::int64_t elements = s.cols * s.channels;
    task.together = true;
    for (const const_any_view& v :
         {inputs.image, inputs.mask, inputs.weights, const_any_view(to.pixels), const_any_view(to.counts),
          const_any_view(to.sums), const_any_view(to.squares), const_any_view(to.weights), const_any_view(to.positive),
          const_any_view(to.negative)})
        if (v.data != nullptr) task.together = task.together && has_elements_together(v.shape, s.channels);
    const auto shape_of = [&](int run) {
        const std::int64_t of_block = std::int64_t{block_threads} * (task.together ? run : 1);
        return launch_shape{.grid = dim3(static_cast<unsigned>((elements + of_block - 1) / of_block),
                                         static_cast<unsigned>(std::min(s.planes * s.rows, most_lines))),
                            .block = block_threads};
    };
    visit_dtype(s.type, [&]<typename T>() {
        task.refused = refused_of<T>(inputs.nan, nodata);
        if (to.sums.data != nullptr) return launch(weigh_pixels_kernel<T>, shape_of(run_length(8)), stream, task);
        const launch_shape shape = shape_of(run_length(sizeof(T)));
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
