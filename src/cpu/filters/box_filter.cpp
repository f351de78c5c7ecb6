#include "cpu/filters/byte_windows.hpp"
#include "cpu/filters/filters.hpp"
#include "cpu/filters/moments.hpp"
#include "cpu/filters/write_row.hpp"

#include <algorithm>

namespace boxsum::filters {
namespace {

template <typename A, typename Out>
void round_means(const window_kernels<A>& kernels, Out* out, const A* windows, A rows, const A* cols, A half, Out flip,
                 std::int64_t n) {
    if constexpr (sizeof(Out) == 1)
        kernels.mean_8u_each(out, windows, rows, cols, half, flip, n);
    else
        kernels.mean_16u_each(out, windows, rows, cols, half, flip, n);
}

template <typename A, typename Out>
void round_uncut_means(const window_kernels<A>& kernels, Out* out, const A* windows, A count, A half, Out flip,
                       std::int64_t n) {
    if constexpr (sizeof(Out) == 1)
        kernels.mean_8u(out, windows, count, half, flip, n);
    else
        kernels.mean_16u(out, windows, count, half, flip, n);
}

template <typename Pixel, typename A>
void integer_band(const row_job& job, const any_view& result, const band& b) {
    using stored = typename stored_as<Pixel>::type;
    constexpr stored flip = stored_as<Pixel>::flip;
    constexpr auto offset = static_cast<A>(stored_as<Pixel>::offset);
    const auto& kernels = std::get<window_kernels<A>>(job.kernels->window);
    const work_buffer<A> counts = column_counts<A>(job);
    const std::int64_t channels = job.shape.channels;
    const std::int64_t uncut = job.cols.first_uncut() * channels, cut = job.cols.end_uncut() * channels;
    const auto count = static_cast<A>(job.cols.full);
    const A half = job.rounding == rounding_mode::half_up ? static_cast<A>(-1) : A{0};
    integer_sums<Pixel, A>(job, b, [&](std::int64_t row, std::int64_t first, std::int64_t n, const A* w, A rows) {
        const A* cols = counts.data() + first;
        switch (result.shape.type) {
            case dtype::f32:
                return kernels.mean_32f(job.row_to<f32>(result, row, b.plane) + first, w, rows, cols, offset, n);
            case dtype::f64:
                return kernels.mean_64f(job.row_to<f64>(result, row, b.plane) + first, w, rows, cols, offset, n);
            default:
                break;
        }
        auto* out = job.row_to<stored>(result, row, b.plane) + first;
        const std::int64_t begin = std::clamp<std::int64_t>(uncut - first, 0, n);
        const std::int64_t end = std::clamp<std::int64_t>(cut - first, begin, n);
        round_means<A>(kernels, out, w, rows, cols, half, flip, begin);
        round_uncut_means<A>(kernels, out + begin, w + begin, static_cast<A>(rows * count), half, flip, end - begin);
        round_means<A>(kernels, out + end, w + end, rows, cols + end, half, flip, n - end);
    });
}

void byte_band(const row_job& job, const filter_outputs& outputs, const band& b) {
    const bool half_up = job.rounding == rounding_mode::half_up;
    const bool of_one_column = job.cols.full == 1 && job.rows.full <= most_column_rows && !job.sampled();
    for_each_byte_row(job, b, false, outputs.count, [&](const byte_row& at) {
        u8* const out = job.row_to<u8>(outputs.result, at.row, b.plane);
        if (of_one_column && at.counts.rows > 1)
            job.kernels->byte->column_means(out, at.sums.in_even, at.sums.in_odd, at.counts.rows, half_up, job.n());
        else
            job.kernels->byte->means(out, at.sums, at.counts, half_up, job.n());
    });
}

/// Means of the image's type where windows are computed in a wider one.
template <typename Pixel>
void narrowed_band(const row_job& job, const any_view& result, const band& b) {
    const work_buffer<f64> counts = floating_column_counts(job);
    const bool half_up = job.rounding == rounding_mode::half_up;
    floating_sums<Pixel>(job, b, [&](std::int64_t row, const f64* sums, f64 rows) {
        const auto write = [&]<typename T>(auto&& mean) {
            T* const to = job.row_to<T>(result, row, b.plane);
            for (std::int64_t i = 0; i < job.n(); ++i) to[i] = mean(sums[i], rows * counts[i]);
        };
        const auto rounded = [&](f64 sum, f64 count) { return rounded_quotient(sum, count, half_up); };
        if (result.shape.type == dtype::f16)
            write.template operator()<f16>([](f64 sum, f64 count) { return nearest_float16(sum / count); });
        else if (result.shape.type == dtype::u32)
            write.template operator()<u32>([&](f64 s, f64 n) { return static_cast<u32>(rounded(s, n)); });
        else
            write.template operator()<s32>([&](f64 s, f64 n) { return static_cast<s32>(rounded(s, n)); });
    });
}

template <typename Pixel>
void floating_band(const row_job& job, const any_view& result, const band& b) {
    if (result.shape.type == dtype::f32) return floating_means<Pixel>(job, result, b);
    if (result.shape.type != dtype::f64) return narrowed_band<Pixel>(job, result, b);
    const work_buffer<f64> counts = floating_column_counts(job);
    floating_sums<Pixel>(job, b, [&](std::int64_t row, const f64* sums, f64 rows) {
        job.kernels->block.divide_64f(job.row_to<f64>(result, row, b.plane), sums, rows, counts.data(), job.n());
    });
}

}  // namespace

void box_filter(const row_job& job, const filter_outputs& outputs) {
    const any_view& result = outputs.result;
    const bool bytes = result.shape.type == dtype::u8 && has_byte_windows(job, false);
    if (job.sampled() && !bytes) return sampled_statistics(job, {.mean = result, .count = outputs.count});
    if (!job.sampled()) write_counts(job, outputs.count);
    if (bytes) return for_each_band(job, [&](const band& b, int) { byte_band(job, outputs, b); });
    visit_type(filter_types{}, job.shape.type, [&]<typename Pixel>() {
        for_each_band(job, [&](const band& b, int) {
            if constexpr (!std::is_integral_v<Pixel>)
                floating_band<Pixel>(job, result, b);
            else if (job.largest_window <= largest_32_bit_window<Pixel>)
                integer_band<Pixel, u32>(job, result, b);
            else
                integer_band<Pixel, u64>(job, result, b);
        });
    });
}

}  // namespace boxsum::filters
