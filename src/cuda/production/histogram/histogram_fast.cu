// The record `fast` of integral histograms: the production kernels. Unlike a summed area table, the tensor is 4 b times
// as large as the image, so the image may be read twice: no block waits for another one.
//
//     1. count.cuh    pixels -> bins, one byte each; counts per row, column and band of a strip, per bin
//     2. carries.cuh  large images: counts -> what lies to the left of, and above, every tile
//     3. finish.cuh   bins + counts or carries -> tables, written once in streaming stores of 16 bytes: a block for a
//                     tile of 8 tables, or, of large images, for a larger tile of all tables
//
// The planes of zeros and ones exist in registers only. Beside the tensor there are a byte per pixel and group of bins,
// and counts and carries of 1/100 of the tensor. The work is cut into groups of planes, bins and bands for which these
// stay in L2.

#include "core/algorithm_record.hpp"
#include "cuda/production/histogram/cut.hpp"
#include "cuda/production/records.hpp"
#include "cuda/record.hpp"

#ifdef __CUDACC__
#include "cuda/device/histogram_types.hpp"
#include "cuda/device/ptx.cuh"
#include "cuda/production/histogram/carries.cuh"
#include "cuda/production/histogram/count.cuh"
#include "cuda/production/histogram/finish.cuh"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/device_limits.hpp"
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

histogram_cut cut_for_device(const problem& p) {
    return histogram_cut(p, static_cast<std::int64_t>(most_shared_bytes()));
}

std::size_t workspace_bytes(const problem& p, const parameter_values&) {
    const histogram_cut cut = cut_for_device(p);
    workspace_slots slots;
    visit_one_of(cuda_histogram_entries{}, p.table.type, [&]<typename Entry>() {
        const histogram_group group(p, cut, sizeof(count_of<Entry>));
        (void)histogram_workspace<count_of<Entry>, sum_of<Entry>>(slots, cut, group);
    });
    return slots.bytes();
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

/// A group of planes, bins and bands.
struct group_part {
    std::int64_t plane, planes, bin, bins, band, bands;
};

/// What all groups share.
template <typename Entry>
struct histogram_run {
    using count = count_of<Entry>;
    using sum = sum_of<Entry>;

    const problem& p;
    const buffers& memory;
    const execution& how;
    histogram_cut cut;
    histogram_workspace<count, sum> workspace;
    bool overlap;    ///< launches
    int groups = 0;  ///< enqueued so far

    void enqueue(const group_part& part) {
        const histogram_cut slab = cut.slab(part.band, part.bands);
        const histogram_scratch<count, sum>& scratch = groups % 2 == 0 ? workspace.even : workspace.odd;
        const histogram_scratch<count, sum>& before = groups % 2 == 0 ? workspace.odd : workspace.even;
        const auto weights = planes_of<float>(memory.weights, p.histogram->weights.value_or(view_shape{}));
        const auto u = [](std::int64_t n) { return static_cast<unsigned>(n); };

        visit_one_of(cuda_histogram_inputs{}, p.image.type, [&]<typename Pixel>() {
            const count_task<count, sum> task{slab,
                                              scratch,
                                              part.plane,
                                              p.histogram->first_bin + part.bin,
                                              static_cast<int>(part.bins),
                                              pixels_are_aligned<Pixel>(p, memory.image),
                                              groups > 0 && slab.wave.warps == 0 ? before.all : dead_memory{}};
            const auto kernel = slab.band_rows == 32 ? count_bins_kernel<32, Pixel, count, sum>
                                                     : count_bins_kernel<most_band_rows, Pixel, count, sum>;
            launch(kernel,
                   {.grid = dim3(u(slab.strips * slab.bands), u(part.planes),
                                 u((part.bins + counted_bins - 1) / counted_bins)),
                    .block = count_threads,
                    .overlaps_predecessor = overlap && groups > 0},
                   how.stream, planes_of<Pixel>(memory.image, p.image), bin_finder(*p.histogram, memory), weights,
                   task);
        });

        if (!slab.gathers) {
            const unsigned row_blocks = u((slab.padded_rows() + carries_of_block<count> - 1) / carries_of_block<count>);
            const unsigned col_blocks = u((slab.padded_cols() + carries_of_block<count> - 1) / carries_of_block<count>);
            launch(carry_counts_kernel<count, sum>,
                   {.grid = dim3(row_blocks + col_blocks + 1, u(part.planes * part.bins)),
                    .block = carries_threads,
                    .overlaps_predecessor = overlap},
                   how.stream, slab, scratch, workspace.carries, row_blocks, col_blocks);
        }

        bin_tables<Entry> tables = tables_of<Entry>(p, memory.table);
        auto* const first = reinterpret_cast<char*>(tables.data) +
                            part.plane * (p.table.planes > 1 ? tables.plane_stride : 0) +
                            part.bin * (p.histogram->bins > 1 ? tables.bin_stride : 0) +
                            part.band * slab.band_rows * (p.table.rows > 1 ? tables.row_stride : 0);
        tables.data = reinterpret_cast<Entry*>(first);
        tables.planes = part.planes;
        tables.bins = part.bins;
        const finish_task<Entry, count, sum> task{slab, scratch, tables, weights, part.plane};
        if constexpr (!std::is_floating_point_v<Entry>) {
            if (slab.wave.warps > 0) {
                const auto finish = [&]<int Warps>(std::integral_constant<int, Warps>) {
                    launch(rows_are_aligned(tables) ? finish_bins_kernel<Warps, true, Entry>
                                                    : finish_bins_kernel<Warps, false, Entry>,
                           {.grid = dim3(u(slab.strips * slab.tiles), u(part.planes)),
                            .block = Warps * warp_size,
                            .shared_bytes = wave_shared_bytes(slab.tile_rows(), static_cast<int>(part.bins)),
                            .overlaps_predecessor = overlap},
                           how.stream, task);
                };
                if (slab.wave.warps == 16)
                    finish(std::integral_constant<int, 16>{});
                else
                    finish(std::integral_constant<int, 8>{});
                ++groups;
                return;
            }
        }
        const launch_shape shape{
            .grid = dim3(u(slab.strips * slab.tiles), u((part.bins + finish_warps - 1) / finish_warps), u(part.planes)),
            .block = finish_threads,
            .shared_bytes = finish_shared_bytes(slab.tile_rows()),
            .overlaps_predecessor = overlap};
        launch(rows_are_aligned(tables) ? finish_tables_kernel<true, Entry, count, sum>
                                        : finish_tables_kernel<false, Entry, count, sum>,
               shape, how.stream, task);
        ++groups;
    }
};

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    const histogram_cut cut = cut_for_device(p);
    const bool overlap = limits_of_device().launches_overlap();
    visit_one_of(cuda_histogram_entries{}, p.table.type, [&]<typename Entry>() {
        const histogram_group group(p, cut, sizeof(count_of<Entry>));
        workspace_slots slots(how.workspace);
        histogram_run<Entry> run{p, memory, how, cut, {slots, cut, group}, overlap};
        const std::int64_t bins = p.histogram->bins;
        for (std::int64_t plane = 0; plane < p.table.planes; plane += group.planes)
            for (std::int64_t bin = 0; bin < bins; bin += group.bins)
                for (std::int64_t band = 0; band < cut.bands; band += group.bands)  // top to bottom
                    run.enqueue({plane, std::min(group.planes, p.table.planes - plane), bin,
                                 std::min(group.bins, bins - bin), band, std::min(group.bands, cut.bands - band)});
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values&) {
    const cuda::histogram_cut cut(p);
    const std::int64_t count_bytes = p.histogram->weights ? 4 : 1;
    const cuda::histogram_group group(p, cut, count_bytes);
    const auto bins = static_cast<double>(p.histogram->bins);
    const double carries = static_cast<double>(cut.carry_bytes(count_bytes)) / 4 /
                           (static_cast<double>(cut.rows) * static_cast<double>(cut.cols)) * bins;
    return {2 * static_cast<double>(group.bin_groups()) + carries, bins + carries,
            (cut.gathers ? 2 : 3) * group.count(), cut.strips * cut.tiles * group.tables() * 32};
}

}  // namespace

constinit const algorithm_record histogram_fast_record{
    .info = {.what = operation::histogram,
             .name = "fast",
             .title = "counts of tiles, their carries, then every table written once",
             .paper = "boxsum",
             .cost = "2 reads of the image per group of bins, 1 write per entry; 2 or 3 launches per group",
             .where = backend::cuda,
             .built = cuda_built},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .addition_depth = serial_addition_depth,
    .cost = cost,
};

}  // namespace boxsum
