// Histograms of boxes and distances of windows from tensors on the device.
//
// Everything is a difference of four entries per bin (Poostchi et al., eq. 2). Threads of a warp take neighbouring bins
// of a box, or windows that lie side by side, whose entries of one bin are neighbours in memory.

#include "core/distance_terms.hpp"
#include "core/visit_histogram.hpp"
#include "cuda/queries/tensor_queries.hpp"
#include "cuda/runtime/launch.cuh"

#include <algorithm>
#include <type_traits>

namespace boxsum::cuda {
namespace {

constexpr int block_threads = 256;
constexpr std::int64_t most_blocks = std::int64_t{1} << 20;  // threads go on behind the last one

/// Tables of one plane as a kernel reads them.
template <typename Entry>
struct bin_reader {
    const char* first;
    std::int64_t row_stride, bin_stride;  // bytes
    std::int64_t shift;  // 1: inclusive; the row and column before the box are one less than padded ones

    bin_reader(const device_counts& c)
        : first(static_cast<const char*>(c.tensor.data) + c.plane * c.tensor.shape.plane_stride),
          row_stride(c.tensor.shape.row_stride),
          bin_stride(c.tensor.shape.bin_stride),
          shift(c.layout == table_layout::inclusive ? 1 : 0) {}

    __device__ Entry at(std::int64_t bin, std::int64_t r, std::int64_t c) const {
        if (r < 0 || c < 0) return 0;
        return *reinterpret_cast<const Entry*>(first + bin * bin_stride + r * row_stride +
                                               c * static_cast<std::int64_t>(sizeof(Entry)));
    }

    /// Pixels of a bin in a box, or their weights. Narrow entries wrap, their difference does not need more bits than
    /// they have; sums are subtracted in the order of the CPU.
    __device__ Entry count(std::int64_t bin, const box& b) const {
        const std::int64_t top = b.row - shift, left = b.col - shift, bottom = top + b.rows, right = left + b.cols;
        const auto up_to = [&](std::int64_t c) { return static_cast<Entry>(at(bin, bottom, c) - at(bin, top, c)); };
        return static_cast<Entry>(up_to(right) - up_to(left));
    }
};

/// What a count is handed out as.
template <typename Entry>
using answer_of = std::conditional_t<std::is_floating_point_v<Entry>, float, std::uint32_t>;

/// One thread per bin of a box.
template <typename Entry>
__global__ void count_boxes_kernel(bin_reader<Entry> tables, std::int64_t bins, const box* boxes, std::int64_t count,
                                   answer_of<Entry>* out) {
    const std::int64_t all = count * bins, step = static_cast<std::int64_t>(gridDim.x) * block_threads;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x; i < all; i += step)
        out[i] = tables.count(i % bins, boxes[i / bins]);
}

/// One thread per window; the bins are read twice, for their total and for the terms, as a window's counts may not fit
/// registers.
template <typename Entry, histogram_distance distance>
__global__ void measure_windows_kernel(bin_reader<Entry> tables, std::int64_t bins, device_search s, box region,
                                       double* out) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * block_threads;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x; i < s.windows;
         i += step) {
        const box window{region.row + i / s.grid_cols * s.grid.row_step, region.col + i % s.grid_cols * s.grid.col_step,
                         s.grid.rows, s.grid.cols};
        double total = 0;
        for (std::int64_t b = 0; b < bins; ++b) total += static_cast<double>(tables.count(b, window));
        const double factor = share_factor(total);
        double terms = 0;
        for (std::int64_t b = 0; b < bins; ++b)
            terms += distance_term<distance>(static_cast<double>(tables.count(b, window)) * factor, s.shares[b]);
        out[i] = finish_distance(distance, terms, total == 0, s.target_empty);
    }
}

__device__ nearest_window nearer(const nearest_window& a, const nearest_window& b) {
    const bool a_nan = a.distance != a.distance, b_nan = b.distance != b.distance;
    if (a_nan != b_nan) return a_nan ? b : a;
    const bool equal = a_nan || b.distance == a.distance;
    return b.distance < a.distance || (equal && b.window < a.window) ? b : a;
}

/// One block per stretch.
__global__ void find_nearest_kernel(const double* distances, std::int64_t windows, nearest_window* out) {
    __shared__ nearest_window s_best[block_threads];
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * nearest_stretch;
    nearest_window best{distances[first], first};
    for (std::int64_t i = first + threadIdx.x; i < first + nearest_stretch && i < windows; i += block_threads)
        best = nearer(best, {distances[i], i});
    s_best[threadIdx.x] = best;
    for (int half = block_threads / 2; half > 0; half /= 2) {
        __syncthreads();  // what the upper half wrote, before the lower half reads it
        if (static_cast<int>(threadIdx.x) < half)
            s_best[threadIdx.x] = nearer(s_best[threadIdx.x], s_best[threadIdx.x + half]);
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s_best[0];
}

launch_shape for_items(std::int64_t items) {
    return {.grid = static_cast<unsigned>(std::min((items + block_threads - 1) / block_threads, most_blocks)),
            .block = block_threads};
}

}  // namespace

void enqueue_box_histograms(const device_counts& counts, const box* boxes, std::int64_t count, void* out,
                            stream_ref stream) {
    const std::int64_t bins = counts.tensor.shape.bins;
    if (count == 0) return;
    visit_one_of(histogram_entries{}, counts.tensor.shape.type, [&]<typename Entry>() {
        launch(count_boxes_kernel<Entry>, for_items(count * bins), stream, bin_reader<Entry>(counts), bins, boxes,
               count, static_cast<answer_of<Entry>*>(out));
    });
}

void enqueue_window_distances(const device_counts& counts, const device_search& search, double* out,
                              stream_ref stream) {
    if (search.windows == 0) return;
    visit_one_of(histogram_entries{}, counts.tensor.shape.type, [&]<typename Entry>() {
        visit_distance(search.distance, [&]<histogram_distance distance>() {
            launch(measure_windows_kernel<Entry, distance>, for_items(search.windows), stream,
                   bin_reader<Entry>(counts), counts.tensor.shape.bins, search, *search.grid.region, out);
        });
    });
}

void enqueue_nearest(const double* distances, std::int64_t windows, nearest_window* out, stream_ref stream) {
    if (windows == 0) return;
    launch(find_nearest_kernel,
           {.grid = static_cast<unsigned>((windows + nearest_stretch - 1) / nearest_stretch), .block = block_threads},
           stream, distances, windows, out);
}

}  // namespace boxsum::cuda
