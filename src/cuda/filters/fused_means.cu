#include "core/visit_types.hpp"
#include "cuda/device/divider.hpp"
#include "cuda/filters/fused_windows.cuh"

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

/// floor(x / n) of x < 256 n, n <= 2^20, as a byte of the upper half of a product of 32-bit numbers, where it can be
/// taken from without a shift.
///
/// With k = 32, 40 or 48 and the multiplier m = floor(2^k / n) + 1 = (2^k + e) / n, 0 < e <= n, x m / 2^k exceeds x / n
/// by x e / (n 2^k), which is below 1 / n, and so too little to reach the next integer, as 256 n^2 <= 2^k.
struct byte_quotient {
    static constexpr int largest = 1 << 20;
    std::uint32_t multiplier = 0;
    std::uint32_t selector = 0;  ///< of __byte_perm(): the bytes of two products, side by side
    std::uint64_t offset = 0;    ///< of a product

    byte_quotient() = default;
    /// Of x less `add`. 2^k / n is rounded to a double, by 2^-20 at most, but 1 / n from the next integer or on one.
    BOXSUM_HOST_DEVICE byte_quotient(int n, std::uint32_t add) {
        const int byte = n <= 1 << 12 ? 0 : n <= 1 << 16 ? 1 : 2;
        const double scale = byte == 0 ? 0x1p32 : byte == 1 ? 0x1p40 : 0x1p48;
        // By 1: x + 1 is the least multiple that (2^32 - 1) / 2^32 of it reaches x.
        multiplier = n == 1 ? ~0u : static_cast<std::uint32_t>(scale / n) + 1;
        offset = multiplier * std::uint64_t{n == 1 ? add + 1 : add};
        selector = static_cast<std::uint32_t>(byte | (4 + byte) << 4);
    }
    /// Of x that are larger by `raise`.
    BOXSUM_HOST_DEVICE byte_quotient of_raised(std::uint32_t raise) const {
        byte_quotient other = *this;
        other.offset -= std::uint64_t{raise} * multiplier;
        return other;
    }
    __device__ std::uint32_t product(std::uint32_t x) const {
        return static_cast<std::uint32_t>((std::uint64_t{x} * multiplier + offset) >> 32);
    }

    /// The quotients of four products.
    __device__ std::uint32_t together(const std::uint32_t (&x)[4]) const {
        return __byte_perm(__byte_perm(x[0], x[1], selector), __byte_perm(x[2], x[3], selector), 0x5410);
    }
};

/// A division in double is long, and rare.
__device__ __noinline__ byte_quotient quotient_by(int n, std::uint32_t add) {
    return {n, add};
}

inline constexpr int most_rows = 7;  ///< of a batch

/// Where means of integers go.
struct mean_output {
    char* data;
    std::int64_t row_stride;
    std::uint32_t raise;             ///< what makes centred pixels positive
    std::uint32_t half;              ///< 1: halves are rounded up; 0: means are rounded down
    std::uint32_t flip;              ///< XORed to a word of positive means
    bool in_units;                   ///< a thread's means can be written together, or their words be shifted
    divider uncut;                   ///< by the pixels of an uncut window
    byte_quotient bytes[most_rows];  ///< the same of bytes, of each row's raised sums
    double inverse;                  ///< of them
};

/// floor(x / n + 1/2), or floor(x / n), of positive pixels, from the sum of centred ones. For many windows of n pixels.
template <typename Sum>
struct rounded;

template <>
struct rounded<std::uint32_t> {  // what is divided is below 2^31
    std::uint32_t bias;
    divider by;

    __device__ void prepare(int n, bool uncut, const mean_output& to) {
        bias = to.raise * static_cast<std::uint32_t>(n) + to.half * (static_cast<std::uint32_t>(n) / 2);
        by = uncut ? to.uncut : divider(static_cast<std::uint32_t>(n));
    }
    __device__ std::uint32_t operator()(std::uint32_t x) const { return by.quotient(x + bias); }
};

template <>
struct rounded<std::uint64_t> {
    std::uint64_t bias;
    double inverse;
    std::uint32_t n;

    __device__ void prepare(int pixels, bool uncut, const mean_output& to) {
        n = static_cast<std::uint32_t>(pixels);
        bias = std::uint64_t{to.raise} * n + to.half * (n / 2);
        inverse = uncut ? to.inverse : 1.0 / n;
    }
    /// Off by at most one before it is corrected: three roundings of 2^-53 each, of a quotient below 2^16.
    __device__ std::uint32_t operator()(std::uint64_t x) const {
        const std::uint64_t y = x + bias;
        auto q = static_cast<std::uint32_t>(static_cast<double>(y) * inverse);
        const auto rest = static_cast<std::int32_t>(static_cast<std::uint32_t>(y) - q * n);  // -n .. 2n - 1
        if (rest < 0) --q;
        if (rest >= static_cast<std::int32_t>(n)) ++q;
        return q;
    }
};

/// The same of one window of height * width pixels.
__device__ std::uint32_t one_rounded(std::uint64_t x, int height, int width, const mean_output& to) {
    rounded<std::uint64_t> mean;
    mean.prepare(height * width, false, to);
    return mean(x);
}

__device__ std::uint32_t one_rounded(std::uint32_t x, int height, int width, const mean_output& to) {
    const auto n = static_cast<std::uint32_t>(height * width);
    const std::uint32_t y = x + to.raise * n + to.half * (n / 2);
    // Off by at most one before it is corrected: a quotient below 2^16, a few relative errors of 2^-23.
    auto q = static_cast<std::uint32_t>(__fdividef(static_cast<float>(y), static_cast<float>(n)));
    const auto rest = static_cast<std::int32_t>(y - q * n);
    if (rest < 0) --q;
    if (rest >= static_cast<std::int32_t>(n)) ++q;
    return q;
}

/// Words of whole warps, wherever a row starts: a lane writes the words of memory in which its bytes begin, the first
/// with bytes of the lane before. Those that no lane before it, or behind it, has a part in are written as bytes.
template <int W>
__device__ void store_shifted(char* at, const std::uint32_t (&x)[W], bool owns, bool begins, bool ends) {
    const std::uint32_t before = __shfl_up_sync(~0u, x[W - 1], 1);
    if (!owns) return;
    const int past = static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % 4);
    const unsigned shift = 8 * static_cast<unsigned>(past);
    auto* const words = reinterpret_cast<std::uint32_t*>(at - past);
    const std::uint32_t head = __funnelshift_l(before, x[0], shift), tail = __funnelshift_l(x[W - 1], 0, shift);
    if (!begins || past == 0) __stcs(words, head);
#pragma unroll
    for (int w = 1; w < W; ++w) __stcs(words + w, __funnelshift_l(x[w - 1], x[w], shift));
    if (past == 0 || !(begins || ends)) return;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
        if (begins && b >= past) at[b - past] = static_cast<char>(head >> (8 * b));
        if (ends && b < past) at[4 * W - past + b] = static_cast<char>(tail >> (8 * b));
    }
}

template <typename Slide, typename Sum>
__global__ __launch_bounds__(most_fused_threads) void fused_mean_kernel(const __grid_constant__ fused_view t,
                                                                        const __grid_constant__ mean_output to) {
    for_each_batch<Slide>(t, [&](const auto& batch) {
        using Pixel = typename Slide::pixel;
        constexpr int rows = Slide::rows, K = Slide::K;
        constexpr int in_word = 4 / static_cast<int>(sizeof(Pixel));
        char* const first = to.data + batch.row * to.row_stride;
        const int full = static_cast<int>(t.cols.full);
        [[maybe_unused]] byte_quotient by[rows];
        if (sizeof(Pixel) == 1 && to.in_units && !batch.plain) {
            batch.for_rows(by, full,
                           [&](int n) { return quotient_by(n, to.half * (static_cast<std::uint32_t>(n) / 2)); });
#pragma unroll
            for (int j = 0; j < rows; ++j) by[j] = by[j].of_raised(Slide::sums::raise(j));
        }
        std::uint32_t out[rows][K / in_word];
        if (to.in_units && batch.owns()) {
            if constexpr (sizeof(Pixel) == 1) {
                const auto divide = [&](const auto& quotient_of) {
#pragma unroll
                    for (int k = 0; k < K / 4; ++k) {
                        std::uint32_t x[rows][4];
#pragma unroll
                        for (int i = 0; i < 4; ++i) {
                            const auto w = batch.own_window(4 * k + i);
#pragma unroll
                            for (int j = 0; j < rows; ++j) x[j][i] = quotient_of(j).product(w.raised_sum(j));
                        }
#pragma unroll
                        for (int j = 0; j < rows; ++j) out[j][k] = quotient_of(j).together(x[j]);
                    }
                };
                if (batch.plain) {
                    divide([&](int j) -> const byte_quotient& { return to.bytes[j]; });
                } else {
                    divide([&](int j) -> const byte_quotient& { return by[j]; });
                }
            } else {
                rounded<Sum> mean[rows];
#pragma unroll
                for (int j = 0; j < rows; ++j) mean[j].prepare(batch.height[j] * full, batch.plain, to);
#pragma unroll
                for (int i = 0; i < K; ++i) {
                    const auto w = batch.own_window(i);
#pragma unroll
                    for (int j = 0; j < rows; ++j) {
                        const std::uint32_t x = mean[j](w.sum(j)) << (32 / in_word * (i % in_word));
                        out[j][i / in_word] = i % in_word == 0 ? x ^ to.flip : out[j][i / in_word] ^ x;
                    }
                }
            }
        }
        char* const own = first + std::int64_t{batch.own()} * static_cast<int>(sizeof(Pixel));
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            if (!to.in_units || j >= batch.valid) break;
            if constexpr (Slide::shifted)
                store_shifted(own + j * to.row_stride, out[j], batch.owns(),
                              batch.thread % 32 == 0 || batch.own() == batch.begin_owned,
                              batch.thread % 32 == 31 || batch.own() + K == batch.end_owned);
            else if (batch.owns())
                store_streaming(reinterpret_cast<std::uint32_t*>(own + j * to.row_stride), out[j]);
        }
        batch.for_each_column(to.in_units, [&](int col, const auto& w) {
            const int width = fused_width(t, col);
#pragma unroll
            for (int j = 0; j < rows; ++j)
                if (j < batch.valid)
                    reinterpret_cast<Pixel*>(first + j * to.row_stride)[col * t.channels + batch.channel] =
                        static_cast<Pixel>(one_rounded(w.sum(j), batch.height[j], width, to) ^ to.flip);
        });
    });
}

template <typename Pixel, typename Sum, int K, bool Deltas = false, bool Shifted = false>
void launch_means(const fused_task& task, const fused_shape& shape, const any_view& result, stream_ref stream) {
    using slide = integer_slide<Pixel, Sum, false, K, Deltas, Shifted>;
    const bool is_signed = task.image.shape.type == dtype::s16;
    mean_output to{};
    to.data = static_cast<char*>(result.data);
    to.row_stride = result.shape.row_stride;
    to.half = task.job->rounding == rounding_mode::half_up;
    to.raise = sizeof(Pixel) == 1 ? 0 : 32768;
    to.flip = is_signed ? 0x80008000u : 0;
    constexpr std::int64_t unit = K * sizeof(Pixel);
    to.in_units = lies_in_units(result, unit);
    const bool in_units = to.in_units && on_device<Pixel, K>(task, shape).in_units;
    if (Shifted)
        to.in_units = true;
    else if constexpr (K <= 8) {
        if (!in_units && result.shape.channels == 1 && can_be_shifted<Pixel, K>(task, shape))
            return launch_means<Pixel, Sum, K, Deltas, true>(task, shape, result, stream);
    }
    const std::int64_t uncut = task.job->rows.full * task.job->cols.full;
    if constexpr (sizeof(Pixel) == 1) {
        to.in_units = to.in_units && uncut <= byte_quotient::largest;
        const byte_quotient all(static_cast<int>(uncut), to.half * static_cast<std::uint32_t>(uncut / 2));
        for (int j = 0; j < slide::rows; ++j) to.bytes[j] = all.of_raised(slide::sums::raise(j));
    } else if constexpr (sizeof(Sum) == 4) {
        to.uncut = divider(static_cast<std::uint32_t>(uncut));
    }
    to.inverse = 1.0 / static_cast<double>(uncut);
    launch_fused<slide>(fused_mean_kernel<slide, Sum>, task, shape, stream, to);
}

}  // namespace

void enqueue_fused_means(const fused_task& task, fused_sums sums, const any_view& result, stream_ref stream) {
    const fused_shape shape = fused_shape_of(*task.job, sums, task.end_row - task.first_row);
    if (sums == fused_sums::broad) {  // not every device has the shared memory for larger blocks
        constexpr int columns = fused_columns(dtype::u8, fused_sums::broad);
        if (shape.threads > 256 || !lies_in_units(task.image, columns) || !lies_in_units(result, columns))
            return enqueue_fused_means(task, fused_sums::narrow, result, stream);
        return launch_means<u8, u32, columns>(task, shape, result, stream);
    }
    if (sums == fused_sums::deltas)
        launch_means<u8, u32, fused_columns(dtype::u8, fused_sums::deltas), true>(task, shape, result, stream);
    else if (task.image.shape.type == dtype::u8)
        launch_means<u8, u32, fused_columns(dtype::u8, fused_sums::narrow)>(task, shape, result, stream);
    else if (sums == fused_sums::narrow)
        launch_means<u16, u32, fused_columns(dtype::u16, fused_sums::narrow)>(task, shape, result, stream);
    else
        launch_means<u16, u64, fused_columns(dtype::u16, fused_sums::wide)>(task, shape, result, stream);
}

}  // namespace boxsum::cuda
