#include "core/distance_terms.hpp"
#include "core/visit_histogram.hpp"
#include "cuda/device/bin_tables.cuh"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/queries/candidate_sort.cuh"
#include "cuda/queries/histogram_kernels.hpp"
#include "cuda/runtime/launch.cuh"

#include <algorithm>
#include <type_traits>

namespace boxsum::cuda {
namespace {

// ---- Boxes ----------------------------------------------------------------------------------------------------------

/// The sum over a box of one bin, by four reads, in the order of detail::sum_of_checked_box.
template <typename T>
struct box_reader {
    std::int64_t top, bottom, left, right;  ///< of the table; the upper and left ones may be -1, which reads as 0

    /// `border`: rows and columns of zeros before the first sums (table_form::border).
    __device__ box_reader(const box& b, std::int64_t border)
        : top(b.row - 1 + border), bottom(top + b.rows), left(b.col - 1 + border), right(left + b.cols) {}

    __device__ T sum(const layer<const T>& table) const {
        const T below = table.at(bottom, right);
        const T above = top < 0 ? T{} : table.at(top, right);
        const T below_left = left < 0 ? T{} : table.at(bottom, left);
        const T above_left = top < 0 || left < 0 ? T{} : table.at(top, left);
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(below - above - below_left + above_left);
        else
            return (below - above) - (below_left - above_left);
    }
};

__device__ inline box window_of(const placed_grid& g, std::int64_t i) {
    return {g.window.row + i / g.across * g.row_step, g.window.col + i % g.across * g.col_step, g.window.rows,
            g.window.cols};
}

constexpr int query_threads = 256;

/// A group of `width` threads owns box (or window) number (blockIdx.x * 256 + threadIdx.x) / width, a thread every
/// width-th bin of it, so that the histogram is written in one piece.
template <typename T>
__global__ void __launch_bounds__(query_threads)
    box_histograms_kernel(bin_tables<const T> tables, std::int64_t plane, std::int64_t border, box_array boxes,
                          placed_grid grid, std::int64_t count, int width, T* out) {
    const std::int64_t thread = std::int64_t{blockIdx.x} * query_threads + threadIdx.x;
    const std::int64_t i = thread / width;
    if (i >= count) return;
    const box b = boxes.first != nullptr ? line<const box>{boxes.first, boxes.stride}[i] : window_of(grid, i);
    const std::int64_t rows = tables.rows - border, cols = tables.cols - border;  // of the image
    const bool inside = b.row >= 0 && b.col >= 0 && b.rows > 0 && b.cols > 0 && b.rows <= rows && b.cols <= cols &&
                        b.row <= rows - b.rows && b.col <= cols - b.cols;
    for (std::int64_t bin = thread % width; bin < tables.bins; bin += width)
        out[i * tables.bins + bin] = inside ? box_reader<T>(b, border).sum(tables.table(plane, bin)) : T{};
}

// ---- Distances ------------------------------------------------------------------------------------------------------

/// The only thread adds the target up in the CPU's order; then the block divides.
__global__ void __launch_bounds__(query_threads)
    shares_kernel(const double* target, double* shares, std::int64_t bins) {
    __shared__ double total;
    if (threadIdx.x == 0) {
        double sum = 0;
        for (std::int64_t b = 0; b < bins; ++b) sum += target[b];
        total = sum;
        shares[bins] = sum;
    }
    __syncthreads();
    for (std::int64_t b = threadIdx.x; b < bins; b += query_threads) shares[b] = target[b] * share_factor(total);
}

/// The grid of a window by its number; there are few.
__device__ inline const placed_grid& grid_of(const placed_grid* grids, int count, std::int64_t number) {
    int g = count - 1;
    while (g > 0 && grids[g].first > number) --g;
    return grids[g];
}

/// Doubles in their order as unsigned integers, -0 as 0, NaN last; and back.
__device__ inline std::uint64_t key_of(double distance) {
    if (distance != distance) return ~std::uint64_t{0} - 1;  // before "no candidate"
    const double x = distance + 0.0;
    std::uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 != 0 ? ~bits : bits | std::uint64_t{1} << 63;
}

__device__ inline double distance_of(std::uint64_t key) {
    const std::uint64_t bits = key >> 63 != 0 ? key & ~(std::uint64_t{1} << 63) : ~key;
    double x;
    memcpy(&x, &bits, sizeof x);  // the NaNs' key is a NaN's bits
    return x;
}

constexpr int kept_bins = 32;

/// A thread owns window blockIdx.x * 256 + threadIdx.x: neighbours read neighbouring entries. Histograms of up to 32
/// bins stay in registers between the sum and the terms; larger ones are read twice.
template <typename T, bool Kept>
__global__ void __launch_bounds__(query_threads)
    window_distances_kernel(bin_tables<const T> tables, std::int64_t plane, std::int64_t border,
                            const placed_grid* grids, int grid_count, std::int64_t windows, const double* shares,
                            histogram_distance distance, search_candidate* out) {
    const std::int64_t number = std::int64_t{blockIdx.x} * query_threads + threadIdx.x;
    if (number >= windows) return;
    const placed_grid& grid = grid_of(grids, grid_count, number);
    const box_reader<T> reader(window_of(grid, number - grid.first), border);
    const int bins = static_cast<int>(tables.bins);

    double total = 0, terms = 0;
    [[maybe_unused]] T kept[Kept ? kept_bins : 1];
    if constexpr (Kept) {
#pragma unroll
        for (int b = 0; b < kept_bins; ++b) {
            kept[b] = b < bins ? reader.sum(tables.table(plane, b)) : T{};
            if (b < bins) total += static_cast<double>(kept[b]);
        }
    } else {
#pragma unroll 4
        for (int b = 0; b < bins; ++b) total += static_cast<double>(reader.sum(tables.table(plane, b)));
    }
    const double factor = share_factor(total);
    const auto add_terms = [&]<histogram_distance d>() {
        if constexpr (Kept) {
#pragma unroll
            for (int b = 0; b < kept_bins; ++b)
                if (b < bins) terms += distance_term<d>(static_cast<double>(kept[b]) * factor, shares[b]);
        } else {
#pragma unroll 4
            for (int b = 0; b < bins; ++b)
                terms += distance_term<d>(static_cast<double>(reader.sum(tables.table(plane, b))) * factor, shares[b]);
        }
    };
    switch (distance) {
        case histogram_distance::l1:
            add_terms.template operator()<histogram_distance::l1>();
            break;
        case histogram_distance::l2:
            add_terms.template operator()<histogram_distance::l2>();
            break;
        case histogram_distance::chi_square:
            add_terms.template operator()<histogram_distance::chi_square>();
            break;
        case histogram_distance::intersection:
            add_terms.template operator()<histogram_distance::intersection>();
            break;
        case histogram_distance::bhattacharyya:
            add_terms.template operator()<histogram_distance::bhattacharyya>();
            break;
    }
    out[number] = {key_of(finish_distance(distance, terms, total == 0, shares[bins] == 0)),
                   static_cast<std::uint64_t>(number)};
}

// ---- The nearest windows --------------------------------------------------------------------------------------------

constexpr int select_threads = 256, select_items = 4;
static_assert(select_threads * select_items == select_block);

/// A block owns candidates blockIdx.x * 1024 ...: sorts them and keeps the first ones.
__global__ void __launch_bounds__(select_threads)
    select_kernel(const search_candidate* in, std::int64_t count, std::int64_t keep, search_candidate* out) {
    using sorter = candidate_block_sort<select_threads, select_items>;
    __shared__ typename sorter::storage shared[1];
    constexpr std::uint64_t none = ~std::uint64_t{0};
    const int place = static_cast<int>(threadIdx.x) * select_items;  // in the block, of the thread's first one
    const std::int64_t first = std::int64_t{blockIdx.x} * select_block + place;
    search_candidate items[select_items];
#pragma unroll
    for (int k = 0; k < select_items; ++k) items[k] = first + k < count ? in[first + k] : search_candidate{none, none};
    sorter::sort(shared[0], items);
#pragma unroll
    for (int k = 0; k < select_items; ++k)
        if (place + k < keep) out[blockIdx.x * keep + place + k] = items[k];
}

__global__ void __launch_bounds__(query_threads)
    matches_kernel(const search_candidate* in, std::int64_t count, const placed_grid* grids, int grid_count,
                   histogram_match* out) {
    const std::int64_t i = std::int64_t{blockIdx.x} * query_threads + threadIdx.x;
    if (i >= count) return;
    const auto number = static_cast<std::int64_t>(in[i].number);
    const placed_grid& grid = grid_of(grids, grid_count, number);
    out[i].where = window_of(grid, number - grid.first);
    out[i].distance = distance_of(in[i].key);
}

// ---- Host -----------------------------------------------------------------------------------------------------------

template <typename T>
bin_tables<const T> tables_of(const queried_histograms& q) {
    const tensor_shape& s = q.shape.entries;
    return {
        static_cast<const T*>(q.data), s.rows, s.cols, s.row_stride, s.bin_stride, s.plane_stride, s.bins, s.planes};
}

launch_shape threads_for(std::int64_t count) {
    return {.grid = static_cast<unsigned>(ceil_div(count, query_threads)), .block = query_threads};
}

/// Of boxes, or windows where there are none.
void enqueue_histograms(const queried_histograms& q, const box_array& boxes, const placed_grid& grid,
                        std::int64_t count, void* out, stream_ref stream) {
    if (count == 0) return;
    const std::int64_t bins = q.shape.entries.bins;
    const int width = bins <= 8 ? 8 : bins <= 16 ? 16 : 32;
    visit_one_of(histogram_entries{}, q.shape.entries.type, [&]<typename T>() {
        launch(box_histograms_kernel<T>, threads_for(count * width), stream, tables_of<T>(q), q.plane,
               q.shape.form.border(), boxes, grid, count, width, static_cast<T*>(out));
    });
}

}  // namespace

void enqueue_box_histograms(const queried_histograms& histograms, const box_array& boxes, std::int64_t count, void* out,
                            stream_ref stream) {
    enqueue_histograms(histograms, boxes, {}, count, out, stream);
}

void enqueue_window_histograms(const queried_histograms& histograms, const placed_grid& grid, std::int64_t count,
                               void* out, stream_ref stream) {
    enqueue_histograms(histograms, {}, grid, count, out, stream);
}

void enqueue_shares(const double* target, double* shares, std::int64_t bins, stream_ref stream) {
    launch(shares_kernel, {.grid = 1, .block = query_threads}, stream, target, shares, bins);
}

void enqueue_window_distances(const queried_histograms& histograms, const placed_grid* grids, int grid_count,
                              std::int64_t windows, const double* shares, histogram_distance distance,
                              search_candidate* out, stream_ref stream) {
    visit_one_of(histogram_entries{}, histograms.shape.entries.type, [&]<typename T>() {
        const auto kernel = histograms.shape.entries.bins <= kept_bins ? window_distances_kernel<T, true>
                                                                       : window_distances_kernel<T, false>;
        launch(kernel, threads_for(windows), stream, tables_of<T>(histograms), histograms.plane,
               histograms.shape.form.border(), grids, grid_count, windows, shares, distance, out);
    });
}

void enqueue_selection(const search_candidate* in, std::int64_t count, std::int64_t keep, search_candidate* out,
                       stream_ref stream) {
    launch(select_kernel, {.grid = static_cast<unsigned>(ceil_div(count, select_block)), .block = select_threads},
           stream, in, count, keep, out);
}

std::size_t sort_bytes(std::int64_t count) {
    return candidate_sort_bytes(count);
}

void enqueue_sort(search_candidate* candidates, std::int64_t count, void* scratch, stream_ref stream) {
    sort_candidates(candidates, count, scratch, stream);
}

void enqueue_matches(const search_candidate* in, std::int64_t count, const placed_grid* grids, int grid_count,
                     histogram_match* out, stream_ref stream) {
    launch(matches_kernel, threads_for(count), stream, in, count, grids, grid_count, out);
}

}  // namespace boxsum::cuda
