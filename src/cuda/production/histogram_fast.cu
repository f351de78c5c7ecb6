// The record `fast` of integral histograms: the production kernels. Unlike a summed area table, the tensor is 4 b times
// as large as the image, so the image may be read twice: no block waits for another one.
//
//     1. histogram_count.cuh    pixels -> bins, one byte each; counts per row, column and tile of 64 x 128, per bin
//     2. histogram_carries.cuh  counts -> what lies to the left of, and above, every tile
//     3. histogram_finish.cuh   bins + carries -> tables, written once in streaming stores of 16 bytes
//
// The planes of zeros and ones exist in registers only. Beside the tensor, memory sees a byte per pixel and group of
// bins, and carries of 1/128 and 1/64 to 1/256 of the tensor, which stay in L2.

#include "core/algorithm_record.hpp"
#include "cuda/production/histogram_plan.hpp"
#include "cuda/production/records.hpp"
#include "cuda/record.hpp"

#ifdef __CUDACC__
#include "cuda/device/histogram_types.hpp"
#include "cuda/device/ptx.cuh"
#include "cuda/production/histogram_carries.cuh"
#include "cuda/production/histogram_count.cuh"
#include "cuda/production/histogram_finish.cuh"
#include "cuda/runtime/launch.cuh"
#endif

#include <algorithm>

namespace boxsum {
namespace {

#ifdef __CUDACC__

using namespace cuda;

/// Counts are added in 32 bits and fit a byte within a tile; weights stay what they are.
template <typename Entry>
using sum_of = std::conditional_t<std::is_floating_point_v<Entry>, float, std::uint32_t>;
template <typename Entry>
using count_of = std::conditional_t<std::is_floating_point_v<Entry>, float, std::uint8_t>;

support supported(const problem& p, const parameter_values&) {
    if (!p.histogram) return {false, "it computes integral histograms"};
    if (!contains(cuda_histogram_inputs{}, p.image.type) || !contains(cuda_histogram_entries{}, p.table.type))
        return {false, "types " + name_of(p.types()) + " were not compiled (BOXSUM_TYPES)"};
    const histogram_cut cut(p);
    if (static_cast<double>(cut.strips) * static_cast<double>(cut.bands) > 2147483647.0)
        return {false, "more than 2^31 - 1 tiles of 64 x 128"};
    return {};
}

std::size_t workspace_bytes(const problem& p, const parameter_values&) {
    const histogram_cut cut(p);
    workspace_slots slots;
    visit_one_of(cuda_histogram_entries{}, p.table.type, [&]<typename Entry>() {
        const histogram_group group(p, cut, sizeof(count_of<Entry>));
        (void)histogram_scratch<count_of<Entry>, sum_of<Entry>>(slots, cut, group);
    });
    return slots.bytes();
}

/// Whether kernels 2 and 3 may be launched before their predecessors have ended.
bool may_overlap() {
    if constexpr (!overlapping_launches()) return false;
    int device = 0, major = 0;
    BOXSUM_CUDA_TRY(cudaGetDevice(&device));
    BOXSUM_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    return major >= 9;
}

/// Whether all rows of all tables start at a multiple of 4 entries.
template <typename Entry>
bool rows_are_aligned(const bin_tables<Entry>& t) {
    const std::uint64_t starts = reinterpret_cast<std::uintptr_t>(t.data) | static_cast<std::uint64_t>(t.row_stride) |
                                 static_cast<std::uint64_t>(t.bins > 1 ? t.bin_stride : 0) |
                                 static_cast<std::uint64_t>(t.planes > 1 ? t.plane_stride : 0);
    return starts % (4 * sizeof(Entry)) == 0;
}

/// Whether four pixels of a row of the table, from a multiple of four on, are aligned to their size.
template <typename Pixel>
bool pixels_are_aligned(const problem& p, const void* image) {
    const std::uint64_t starts = reinterpret_cast<std::uintptr_t>(image) |
                                 static_cast<std::uint64_t>(p.image.row_stride) |
                                 static_cast<std::uint64_t>(p.image.planes > 1 ? p.image.plane_stride : 0);
    return starts % (4 * sizeof(Pixel)) == 0 && p.image.cols == p.table.cols;
}

/// A part of the tensor: planes and bins of a group, from a first one.
template <typename Entry>
struct group_run {
    const problem& p;
    const buffers& memory;
    const execution& how;
    histogram_cut cut;
    histogram_scratch<count_of<Entry>, sum_of<Entry>> scratch;
    bool overlap;

    void enqueue(std::int64_t plane, std::int64_t planes, std::int64_t bin, std::int64_t bins) const {
        const view_shape weights_shape = p.histogram->weights.value_or(view_shape{});
        const auto weights = planes_of<float>(memory.weights, weights_shape);
        const auto tiles_of = [&](std::int64_t rows) { return static_cast<unsigned>(cut.strips * rows); };
        const auto u = [](std::int64_t n) { return static_cast<unsigned>(n); };

        visit_one_of(cuda_histogram_inputs{}, p.image.type, [&]<typename Pixel>() {
            const count_task<count_of<Entry>, sum_of<Entry>> task{cut,
                                                                  scratch,
                                                                  plane,
                                                                  p.histogram->first_bin + bin,
                                                                  static_cast<int>(bins),
                                                                  pixels_are_aligned<Pixel>(p, memory.image)};
            launch(count_bins_kernel<Pixel, count_of<Entry>, sum_of<Entry>>,
                   {.grid = dim3(tiles_of(cut.bands), u(planes), u((bins + count_bins - 1) / count_bins)),
                    .block = count_threads},
                   how.stream, planes_of<Pixel>(memory.image, p.image), bin_finder(*p.histogram, memory), weights,
                   task);
        });

        if (!cut.gathers) {
            const unsigned row_blocks = u((cut.padded_rows() + carries_threads - 1) / carries_threads);
            const unsigned col_blocks = u((cut.padded_cols() + carries_threads - 1) / carries_threads);
            launch(carry_counts_kernel<count_of<Entry>, sum_of<Entry>>,
                   {.grid = dim3(row_blocks + col_blocks + 1, u(planes * bins)),
                    .block = carries_threads,
                    .overlaps_predecessor = overlap},
                   how.stream, cut, scratch, row_blocks, col_blocks);
        }

        bin_tables<Entry> tables = tables_of<Entry>(p, memory.table);
        auto* const first = reinterpret_cast<char*>(tables.data) +
                            plane * (p.table.planes > 1 ? tables.plane_stride : 0) +
                            bin * (p.histogram->bins > 1 ? tables.bin_stride : 0);
        tables.data = reinterpret_cast<Entry*>(first);
        tables.planes = planes;
        tables.bins = bins;
        const finish_task<Entry, count_of<Entry>, sum_of<Entry>> task{cut, scratch, tables, weights, plane};
        const launch_shape shape{
            .grid = dim3(tiles_of(cut.tiles), u((bins + finish_warps - 1) / finish_warps), u(planes)),
            .block = finish_threads,
            .shared_bytes = finish_shared_bytes(cut.tile_rows()),
            .overlaps_predecessor = overlap};
        if (rows_are_aligned(tables))
            launch(finish_tables_kernel<true, Entry, count_of<Entry>, sum_of<Entry>>, shape, how.stream, task);
        else
            launch(finish_tables_kernel<false, Entry, count_of<Entry>, sum_of<Entry>>, shape, how.stream, task);
    }
};

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    const histogram_cut cut(p);
    const bool overlap = may_overlap();
    visit_one_of(cuda_histogram_entries{}, p.table.type, [&]<typename Entry>() {
        const histogram_group group(p, cut, sizeof(count_of<Entry>));
        workspace_slots slots(how.workspace);
        const group_run<Entry> run{p, memory, how, cut, {slots, cut, group}, overlap};
        for (std::int64_t plane = 0; plane < p.table.planes; plane += group.planes)
            for (std::int64_t bin = 0; bin < p.histogram->bins; bin += group.bins)
                run.enqueue(plane, std::min(group.planes, p.table.planes - plane), bin,
                            std::min(group.bins, p.histogram->bins - bin));
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values&) {
    const cuda::histogram_cut cut(p);
    const std::int64_t count_bytes = p.histogram->weights ? 4 : 1;
    const cuda::histogram_group group(p, cut, count_bytes);
    const auto bins = static_cast<double>(p.histogram->bins);
    const std::int64_t bin_groups = (p.histogram->bins + group.bins - 1) / group.bins;
    const std::int64_t plane_groups = (p.table.planes + group.planes - 1) / group.planes;
    const double carries = static_cast<double>(cut.carry_bytes(count_bytes)) / 4 /
                           (static_cast<double>(cut.rows) * static_cast<double>(cut.cols)) * bins;
    return {2 * static_cast<double>(bin_groups) + carries, bins + carries,
            (cut.gathers ? 2 : 3) * bin_groups * plane_groups, cut.strips * cut.tiles * group.tables() * 32};
}

}  // namespace

constinit const algorithm_record histogram_fast_record{
    .info = {.what = operation::histogram,
             .name = "fast",
             .title = "counts of tiles, their carries, then every table written once",
             .paper = "boxsum",
             .cost = "2 reads of the image per group of bins, 1 write per entry; 3 launches per group",
             .where = backend::cuda,
             .built = cuda_built},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .addition_depth = serial_addition_depth,
    .cost = cost,
};

}  // namespace boxsum
