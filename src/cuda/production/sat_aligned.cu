// The record `fast-aligned`: the production summed area table for one channel whose rows are aligned to 16 bytes.
// Kernels: sat_aligned_kernel.cuh for large images, sat_aligned_wave.cuh for what fits on the chip at once. Not chosen
// by itself until it has passed on a device; measured probes of it are ahead of `fast` (docs/performance-gpu.md).

#include "core/algorithm_record.hpp"
#include "cuda/production/records.hpp"
#include "cuda/record.hpp"

#ifdef __CUDACC__
#include "core/visit_types.hpp"
#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat_aligned.hpp"
#include "cuda/production/sat_aligned_tile.cuh"
#include "cuda/production/sat_aligned_wave.cuh"
#include "cuda/production/sat_fast_choice.hpp"
#include "cuda/runtime/cuda_try.hpp"
#endif

#include <algorithm>
#include <cmath>
#include <string>

namespace boxsum {
#ifdef __CUDACC__
namespace cuda {

std::size_t aligned_workspace_bytes(const sat_geometry& g, int pixel_bytes, int sum_bytes, int multiprocessors) {
    const int cols = aligned_tile_cols(sum_bytes);
    const int words = sum_bytes / 4;
    workspace_slots slots;
    if (const int warp_rows = one_wave_rows(g, cols, multiprocessors); warp_rows > 0) {
        const int rows = 8 * warp_rows;
        const std::int64_t tiles =
            g.planes * aligned_tiles_along(g.rows - g.origin, rows) * aligned_tiles_along(g.cols - g.origin, cols);
        (void)aligned_wave_words(slots, tiles, rows * words, cols * words, words);
    } else {
        constexpr int rows = aligned_tile<float>::rows;
        const aligned_columns columns = aligned_columns_of(g.cols, pixel_bytes, sum_bytes);
        const aligned_plan plan =
            make_aligned_plan(g, pixel_bytes, sum_bytes, columns, aligned_tiles_in_flight(multiprocessors));
        (void)aligned_words(slots, plan, columns, rows * words, cols * words);
    }
    return slots.bytes();
}

}  // namespace cuda

namespace {

using namespace cuda;

int attribute_of_device(cudaDeviceAttr what) {
    int device = 0, value = 0;
    BOXSUM_CUDA_TRY(cudaGetDevice(&device));
    BOXSUM_CUDA_TRY(cudaDeviceGetAttribute(&value, what, device));
    return value;
}

sat_geometry geometry_of(const problem& p, const buffers& memory) {
    return {p, memory.image, p.table, memory.table};
}

/// Why strides do not suit, or nothing. Pointers are not known before enqueue().
std::string misaligned(const view_shape& view, const char* name) {
    const auto stride = [&](std::int64_t bytes, const char* what) {
        return bytes % 16 == 0
                   ? std::string()
                   : std::string(name) + " " + what + " is " + std::to_string(bytes) + " bytes, no multiple of 16";
    };
    std::string reason = stride(view.row_stride, "row stride");
    if (reason.empty() && view.planes > 1) reason = stride(view.plane_stride, "plane stride");
    return reason;
}

support supported(const problem& p, const parameter_values&) {
    if (p.squares) return {false, "it computes no table of squares"};
    if (!contains(cuda_type_pairs{}, p.types()))
        return {false, "types " + name_of(p.types()) + " were not compiled (BOXSUM_TYPES)"};
    if (p.image.channels != 1)
        return {false, "it takes one channel, the image has " + std::to_string(p.image.channels)};
    if (p.image.rows == 0 || p.image.cols == 0) return {false, "the image is empty"};
    if (std::string reason = misaligned(p.image, "image"); !reason.empty()) return {false, reason};
    if (std::string reason = misaligned(p.table, "table"); !reason.empty()) return {false, reason};
    const double tiles =
        static_cast<double>(p.table.planes) * std::ceil(static_cast<double>(p.table.rows) / 64) *
        std::ceil(static_cast<double>(p.table.cols) / aligned_tile_cols(static_cast<int>(size_of(p.table.type))));
    if (tiles > 2e8) return {false, "more than 2 * 10^8 tiles of 64 rows"};
    if (attribute_of_device(cudaDevAttrComputeCapabilityMajor) < 9)
        return {false, "the device has no copy engine (compute capability 9.0)"};
    if (!aligned_kernels_available()) return {false, "its kernels were not compiled for this device"};
    return {};
}

std::size_t workspace_bytes(const problem& p, const parameter_values&) {
    const sat_geometry g = geometry_of(p, {});
    // The record `fast` takes over where pointers turn out to be unaligned.
    const std::size_t others = sat_fast_record.workspace_bytes(p, {});
    if (g.empty()) return others;
    return std::max(others, aligned_workspace_bytes(g, static_cast<int>(size_of(p.image.type)),
                                                    static_cast<int>(size_of(p.table.type)),
                                                    attribute_of_device(cudaDevAttrMultiProcessorCount)));
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    const sat_geometry g = geometry_of(p, memory);
    if (g.empty()) return;
    const auto aligned = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; };
    bool enqueued = false;
    if (aligned(memory.image) && aligned(memory.table)) {
        const int multiprocessors = attribute_of_device(cudaDevAttrMultiProcessorCount);
        visit_dtype(p.image.type, [&]<typename Input>() {
            if constexpr (std::is_same_v<Input, s32>) {
                enqueued = size_of(p.table.type) == 4 ? enqueue_aligned<u32>(p, g, multiprocessors, how)
                                                      : enqueue_aligned<s32>(p, g, multiprocessors, how);
            } else if constexpr (sizeof(Input) < 8 || std::is_same_v<Input, f64>) {
                enqueued = enqueue_aligned<Input>(p, g, multiprocessors, how);
            }
        });
    }
    if (!enqueued) sat_fast_record.enqueue(p, memory, how);
}

}  // namespace
#endif  // __CUDACC__

namespace {

/// The longest chain leads from a pixel through the row sums of its tile (at most 34 additions), those of its group of
/// tiles and of the groups to the left, the carries of a tile (64 rows, by a scan) and the rows of tiles below.
std::int64_t addition_depth(const problem& p, const parameter_values&) {
    const std::int64_t tile_rows = (p.table.rows + 31) / 32;
    const std::int64_t tile_cols = (p.table.cols + 63) / 64;
    const auto roots = static_cast<std::int64_t>(std::ceil(2 * std::sqrt(static_cast<double>(tile_cols))));
    return std::min(serial_addition_depth(p, {}), 128 + std::min<std::int64_t>(tile_cols, 16 + 2 * roots) + tile_rows);
}

algorithm_cost cost(const problem&, const parameter_values&) {
    return {1, 1, 1, 0};
}

}  // namespace

constinit const algorithm_record sat_fast_aligned_record{
    .info = {.what = operation::sat,
             .name = "fast-aligned",
             .title =
                 "the pipeline of warp roles for one channel with rows aligned to 16 bytes; checked on an emulated "
                 "device only so far",
             .paper = "boxsum",
             .cost = "1 read, 1 write per element; 1 launch",
             .where = backend::cuda,
             .built = cuda_built,
             .in_place = true},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .leaves = workspace_content::tagged,
    .addition_depth = addition_depth,
    .cost = cost,
};

}  // namespace boxsum
