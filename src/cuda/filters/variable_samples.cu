#include "cuda/filters/variable_windows.cuh"
#include "filters/sampling.hpp"

#include <algorithm>
#include <limits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

/// What a kernel takes beside the sums.
struct sample_rule {
    table_view<u32> counts;     ///< no data: every pixel counts
    std::int64_t counts_plane;  ///< bytes from one of their planes to the next
    const u32* any_infinite;    ///< null: those have no other planes
    table_view<f64> weights;    ///< no data: 1
    bool wide;                  ///< counts are of 64 bits
    bool beyond;                ///< pixels beyond a constant border count
    std::int64_t min_count;
    double min_weight, fill;
    u32 half;  ///< 1: rounded half up; 0: down
    any_view result, count;
};

/// What windows come to.
template <typename Sum>
struct sampled_window {
    Sum sum;
    std::int64_t count;  ///< pixels that count
    f64 weight;          ///< theirs
    bool positive, negative;

    /// The sum, with what is not finite.
    __device__ Sum total() const {
        if constexpr (std::is_floating_point_v<Sum>)
            return sum + (positive ? INFINITY : 0.0) - (negative ? INFINITY : 0.0);
        else
            return sum;
    }
};

template <typename T>
__device__ void store_element(const any_view& to, std::int64_t row, std::int64_t element, T value) {
    reinterpret_cast<T*>(static_cast<char*>(to.data) + row * to.shape.row_stride)[element] = value;
}

/// An integer, or a number that has become one, in the type of a result.
template <typename Number>
__device__ void store_number(const any_view& to, std::int64_t row, std::int64_t element, Number value) {
    switch (to.shape.type) {
        case dtype::u8:
            return store_element(to, row, element, static_cast<u8>(value));
        case dtype::u16:
            return store_element(to, row, element, static_cast<u16>(value));
        case dtype::s16:
            return store_element(to, row, element, static_cast<s16>(value));
        case dtype::u32:
            return store_element(to, row, element, static_cast<u32>(value));
        case dtype::f32:
            return store_element(to, row, element, static_cast<f32>(value));
        default:
            return store_element(to, row, element, static_cast<f64>(value));
    }
}

/// Differences of a table may be off by a little where pixels are as small or large as can be.
__device__ inline s64 rounded_mean(f64 mean, u32 half, dtype type) {
    const f64 least = type == dtype::s16 ? -32768 : 0, most = type == dtype::u8    ? 255
                                                              : type == dtype::s16 ? 32767
                                                                                   : 65535;
    const f64 x = mean < least ? least : mean < most ? mean : most, below = floor(x);
    return static_cast<s64>(below) + (half != 0 && x - below >= 0.5 ? 1 : 0);
}

/// `inner`: inside the image.
template <typename Sum>
__device__ void store_window(const sample_rule& rule, std::int64_t offset, std::int64_t row, std::int64_t element,
                             const sampled_window<Sum>& w, bool inner) {
    const bool weighted = rule.weights.data != nullptr;
    const f64 weight = w.count == 0 ? 0 : w.weight;
    if (rule.count.data != nullptr)
        weighted ? store_number(rule.count, row, element, weight) : store_number(rule.count, row, element, w.count);
    if (weighted ? !(weight > 0 && weight >= rule.min_weight) : w.count < rule.min_count)
        return store_number(rule.result, row, element, rule.fill);
    if constexpr (std::is_integral_v<Sum>) {
        if (is_floating(rule.result.shape.type))
            return store_number(rule.result, row, element, mean_of(w.sum, w.count, offset));
        const auto n = static_cast<Sum>(w.count), x = w.sum + (rule.half != 0 ? n / 2 : 0);
        if constexpr (sizeof(Sum) == 4)
            if (inner) return store_number(rule.result, row, element, static_cast<s64>(inner_quotient(x, n)) - offset);
        store_number(rule.result, row, element, static_cast<s64>(x / n) - offset);
    } else {
        const f64 mean = w.total() / (weighted ? weight : static_cast<f64>(w.count));
        if (is_floating(rule.result.shape.type)) return store_number(rule.result, row, element, mean);
        store_number(rule.result, row, element, rounded_mean(mean, rule.half, rule.result.shape.type));
    }
}

template <typename Sum>
__device__ __noinline__ void store_at_border(const device_task<Sum, Sum>& task, const sample_rule& rule, int row,
                                             int col, int radius) {
    const axis_terms rows = terms_around(task.rows, row, radius), cols = terms_around(task.cols, col, radius);
    const std::int64_t all = rows.samples * cols.samples, outside = rule.beyond ? all - rows.inside * cols.inside : 0;
    for (int channel = 0; channel < task.channels; ++channel) {
        const auto sum_of = [&](const auto& table) {
            return any_window(table, rows, cols, task.table_row, task.channels, channel);
        };
        const auto number_of = [&](int plane) -> std::int64_t {
            table_view<u32> table = rule.counts;
            table.data += plane * rule.counts_plane;
            if (!rule.wide) return sum_of(table);
            return static_cast<std::int64_t>(sum_of(table_view<u64>{table.data, table.row_stride, false}));
        };
        const bool infinite = rule.any_infinite != nullptr && *rule.any_infinite != 0;
        sampled_window<Sum> w{sum_of(task.table), all, 0, infinite && number_of(1) != 0, infinite && number_of(2) != 0};
        if (rule.counts.data != nullptr) w.count = number_of(0) + outside;
        if (rule.weights.data != nullptr) w.weight = sum_of(rule.weights) + static_cast<f64>(outside);
        if (outside != 0) w.sum += static_cast<Sum>(outside) * task.border_sum;
        store_window(rule, task.offset, row, std::int64_t{col} * task.channels + channel, w, false);
    }
}

constexpr int sampled_rows = 4;  ///< of a thread, whose entries are read together

/// Sums of windows of an element of sampled_rows rows, all inside the image, the first of which is `row` of the table.
/// Rows from `valid` on are the first again. Entries number less than 2^32, and one is `words` T, of which the first is
/// wanted.
template <typename T>
__device__ void inner_sums(T (&sum)[sampled_rows], const char* data, std::int64_t row_stride, u32 row, u32 element,
                           u32 channels, u32 words, const u32 (&radius)[sampled_rows], int valid) {
    const auto* const table = reinterpret_cast<const T*>(data);
    const u32 stride = static_cast<u32>(row_stride / static_cast<int>(sizeof(T))), step = channels * words,
              first = row * stride + element * words;
#pragma unroll
    for (int j = 0; j < sampled_rows; ++j) {
        const u32 at = first + (j < valid ? static_cast<u32>(j) * stride : 0), across = radius[j] * (stride + step),
                  along = radius[j] * (stride - step);
        sum[j] = (table[at + stride + step + across] - table[at + stride + along]) -
                 (table[at + step - along] - table[at - across]);
    }
}

/// As variable_mean_kernel does.
template <typename Sum>
__global__ __launch_bounds__(walk_threads) void sampled_variable_mean_kernel(
    const __grid_constant__ device_task<Sum, Sum> task, const __grid_constant__ sample_rule rule,
    const radius_plane radii, int most, int reach) {
    const int col = static_cast<int>(blockIdx.x) * walk_threads + static_cast<int>(threadIdx.x);
    const auto width = static_cast<int>(task.cols.extent), height = static_cast<int>(task.rows.extent);
    if (col >= width) return;
    const int right = width - 1 - col, side = col < right ? col : right, nearer = side < reach ? side : reach;
    const bool counted = rule.counts.data != nullptr,
               infinite = rule.any_infinite != nullptr && *rule.any_infinite != 0;
    const u32 channels = static_cast<u32>(task.channels), words = rule.wide ? 2 : 1;
    const auto first_row = static_cast<int>(task.first_row), end_row = static_cast<int>(task.end_row);
    for (int first = first_row + static_cast<int>(blockIdx.y) * sampled_rows; first < end_row;
         first += static_cast<int>(gridDim.y) * sampled_rows) {
        const int valid = end_row - first < sampled_rows ? end_row - first : sampled_rows;
        int given[sampled_rows];
        radii.read(given, first, col, valid, most);
        bool inside[sampled_rows];
        u32 radius[sampled_rows];
#pragma unroll
        for (int j = 0; j < sampled_rows; ++j) {
            const int row = first + (j < valid ? j : 0), below = height - 1 - row, end = row < below ? row : below;
            inside[j] = given[j] <= (nearer < end ? nearer : end);
            radius[j] = inside[j] ? static_cast<u32>(given[j]) : 0;
        }
        const u32 row = static_cast<u32>(first - static_cast<int>(task.table_row));
        for (u32 channel = 0; channel < channels; ++channel) {
            const u32 element = static_cast<u32>(col) * channels + channel;
            const auto number_of = [&](u32(&number)[sampled_rows], int plane) {
                inner_sums(number, rule.counts.data + plane * rule.counts_plane, rule.counts.row_stride, row, element,
                           channels, words, radius, valid);
            };
            Sum sum[sampled_rows];
            u32 number[sampled_rows], positive[sampled_rows] = {}, negative[sampled_rows] = {};
            f64 weight[sampled_rows] = {};
            inner_sums(sum, task.table.data, task.table.row_stride, row, element, channels, 1, radius, valid);
            if (counted) {
                number_of(number, 0);
            } else {
#pragma unroll
                for (int j = 0; j < sampled_rows; ++j) number[j] = (2 * radius[j] + 1) * (2 * radius[j] + 1);
            }
            if constexpr (std::is_floating_point_v<Sum>) {
                if (rule.weights.data != nullptr)
                    inner_sums(weight, rule.weights.data, rule.weights.row_stride, row, element, channels, 1, radius,
                               valid);
                if (infinite) {
                    number_of(positive, 1);
                    number_of(negative, 2);
                }
            }
#pragma unroll
            for (int j = 0; j < sampled_rows; ++j)
                if (j < valid && inside[j])
                    store_window(rule, task.offset, first + j, element,
                                 sampled_window<Sum>{sum[j], std::int64_t{number[j]}, weight[j], positive[j] != 0,
                                                     negative[j] != 0},
                                 true);
        }
#pragma unroll
        for (int j = 0; j < sampled_rows; ++j)
            if (j < valid && !inside[j]) store_at_border(task, rule, first + j, col, given[j]);
    }
}

bool counts_beyond(const filters::window_job& job) {
    return job.rows.border == border_mode::constant && !filters::is_nodata(job.border_value, job.nan, job.nodata);
}

}  // namespace

void enqueue_sampled_variable_means(const window_task& task, const filters::window_job& job,
                                    const const_any_view& radius, std::int64_t most, const any_view& result,
                                    const any_view& count, stream_ref stream) {
    const sample_tables& samples = task.samples;
    const bool real = is_floating(result.shape.type);
    const sample_rule rule{.counts = on_device<u32>(samples.counts),
                           .counts_plane = samples.counts.shape.plane_stride,
                           .any_infinite = samples.any_infinite,
                           .weights = on_device<f64>(samples.weights),
                           .wide = samples.counts.shape.type == dtype::u64,
                           .beyond = counts_beyond(job),
                           .min_count = job.min_count,
                           .min_weight = job.min_weight,
                           .fill = job.fill.value_or(real ? std::numeric_limits<double>::quiet_NaN() : 0),
                           .half = job.rounding == rounding_mode::half_up ? 1U : 0U,
                           .result = result,
                           .count = count};
    const bool inner = has_32_bit_places(task.table, size_of(task.table.shape.type)) &&
                       has_32_bit_places(samples.counts, sizeof(u32)) &&
                       has_32_bit_places(samples.weights, sizeof(f64));
    const int reach = inner ? largest_inner_radius : -1;
    const auto largest = static_cast<int>(std::min<std::int64_t>(most, std::numeric_limits<int>::max()));
    const launch_shape shape{.grid = grid_for_windows(task, sampled_rows), .block = walk_threads};
    visit_type(type_list<u32, u64, f64>{}, task.table.shape.type, [&]<typename Sum>() {
        launch(sampled_variable_mean_kernel<Sum>, shape, stream, on_device<Sum, Sum>(task), rule, plane_of(radius, 0),
               largest, reach);
    });
}

}  // namespace boxsum::cuda
