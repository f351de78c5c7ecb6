#pragma once

#include "core/algorithm_record.hpp"
#include "cuda/device/bin_finder.cuh"
#include "cuda/device/bin_tables.cuh"
#include "cuda/device/histogram_types.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/runtime/launch.cuh"

#include <string>
#include <type_traits>

/// What Algorithms 2 to 5 of Poostchi et al. 2017 have in common: line 1, the planes of zeros and ones that they scan.
namespace boxsum::cuda {

inline constexpr int initialize_threads = 256;

/// "Initialize IH": a thread owns the entries (x, y) of all bins of a plane, entries along blockIdx.x, planes along
/// blockIdx.y; it reads I(x, y) once and writes Q(k, I(x, y)), which is the pixel's weight where there are weights. The
/// first row and column of a padded table come before all pixels, so they are zeros, and all that the scans need.
template <typename Pixel, typename Entry>
__global__ void __launch_bounds__(initialize_threads)
    initialize_kernel(layers<const Pixel> I, bin_finder Q, layers<const float> weights, bin_tables<Entry> IH) {
    const std::int64_t entry = std::int64_t{blockIdx.x} * initialize_threads + threadIdx.x, plane = blockIdx.y;
    if (entry >= IH.rows * IH.cols) return;
    const std::int64_t row = entry / IH.cols, col = entry % IH.cols;
    const std::int64_t x = row - (IH.rows - I.rows), y = col - (IH.cols - I.cols);
    int bin = -1;
    auto one = static_cast<Entry>(1);
    if (x >= 0 && y >= 0) {
        bin = Q(I[plane].at(x, y));
        if constexpr (std::is_floating_point_v<Entry>) one = weights[plane].at(x, y);
    }
    for (std::int64_t k = 0; k < IH.bins; ++k) IH.table(plane, k).at(row, col) = k == bin ? one : Entry{};
}

/// Enqueues line 1, then f.template operator()<Entry>(IH), which scans it.
template <typename F>
void enqueue_after_initializing(const problem& p, const buffers& memory, stream_ref stream, F&& f) {
    visit_one_of(cuda_histogram_entries{}, p.table.type, [&]<typename Entry>() {
        const bin_tables<Entry> IH = tables_of<Entry>(p, memory.table);
        const view_shape weights = p.histogram->weights.value_or(view_shape{});
        const launch_shape shape{.grid = dim3(static_cast<unsigned>(ceil_div(IH.rows * IH.cols, initialize_threads)),
                                              static_cast<unsigned>(IH.planes)),
                                 .block = initialize_threads};
        visit_one_of(cuda_histogram_inputs{}, p.image.type, [&]<typename Pixel>() {
            launch(initialize_kernel<Pixel, Entry>, shape, stream, planes_of<Pixel>(memory.image, p.image),
                   bin_finder(*p.histogram, memory), planes_of<float>(memory.weights, weights), IH);
        });
        f.template operator()<Entry>(IH);
    });
}

/// What the exhibits ask of a problem: compiled types, all bins at once, and extents that fit a grid.
inline support supports_exhibit(const problem& p) {
    if (!p.histogram) return {false, "it computes integral histograms"};
    if (!contains(cuda_histogram_inputs{}, p.image.type) || !contains(cuda_histogram_entries{}, p.table.type))
        return {false, "types " + name_of(p.types()) + " were not compiled (BOXSUM_TYPES)"};
    if (p.histogram->bins != p.histogram->bins_of_rule()) return {false, "it computes all bins at once"};
    const std::int64_t tables = p.table.planes * p.histogram->bins;
    if (tables > 65535) return {false, "planes x bins is " + std::to_string(tables) + ", must be at most 65535"};
    constexpr double most = 256.0 * 2147483647;
    if (static_cast<double>(p.table.rows) * static_cast<double>(p.table.cols) > most || p.table.rows > 2147483647 ||
        p.table.cols > 2147483647)
        return {false, "more entries a table than a grid has threads"};
    return {};
}

}  // namespace boxsum::cuda
