#pragma once

#include "core/algorithm_record.hpp"
#include "core/visit_types.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/device/layers.cuh"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/launch.cuh"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

/// The host half that all algorithms for inclusive tables share.
namespace boxsum::cuda {

/// Zeros of the first row and column of an exclusive or padded table. A thread owns entry (0, i) and entry (i, 0).
template <typename Sum>
__global__ void clear_border_kernel(layers<Sum> tables) {
    const layer<Sum> table = tables[blockIdx.y];
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < table.cols) table.at(0, i) = Sum{};
    if (i < table.rows) table.at(i, 0) = Sum{};
}

/// Calls f.template operator()<Pixel, Sum>() with the types of the sums. Pixels as wide as the sum become sums: then
/// 32s32s and 32u32u are the same kernel.
template <typename F>
void visit_sum_types(const problem& p, F&& f) {
    visit_type_pair(cuda_type_pairs{}, p.types(), [&]<typename Input, typename Table>() {
        using sum = sum_type<Table>;
        using pixel = std::conditional_t<std::is_integral_v<Input> && sizeof(Input) == sizeof(Table), sum, Input>;
        f.template operator()<pixel, sum>();
    });
}

/// Enqueues a table of any layout: its border, then f.template operator()<Pixel, Sum>(image, table) for the inclusive
/// table of what is left, unless nothing is.
template <typename F>
void enqueue_inclusive(const problem& p, const buffers& memory, stream_ref stream, F&& f) {
    visit_sum_types(p, [&]<typename Pixel, typename Sum>() {
        const inclusive_core core = core_of(p);
        const auto layers_of = [&]<typename T>(T* data, const view_shape& s, std::int64_t rows, std::int64_t cols) {
            return layers<T>{data, rows, cols, s.row_stride, s.plane_stride, s.planes, s.channels};
        };
        auto table = layers_of(static_cast<Sum*>(memory.table), p.table, p.table.rows, p.table.cols);
        if (p.form.border() != 0) {
            const std::int64_t entries = std::max(p.table.rows, p.table.cols);
            launch(clear_border_kernel<Sum>,
                   {.grid = dim3(static_cast<unsigned>(ceil_div(entries, 256)), static_cast<unsigned>(core.layers)),
                    .block = 256},
                   stream, table);
            table.data =
                reinterpret_cast<Sum*>(reinterpret_cast<char*>(table.data) + p.table.row_stride) + p.table.channels;
        }
        if (core.empty()) return;
        table.rows = core.rows;
        table.cols = core.cols;
        f.template operator()<Pixel, Sum>(
            layers_of(static_cast<const Pixel*>(memory.image), p.image, core.rows, core.cols), table);
    });
}

/// What every inclusive algorithm asks of a problem: compiled types, no squares, and extents that fit a grid.
inline support supports_inclusive(const problem& p) {
    if (p.squares) return {false, "it computes no squares"};
    if (!contains(cuda_type_pairs{}, p.types()))
        return {false, "type pair " + name_of(p.types()) + " was not compiled (BOXSUM_TYPES)"};
    if (core_of(p).layers > 65535)
        return {false, "planes x channels is " + std::to_string(core_of(p).layers) + ", must be at most 65535"};
    for (const std::int64_t extent : {p.image.rows, p.image.cols})
        if (extent > std::numeric_limits<std::int32_t>::max())
            return {false, "an extent is " + std::to_string(extent) + ", must be at most 2^31 - 1"};
    return {};
}

/// Whether a block may have this much shared memory on the current device (or, where there is none, on every one).
inline support supports_shared_memory(std::size_t bytes, std::string_view what) {
    const std::size_t limit = most_shared_bytes();
    if (bytes <= limit) return {};
    return {false, std::string(what) + " needs " + std::to_string((bytes + 1023) / 1024) +
                       " KiB of shared memory a block, the device has " + std::to_string(limit / 1024) + " KiB"};
}

}  // namespace boxsum::cuda
