// The record `fast`: the production summed area table. Where everything fits on the chip at once sat_wave.cuh; else, on
// compute capability 9.0, sat_aligned_kernel.cuh, and sat_pipeline.cuh on older devices. Every layout is written in the
// same pass.

#include "core/algorithm_record.hpp"
#include "cuda/production/records.hpp"
#include "cuda/production/sat_fast_choice.hpp"
#include "cuda/record.hpp"

#ifdef __CUDACC__
#include "core/visit_types.hpp"
#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat_aligned.hpp"
#include "cuda/production/sat_pipeline.cuh"
#include "cuda/production/sat_wave.cuh"
#include "cuda/runtime/cuda_try.hpp"
#endif

#include <algorithm>
#include <cmath>
#include <string>

namespace boxsum {
namespace {

constexpr std::string_view path_values[] = {"auto", "general"};
constexpr parameter parameters[] = {
    {"path", "the kernels for compute capability 9.0 where they fit, or never", path_values}};

bool is_general(const parameter_values& values) {
    return values.choice[0] == 1;
}

}  // namespace
#ifdef __CUDACC__
namespace cuda {

fast_limits limits_of_device() {
    int device = 0, multiprocessors = 0, major = 0;
    BOXSUM_CUDA_TRY(cudaGetDevice(&device));
    BOXSUM_CUDA_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    BOXSUM_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    return {multiprocessors, major >= 9};
}

std::size_t fast_workspace_bytes(const sat_geometry& g, dtype sum, const fast_limits& limits) {
    const int cols = tile_cols_of(sum);
    const int words = static_cast<int>(size_of(sum)) / 4;
    workspace_slots slots;
    if (const int warp_rows = one_wave_rows(g, cols, limits.multiprocessors); warp_rows > 0) {
        const int rows = 8 * warp_rows;
        const std::int64_t tiles =
            g.planes * g.channels * tiles_along(g.rows - g.origin, rows) * tiles_along(g.cols - g.origin, cols);
        (void)wave_words(slots, tiles, rows * words, cols * words, words);
    } else {
        // The alignment, which decides how tiles are loaded, does not matter here.
        const pipeline_plan plan = make_pipeline_plan(g, 1, pipeline_tile<float>::rows, cols,
                                                      pipeline_tiles_in_flight(limits.multiprocessors), false);
        (void)pipeline_words(slots, plan, pipeline_tile<float>::rows * words, cols * words);
    }
    return slots.bytes();
}

}  // namespace cuda

namespace {

using namespace cuda;

sat_geometry sums_of(const problem& p, const buffers& memory) {
    return {p, memory.image, p.table, memory.table};
}

sat_geometry squares_of(const problem& p, const buffers& memory) {
    return {p, memory.image, *p.squares, memory.squares};
}

/// `g`: with pointers or, where they are not known yet, without.
bool takes_aligned(const sat_geometry& g, dtype sum, const fast_limits& limits, const parameter_values& values) {
    return !is_general(values) && limits.copy_engine &&
           aligned_rather_than_one_wave(g, one_wave_rows(g, tile_cols_of(sum), limits.multiprocessors)) &&
           aligned_kernels_fit(g, sum) && aligned_kernels_available();
}

support supported(const problem& p, const parameter_values&) {
    if (p.squares ? !contains(cuda_squares_triples{}, p.triple()) : !contains(cuda_type_pairs{}, p.types()))
        return {false, "types " + (p.squares ? name_of(p.triple()) : name_of(p.types())) +
                           " were not compiled (BOXSUM_TYPES)"};
    if (p.in_place && p.squares) return {false, "it computes no squares in place"};
    const auto tiles = [&](const view_shape& table) {
        return static_cast<double>(table.planes) * static_cast<double>(table.channels) *
               std::ceil(static_cast<double>(table.rows) / 64) *
               std::ceil(static_cast<double>(table.cols) / tile_cols_of(table.type));
    };
    if (std::max(tiles(p.table), p.squares ? tiles(*p.squares) : 0.0) > 1e9)
        return {false, "more than 10^9 tiles of 64 rows"};
    return {};
}

std::size_t workspace_bytes(const problem& p, const parameter_values& values) {
    const fast_limits limits = limits_of_device();
    const auto bytes = [&](const sat_geometry& g, dtype sum) {
        if (g.empty()) return std::size_t{0};
        return takes_aligned(g, sum, limits, values)
                   ? aligned_workspace_bytes(g, static_cast<int>(size_of(p.image.type)), static_cast<int>(size_of(sum)),
                                             limits.multiprocessors)
                   : fast_workspace_bytes(g, sum, limits);
    };
    return std::max(bytes(sums_of(p, {}), p.table.type), p.squares ? bytes(squares_of(p, {}), p.squares->type) : 0);
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    const fast_limits limits = limits_of_device();
    const auto one = [&](const sat_geometry& g, dtype sum, bool square) {
        if (g.empty()) return;
        const auto enqueue_pixels = [&]<typename Pixel>() {
            if (takes_aligned(g, sum, limits, how.parameters))
                enqueue_aligned<Pixel>(g, sum, square, limits.multiprocessors, how);
            else
                enqueue_fast<Pixel>(g, sum, square, limits, how);
        };
        visit_dtype(p.image.type, [&]<typename Input>() {
            if constexpr (std::is_integral_v<Input> && sizeof(Input) == 4) {
                if (size_of(sum) == 4) return enqueue_pixels.template operator()<u32>();
                enqueue_pixels.template operator()<Input>();
            } else if constexpr (sizeof(Input) < 8 || std::is_same_v<Input, f64>) {
                enqueue_pixels.template operator()<Input>();
            }
        });
    };
    one(sums_of(p, memory), p.table.type, false);
    if (p.squares) one(squares_of(p, memory), p.squares->type, true);
}

}  // namespace
#endif  // __CUDACC__

namespace {

/// The longest chain leads from a pixel through the row sums of its tile (at most 34 additions, 64 with two channels),
/// those of its group of tiles and of the groups to the left, the carries of a tile (15) and the groups of rows of
/// tiles below (3 each). In the aligned kernels the carries of a tile are those of 64 rows, there may be a group per
/// row of tiles, and several channels share a tile, which is so much narrower.
std::int64_t addition_depth(const problem& p, const parameter_values& values) {
    const std::int64_t tile_rows = (p.table.rows + 31) / 32;
    const std::int64_t tile_cols = (p.table.cols * p.table.channels + 63) / 64;
    const auto roots = static_cast<std::int64_t>(std::ceil(2 * std::sqrt(static_cast<double>(tile_cols))));
    const std::int64_t downwards = is_general(values) ? 96 + std::min<std::int64_t>(tile_rows, 16 + 3 * tile_rows / 16)
                                                      : (p.table.channels == 1 ? 128 : 160) + tile_rows;
    return std::min(serial_addition_depth(p, {}), std::min<std::int64_t>(tile_cols, 16 + 2 * roots) + downwards);
}

algorithm_cost cost(const problem& p, const parameter_values&) {
    const double tables = p.squares ? 2 : 1;
    return {tables, tables, p.squares ? 2 : 1, 0};
}

}  // namespace

constinit const algorithm_record sat_fast_record{
    .info = {.what = operation::sat,
             .name = "fast",
             .title = "single pass, tiles in a pipeline of warp roles; one wave where everything fits on the chip",
             .paper = "boxsum",
             .cost = "1 read, 1 write per element and table; 1 launch per table",
             .where = backend::cuda,
             .built = cuda_built,
             .in_place = true,
             .parameters = parameters},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .leaves = workspace_content::tagged,
    .addition_depth = addition_depth,
    .cost = cost,
};

}  // namespace boxsum
