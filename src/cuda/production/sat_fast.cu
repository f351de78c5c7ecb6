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
#include "cuda/production/sat_aligned_plan.hpp"
#include "cuda/production/sat_pipeline.cuh"
#include "cuda/production/sat_wave_launch.cuh"
#include "cuda/runtime/cuda_try.hpp"
#endif

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

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
        const std::int64_t tiles = wave_tiles(g, rows, cols);
        (void)wave_words(slots, tiles, rows * words, cols * words, words);
    } else {
        // The alignment, which decides how tiles are loaded, does not matter here.
        const pipeline_plan plan = make_pipeline_plan(g, 1, pipeline_tile<float>::rows, cols,
                                                      pipeline_tiles_in_flight(limits.multiprocessors), false);
        (void)pipeline_words(slots, plan, pipeline_tile<float>::rows * words, cols * words);
    }
    return slots.bytes();
}

std::size_t fast_list_workspace_bytes(std::span<const sat_geometry> images, dtype sum) {
    const int cols = tile_cols_of(sum), rows = 8 * wave_list::warp_rows;
    const int words = static_cast<int>(size_of(sum)) / 4;
    std::size_t bytes = 0;
    for_each_wave_list(images, [&](std::span<const sat_geometry> part) {
        std::int64_t tiles = 0;
        for (const sat_geometry& g : part) tiles += wave_tiles(g, rows, cols);
        workspace_slots slots;
        (void)wave_words(slots, tiles, rows * words, cols * words, words);
        bytes = std::max(bytes, slots.bytes());
    });
    return bytes;
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
bool takes_aligned(const sat_geometry& g, int tile_cols, const fast_limits& limits, const parameter_values& values) {
    return !is_general(values) && limits.copy_engine &&
           aligned_rather_than_one_wave(g, one_wave_rows(g, tile_cols, limits.multiprocessors)) &&
           aligned_kernels_fit(g, tile_cols) && aligned_kernels_available();
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

std::size_t bytes_of_table(const sat_geometry& g, dtype pixel, dtype sum, const fast_limits& limits,
                           const parameter_values& values) {
    if (g.empty()) return 0;
    return takes_aligned(g, tile_cols_of(sum), limits, values)
               ? aligned_workspace_bytes(g, static_cast<int>(size_of(pixel)), static_cast<int>(size_of(sum)),
                                         limits.multiprocessors)
               : fast_workspace_bytes(g, sum, limits);
}

/// Whether both tables come from one launch, unless rows of image or tables are in the way.
bool takes_both(const problem& p, const fast_limits& limits, const parameter_values& values) {
    return p.squares && p.image.channels == 1 && aligned_kernels_have_squares(p.triple()) &&
           takes_aligned(squares_of(p, {}), aligned_squares_cols, limits, values);
}

std::size_t workspace_bytes(const problem& p, const parameter_values& values) {
    const fast_limits limits = limits_of_device();
    const sat_geometry sums = sums_of(p, {});
    const std::size_t bytes = bytes_of_table(sums, p.image.type, p.table.type, limits, values);
    if (!p.squares) return bytes;
    const sat_geometry squares = squares_of(p, {});
    const auto size = [](dtype type) { return static_cast<int>(size_of(type)); };
    return std::max({bytes, bytes_of_table(squares, p.image.type, p.squares->type, limits, values),
                     takes_both(p, limits, values)
                         ? aligned_squares_workspace_bytes(sums, squares, size(p.image.type), size(p.table.type),
                                                           size(p.squares->type), limits.multiprocessors)
                         : 0});
}

/// f.template operator()<Pixel>() for the kernels' pixels.
template <typename F>
void visit_pixels(dtype image, dtype sum, F&& f) {
    visit_dtype(image, [&]<typename Input>() {
        if constexpr (std::is_integral_v<Input> && sizeof(Input) == 4) {
            if (size_of(sum) == 4) return f.template operator()<u32>();
            f.template operator()<Input>();
        } else if constexpr (sizeof(Input) < 8 || std::is_same_v<Input, f64>) {
            f.template operator()<Input>();
        }
    });
}

void enqueue_table(const sat_geometry& g, dtype pixel, dtype sum, bool square, const fast_limits& limits,
                   const execution& how) {
    if (g.empty()) return;
    visit_pixels(pixel, sum, [&]<typename Pixel>() {
        if (takes_aligned(g, tile_cols_of(sum), limits, how.parameters))
            enqueue_aligned<Pixel>(g, sum, square, limits.multiprocessors, how);
        else
            enqueue_fast<Pixel>(g, sum, square, limits, how);
    });
}

/// False, and nothing is enqueued, where each table has a launch of its own.
bool enqueue_both(const problem& p, const buffers& memory, const fast_limits& limits, const execution& how) {
    const sat_geometry sums = sums_of(p, memory), squares = squares_of(p, memory);
    if (!takes_both(p, limits, how.parameters)) return false;
    const auto enqueue = p.image.type == dtype::u8 ? enqueue_aligned_squares<u8> : enqueue_aligned_squares<f32>;
    return enqueue(sums, squares, p.triple(), limits.multiprocessors, how);
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    const fast_limits limits = limits_of_device();
    if (p.squares && enqueue_both(p, memory, limits, how)) return;
    enqueue_table(sums_of(p, memory), p.image.type, p.table.type, false, limits, how);
    if (p.squares) enqueue_table(squares_of(p, memory), p.image.type, p.squares->type, true, limits, how);
}

/// A list's tables of sums, or of squares: those that one wave takes, and the others, which have launches of their own.
struct list_parts {
    std::vector<sat_geometry> together, alone;

    /// Of those images whose tables do not come from one launch anyway.
    list_parts(std::span<const problem> problems, std::span<const buffers> memory, bool square,
               const fast_limits& limits, const parameter_values& values) {
        for (std::size_t i = 0; i < problems.size(); ++i) {
            if (takes_both(problems[i], limits, values)) continue;
            const buffers at = memory.empty() ? buffers{} : memory[i];
            const sat_geometry g = square ? squares_of(problems[i], at) : sums_of(problems[i], at);
            if (g.empty()) continue;
            (in_one_launch(g, sum_type(problems[i], square), limits) ? together : alone).push_back(g);
        }
    }

    static dtype sum_type(const problem& p, bool square) { return square ? p.squares->type : p.table.type; }

    /// Whatever its pointers are: the workspace is asked for without them.
    static bool in_one_launch(const sat_geometry& g, dtype sum, const fast_limits& limits) {
        return !aligned_rather_than_one_wave(g, one_wave_rows(g, tile_cols_of(sum), limits.multiprocessors));
    }
};

std::size_t list_workspace_bytes(std::span<const problem> problems, const parameter_values& values) {
    const fast_limits limits = limits_of_device();
    std::size_t bytes = 0;
    for (const problem& p : problems)
        if (takes_both(p, limits, values)) bytes = std::max(bytes, workspace_bytes(p, values));
    for (const bool square : {false, true}) {
        if (square && !problems[0].squares) continue;
        const dtype sum = list_parts::sum_type(problems[0], square);
        const list_parts parts(problems, {}, square, limits, values);
        bytes = std::max(bytes, fast_list_workspace_bytes(parts.together, sum));
        for (const sat_geometry& g : parts.alone)
            bytes = std::max(bytes, bytes_of_table(g, problems[0].image.type, sum, limits, values));
    }
    return bytes;
}

void enqueue_list(std::span<const problem> problems, std::span<const buffers> memory, const execution& how) {
    const fast_limits limits = limits_of_device();
    const dtype pixel = problems[0].image.type;
    for (std::size_t i = 0; i < problems.size(); ++i)
        if (takes_both(problems[i], limits, how.parameters)) enqueue(problems[i], memory[i], how);
    for (const bool square : {false, true}) {
        if (square && !problems[0].squares) continue;
        const dtype sum = list_parts::sum_type(problems[0], square);
        const list_parts parts(problems, memory, square, limits, how.parameters);
        visit_pixels(pixel, sum, [&]<typename Pixel>() { enqueue_fast_list<Pixel>(parts.together, sum, square, how); });
        for (const sat_geometry& g : parts.alone) enqueue_table(g, pixel, sum, square, limits, how);
    }
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

/// Of two launches where there are squares, as on any device; see takes_both() for where one reads the image once.
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
             .cost = "1 read, 1 write per element and table; 1 launch per table, or 1 read and 1 launch for both",
             .where = backend::cuda,
             .built = cuda_built,
             .in_place = true,
             .parameters = parameters},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .leaves = workspace_content::tagged,
    .list_workspace_bytes = BOXSUM_DEVICE_FUNCTION(list_workspace_bytes),
    .enqueue_list = BOXSUM_DEVICE_FUNCTION(enqueue_list),
    .addition_depth = addition_depth,
    .cost = cost,
};

}  // namespace boxsum
