#pragma once

#include "cuda/filters/real_windows.cuh"
#include "cuda/filters/threshold_formulas.cuh"

/// What is made of the windows of real_windows.cuh.
namespace boxsum::cuda {

struct real_finish {
    real_task task = real_task::statistics;
    run_output mean, variance, deviation, sum, count;  ///< `mean` is the one result of filters that have one
    double least = 1;                                  ///< what must count for a result
    double half = 1;                                   ///< 1: means of integers are rounded half up; 0: down
    double offset = 0;                                 ///< what held pixels are higher by
    bool exact = false;                                ///< pairs hold sums of integers without weights
    double epsilon = 0;
    threshold_terms terms = {};
    double yes = 255;
    window_extremes* extremes = nullptr;
};

struct real_window_values {
    double count = 0, sum = 0, mean = 0, rounded = 0, variance = 0;
    std::int64_t exact_sum = 0;  ///< of real_finish::exact
};

/// a + b and what it is rounded by, in place.
__device__ inline void sum_of_two(double& a, double& b) {
    const double sum = a + b, of_b = sum - a;
    b = (a - (sum - of_b)) + (b - of_b);
    a = sum;
}

/// A sum and what it was rounded by; infinities have nothing of the kind.
__device__ inline double joined(double high, double low) {
    const double sum = high + low;
    return fabs(high) < INFINITY ? sum : high;
}

/// (n squares - sum^2) / n^2, all with what they were rounded by. The two products agree in their first bits where
/// pixels vary little; their difference is then exact, and so is zero where all 32-bit pixels are the same. What is
/// left of 64-bit ones is below `noise` times the product: zero, too.
__device__ inline double compensated_variance(double n, double n_low, double sum, double sum_low, double squares,
                                              double squares_low, double noise) {
    sum_of_two(sum, sum_low);
    sum_of_two(squares, squares_low);
    const exact_product first = multiplied(n, squares), second = multiplied(sum, sum);
    const double above = (first.high - second.high) +
                         ((first.low + (n * squares_low + n_low * squares)) - (second.low + 2 * sum * sum_low));
    const double doubtful = noise * first.high;
    if (above <= doubtful && doubtful < INFINITY) return 0;
    return above / (n * n);
}

/// Of sums of integers, with which the arithmetic is that of the CPU.
__device__ inline real_window_values exact_values_of(const real_sums<0, 3>& s, bool half) {
    const auto whole = [&](int k) {
        return static_cast<std::uint64_t>(s.v[k]) + static_cast<std::uint64_t>(static_cast<std::int64_t>(s.v[k + 1]));
    };
    const bool below_zero = s.v[0] < 0;  // the sum of 16-bit signed pixels may be
    const std::uint64_t magnitude =
        static_cast<std::uint64_t>(fabs(s.v[0])) +
        static_cast<std::uint64_t>(static_cast<std::int64_t>(below_zero ? -s.v[1] : s.v[1]));
    const std::uint64_t squares = whole(2), pixels = whole(4);
    const std::int64_t sum = below_zero ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
    real_window_values w;
    w.count = static_cast<double>(pixels);
    w.exact_sum = sum;
    w.sum = static_cast<double>(sum);
    if (pixels == 0) return w;
    const auto n = static_cast<std::int64_t>(pixels);
    const std::int64_t numerator = sum + (half ? n / 2 : 0), quotient = numerator / n;
    w.rounded = static_cast<double>(quotient - (quotient * n > numerator ? 1 : 0));
    w.mean = w.sum / w.count;
    using u128 = unsigned __int128;
    w.variance = static_cast<double>(u128{pixels} * squares - u128{magnitude} * magnitude) / (w.count * w.count);
    return w;
}

/// window_axis::count() of a place in the image, by 32-bit numbers: no larger extents come here.
__device__ inline double count_around(const filters::window_axis& axis, int i) {
    const int first = i - static_cast<int>(axis.before), last = i + static_cast<int>(axis.after),
              end = static_cast<int>(axis.extent);
    const int inside = (last < end ? last + 1 : end) - (first > 0 ? first : 0);
    return axis.border == border_mode::shrink ? static_cast<double>(inside) : static_cast<double>(axis.full);
}

/// `n`: pixels of the window, were they all to count.
template <typename Kernel>
__device__ real_window_values values_of(const real_view& t, const real_finish& to, const typename Kernel::sums& s,
                                        double n) {
    constexpr real_terms Terms = Kernel::Terms;
    real_window_values w;
    if constexpr (Terms == real_terms::value) {
        w.count = n;
        w.sum = s.v[0];
        // n times 1 / n is not always 1: that shows in double, not in a float.
        w.mean = n == t.pixels && to.mean.type == dtype::f32 ? w.sum * t.inverse : w.sum / n;
    } else if constexpr (Terms == real_terms::moments) {
        w.count = n;
        w.sum = joined(s.v[0], s.v[1]);
        w.mean = w.sum / n;
        w.variance = compensated_variance(n, 0, s.v[0], s.v[1], s.v[2], s.v[3], t.noise);
    } else if constexpr (Terms == real_terms::packed_squares) {
        w.count = floor(s.v[0] / t.unit);  // a power of two
        const double total = s.v[0] - w.count * t.unit, pixels = w.count < 1 ? 1 : w.count;
        w.sum = total - to.offset * w.count;
        w.mean = w.sum / pixels;
        // Of numbers below 2^52 a quotient below an integer is not rounded to it.
        w.rounded = floor((total + to.half * floor(pixels * 0.5)) / pixels) - to.offset;
        const auto count = static_cast<std::uint64_t>(pixels), sum = static_cast<std::uint64_t>(total),
                   squares = static_cast<std::uint64_t>(s.v[1]);
        using u128 = unsigned __int128;
        const double numerator = sizeof(typename Kernel::held) == 1
                                     ? static_cast<double>(count * squares - sum * sum)
                                     : static_cast<double>(u128{count} * squares - u128{sum} * sum);
        w.variance = numerator / (pixels * pixels);
    } else {
        if constexpr (Terms == real_terms::weighted_moments)
            if (to.exact) return exact_values_of(s, to.half != 0);
        if constexpr (Terms == real_terms::weighted) {
            w.count = s.v[1];
            w.sum = s.v[0];
        } else {
            w.count = s.v[4] + s.v[5];
            w.sum = joined(s.v[0], s.v[1]);
        }
        if constexpr (Kernel::narrow) {
            // Of finite weights and products of floats; a sum that is not finite is its own quotient, and a window
            // without weight has no result.
            const double mean = quotient<true>(w.sum, w.count);
            w.mean = fabs(w.sum) < INFINITY ? mean : w.sum;
        } else {
            w.mean = w.count > 0 ? w.sum / w.count : 0;
        }
        const double below = floor(w.mean);
        w.rounded = below + (to.half != 0 && w.mean - below >= 0.5 ? 1.0 : 0.0);
        if constexpr (Terms == real_terms::weighted_moments)
            if (w.count > 0) w.variance = compensated_variance(s.v[4], s.v[5], s.v[0], s.v[1], s.v[2], s.v[3], t.noise);
    }
    return w;
}

/// Of sums that are no numbers of double, which the results hold.
template <int K>
__device__ void store_large_sums(const run_output& to, int row, int col, int cols, int channels, int channel,
                                 const real_window_values (&w)[K], unsigned given) {
#pragma unroll
    for (int i = 0; i < K; ++i)
        if (i < cols && (given >> i & 1u) != 0 && fabs(w[i].sum) > 0x1p53)
            reinterpret_cast<s64*>(to.data + row * to.row_stride)[std::int64_t{col + i} * channels + channel] =
                w[i].exact_sum;
}

/// Writes a batch of means alone, of windows of which none is cut, and says whether it could.
template <typename Kernel>
__device__ bool store_uncut_means(const real_view& t, const real_finish& to,
                                  const real_windows_of_thread<Kernel>& windows) {
    constexpr int K = Kernel::K, G = Kernel::G;
    if (windows.row < t.first_uncut_row || windows.row + G > t.end_uncut_row || windows.col < t.first_uncut_col ||
        windows.col + K > t.end_uncut_col || windows.first > 0 || windows.end < G || windows.cols < K)
        return false;
    if (!to.mean.in_units || to.sum.data != nullptr || to.count.data != nullptr) return false;
    char* at = to.mean.data + windows.row * to.mean.row_stride;
    const auto store = [&](auto type, auto mean) {
        using T = decltype(type);
#pragma unroll
        for (int j = 0; j < G; ++j) {
            T out[K];
#pragma unroll
            for (int i = 0; i < K; ++i) out[i] = static_cast<T>(mean(windows.rows[j].of[i].v[0]));
            store_units(reinterpret_cast<T*>(at) + windows.col, out);
            at += to.mean.row_stride;
        }
    };
    if (to.mean.type == dtype::f32) {
        store(float{}, [&](double sum) { return sum * t.inverse; });
        return true;
    }
    // Sums of which no quotient is subnormal (none is -0: sums begin at 0), of windows of few pixels. A rounded inverse
    // and one correction make the quotient that a division rounds to: what is divided by an integer n below 2^45 is
    // further than 2^-47 of a last bit from where rounding changes, and the corrected quotient is within 2^-52 of one.
    bool plain = to.mean.type == dtype::f64 && t.pixels < 0x1p45;
#pragma unroll
    for (int j = 0; j < G; ++j)
#pragma unroll
        for (int i = 0; i < K; ++i) {
            const double size = fabs(windows.rows[j].of[i].v[0]);
            plain = plain && size < INFINITY && (size > 0x1p-900 || size == 0);
        }
    if (!plain) return false;
    store(double{}, [&](double sum) {
        const double near = sum * t.inverse;
        return __fma_rn(__fma_rn(-t.pixels, near, sum), t.inverse, near);
    });
    return true;
}

/// Writes the results of one channel's windows: `for_each` calls what it is given with all that a thread has.
template <typename Kernel, typename ForEach>
__device__ void make_results(const real_view& t, const real_finish& to, int channel, ForEach for_each) {
    constexpr int K = Kernel::K, G = Kernel::G;
    constexpr bool all_tasks = Kernel::Terms != real_terms::value;  // those are means alone
    constexpr bool squares = all_tasks && Kernel::Terms != real_terms::weighted;
    threshold_terms terms = to.terms;
    double largest = 0, smallest = INFINITY;
    if (all_tasks && terms.method == threshold_method::wolf && to.extremes != nullptr) {
        terms.largest_deviation = from_ordered(to.extremes->largest_deviation[channel]);
        terms.smallest_pixel = from_ordered(to.extremes->smallest_pixel[channel]);
    }
    for_each([&](const real_windows_of_thread<Kernel>& windows) {
        if constexpr (Kernel::Terms == real_terms::value)
            if (store_uncut_means<Kernel>(t, to, windows)) return;
#pragma unroll
        for (int j = 0; j < G; ++j) {
            const int row = windows.row + j;
            if (j < windows.first || j >= windows.end) continue;
            const double height = count_around(t.rows, row);
            real_window_values w[K];
            unsigned given = 0;
#pragma unroll
            for (int i = 0; i < K; ++i) {
                const double n = i < windows.cols ? height * count_around(t.cols, windows.col + i) : t.pixels;
                w[i] = values_of<Kernel>(t, to, windows.rows[j].of[i], n);
                if (!Kernel::sampled || (w[i].count > 0 && w[i].count >= to.least)) given |= 1u << i;
            }
            const auto store = [&](const run_output& result, unsigned which, auto value) {
                if (result.data == nullptr) return;
                double x[K];
#pragma unroll
                for (int i = 0; i < K; ++i) x[i] = value(i);
                store_row<K>(result, row, windows.col, windows.cols, t.channels, channel, x, which);
            };
            store(to.count, ~0u, [&](int i) { return w[i].count; });
            if (!all_tasks || to.task == real_task::statistics) {
                if (Kernel::sampled && !is_floating(to.mean.type))
                    store(to.mean, given, [&](int i) { return w[i].rounded; });
                else
                    store(to.mean, given, [&](int i) { return w[i].mean; });
                store(to.sum, given, [&](int i) { return w[i].sum; });
                if constexpr (Kernel::Terms == real_terms::weighted_moments)
                    if (to.exact && to.sum.data != nullptr && to.sum.type == dtype::s64)
                        store_large_sums(to.sum, row, windows.col, windows.cols, t.channels, channel, w, given);
                if constexpr (squares) {
                    store(to.variance, given, [&](int i) { return w[i].variance; });
                    store(to.deviation, given, [&](int i) { return sqrt(w[i].variance); });
                }
                continue;
            }
            if constexpr (all_tasks) {
                typename Kernel::run own;
                typename Kernel::reader(t, windows.col, channel, true).read(own, row);
                const auto pixel = [&](int i) { return static_cast<double>(own.x[i]) - to.offset; };
                unsigned counted = 0;
#pragma unroll
                for (int i = 0; i < K; ++i)
                    if (own.weight(i) > 0) counted |= 1u << i;
                if constexpr (squares) {
                    if (to.task == real_task::extremes) {
#pragma unroll
                        for (int i = 0; i < K; ++i) {
                            if (i >= windows.cols || (given >> i & 1u) == 0) continue;
                            largest = w[i].variance > largest ? w[i].variance : largest;
                            const double x = pixel(i);
                            if ((counted >> i & 1u) != 0 && x < smallest) smallest = x;
                        }
                        continue;
                    }
                    if (to.task == real_task::contrast) {
                        store(to.mean, given & counted, [&](int i) {
                            const double s = sqrt(w[i].variance);
                            return (pixel(i) - w[i].mean) / (s < to.epsilon ? to.epsilon : s);
                        });
                        continue;
                    }
                }
                const bool wants_limit = to.task == real_task::limit;
                store(to.mean, given & counted, [&](int i) {
                    const double limit = limit_of(terms, pixel(i), w[i].mean, sqrt(w[i].variance));
                    return wants_limit ? limit : pixel(i) > limit ? to.yes : 0;
                });
            }
        }
    });
    if (!squares || to.task != real_task::extremes) return;
    join_extremes(to.extremes, channel, largest, smallest);
}

template <typename Kernel>
__global__ __launch_bounds__(most_real_threads) void real_filter_kernel(const __grid_constant__ real_view t,
                                                                        const __grid_constant__ real_finish to) {
    make_results<Kernel>(t, to, static_cast<int>(blockIdx.y),
                         [&](auto emit) { for_each_real_window<Kernel>(t, emit); });
}

template <typename Pixel, real_terms Terms>
void launch_filter(const real_windows& windows, const real_finish& to, stream_ref stream) {
    using kernel = real_kernel<Pixel, Terms>;
    launch_real<kernel>(real_filter_kernel<kernel>, windows, stream, to);
}

}  // namespace boxsum::cuda
