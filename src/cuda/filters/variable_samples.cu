#include "cuda/filters/variable_windows.cuh"
#include "filters/sampling.hpp"

#include <algorithm>
#include <limits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

/// What a kernel takes beside the sums.
struct sample_rule {
    table_view<u32> counts;     ///< whose first plane is there where pixels are counted
    bool counted;               ///< else every pixel counts
    std::int64_t counts_plane;  ///< bytes from one of their planes to the next
    const u32* any_infinite;    ///< null: those have no other planes
    table_view<f64> weights;    ///< no data: 1
    bool wide;                  ///< counts are of 64 bits
    bool beyond;                ///< pixels beyond a constant border count
    std::int64_t min_count;
    double min_weight, fill;
    bool half_up;  ///< rounded half up; else down
    any_view result, count;
};

/// What windows around N pixels below each other come to.
template <typename Sum, int N>
struct sampled_windows {
    Sum sum[N];
    std::int64_t count[N];  ///< pixels that count
    f64 weight[N];          ///< theirs
    bool positive[N], negative[N];
    bool wanted[N];
};

/// Of a mean in double. Differences of a table may be off by a little where pixels are as small or large as can be.
template <typename T>
__device__ T rounded_mean(f64 mean, bool half_up) {
    constexpr auto least = static_cast<f64>(std::numeric_limits<T>::min()),
                   most = static_cast<f64>(std::numeric_limits<T>::max());
    const f64 x = mean < least ? least : mean < most ? mean : most, below = floor(x);
    return static_cast<T>(static_cast<s64>(below) + (half_up && x - below >= 0.5 ? 1 : 0));
}

/// `inner`: windows inside the image.
template <typename T, typename Sum, int N>
__device__ T mean_as(const sample_rule& rule, std::int64_t offset, const sampled_windows<Sum, N>& w, int j,
                     bool inner) {
    if constexpr (std::is_floating_point_v<Sum>) {
        const f64 sum = w.sum[j] + (w.positive[j] ? INFINITY : 0.0) - (w.negative[j] ? INFINITY : 0.0),
                  mean = sum / (rule.weights.data != nullptr ? w.weight[j] : static_cast<f64>(w.count[j]));
        if constexpr (std::is_floating_point_v<T>) return static_cast<T>(mean);
        return rounded_mean<T>(mean, rule.half_up);
    } else if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(mean_of(w.sum[j], w.count[j], offset));
    } else {
        const auto n = static_cast<Sum>(w.count[j]), x = w.sum[j] + (rule.half_up ? n / 2 : 0);
        if constexpr (sizeof(Sum) == 4)
            if (inner) return static_cast<T>(inner_quotient(x, n) - static_cast<u32>(offset));
        return static_cast<T>(x / n - static_cast<Sum>(offset));
    }
}

template <typename Sum, int N>
__device__ void store_windows(const sample_rule& rule, std::int64_t offset, int row, std::int64_t element,
                              sampled_windows<Sum, N>& w, bool inner) {
    const bool weighted = rule.weights.data != nullptr;
    bool enough[N];
#pragma unroll
    for (int j = 0; j < N; ++j) {
        if (w.count[j] == 0) w.weight[j] = 0;
        enough[j] = weighted ? w.weight[j] > 0 && w.weight[j] >= rule.min_weight : w.count[j] >= rule.min_count;
    }
    const auto store_means = [&](auto type) {
        using T = decltype(type);
        const T fill = static_cast<T>(rule.fill);
        store_column<T>(rule.result, row, element, w.wanted,
                        [&](int j) { return enough[j] ? mean_as<T>(rule, offset, w, j, inner) : fill; });
    };
    store_counts(rule.count, row, element, w.wanted, [&](auto type, int j) {
        using T = decltype(type);
        return weighted ? static_cast<T>(w.weight[j]) : static_cast<T>(w.count[j]);
    });
    switch (rule.result.shape.type) {
        case dtype::u8:
            return store_means(u8{});
        case dtype::u16:
            return store_means(u16{});
        case dtype::s16:
            return store_means(s16{});
        case dtype::f32:
            return store_means(f32{});
        default:
            return store_means(f64{});
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
        sampled_windows<Sum, 1> w{.sum = {sum_of(task.table)},
                                  .count = {all},
                                  .weight = {0},
                                  .positive = {infinite && number_of(1) != 0},
                                  .negative = {infinite && number_of(2) != 0},
                                  .wanted = {true}};
        if (rule.counted) w.count[0] = number_of(0) + outside;
        if (rule.weights.data != nullptr) w.weight[0] = sum_of(rule.weights) + static_cast<f64>(outside);
        if (outside != 0) w.sum[0] += static_cast<Sum>(outside) * task.border_sum;
        store_windows(rule, task.offset, row, std::int64_t{col} * task.channels + channel, w, false);
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
__global__ __launch_bounds__(walk_threads,
                             2) void sampled_variable_mean_kernel(const __grid_constant__ device_task<Sum, Sum> task,
                                                                  const __grid_constant__ sample_rule rule,
                                                                  const radius_plane radii, int most, int reach) {
    const int col = static_cast<int>(blockIdx.x) * walk_threads + static_cast<int>(threadIdx.x);
    const auto width = static_cast<int>(task.cols.extent), height = static_cast<int>(task.rows.extent);
    if (col >= width) return;
    const int right = width - 1 - col, side = col < right ? col : right, nearer = side < reach ? side : reach;
    const bool counted = rule.counted, infinite = rule.any_infinite != nullptr && *rule.any_infinite != 0;
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
            sampled_windows<Sum, sampled_rows> w{};
            u32 number[sampled_rows] = {};
            inner_sums(w.sum, task.table.data, task.table.row_stride, row, element, channels, 1, radius, valid);
            if (counted) number_of(number, 0);
#pragma unroll
            for (int j = 0; j < sampled_rows; ++j) {
                const u32 side_of = 2 * radius[j] + 1;
                w.count[j] = counted ? number[j] : side_of * side_of;
                w.wanted[j] = j < valid && inside[j];
            }
            if constexpr (std::is_floating_point_v<Sum>) {
                if (rule.weights.data != nullptr)
                    inner_sums(w.weight, rule.weights.data, rule.weights.row_stride, row, element, channels, 1, radius,
                               valid);
                if (infinite) {
                    number_of(number, 1);
#pragma unroll
                    for (int j = 0; j < sampled_rows; ++j) w.positive[j] = number[j] != 0;
                    number_of(number, 2);
#pragma unroll
                    for (int j = 0; j < sampled_rows; ++j) w.negative[j] = number[j] != 0;
                }
            }
            store_windows(rule, task.offset, first, element, w, true);
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
                           .counted = samples.counts.data != nullptr && !samples.all_count,
                           .counts_plane = samples.counts.shape.plane_stride,
                           .any_infinite = samples.any_infinite,
                           .weights = on_device<f64>(samples.weights),
                           .wide = samples.counts.shape.type == dtype::u64,
                           .beyond = counts_beyond(job),
                           .min_count = job.min_count,
                           .min_weight = job.min_weight,
                           .fill = job.fill.value_or(real ? std::numeric_limits<double>::quiet_NaN() : 0),
                           .half_up = job.rounding == rounding_mode::half_up,
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
