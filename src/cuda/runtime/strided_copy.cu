// Copies between any strides, by tiles of 32 x 32 pixels, a warp a line. Where memory of both sides runs along the same
// lines, a warp copies its own. Where one side runs across them (a transposed view), the tile turns in shared memory:
//
//      memory of `from`            tile                memory of `to`
//      | | | |                     | | | |  barrier    -----
//      v v v v   columns, a warp each    -->    lines, -----
//                                                a warp each
//
// An element is a word of its width, whatever its type.

#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/strided_copy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace boxsum::cuda {
namespace {

constexpr int tile_side = 32;
constexpr int tile_pitch = tile_side + 1;  // lines and columns lie in different banks
constexpr int most_channels = 4;
constexpr int warps = 8;
constexpr int warp_lines = tile_side / warps;
constexpr std::int64_t most_blocks = 2048;  // more than are resident anywhere; a block goes on with further tiles

/// In bytes.
struct strides {
    std::int64_t plane, line, step;
};

/// Lines are those of `to`: rows, or columns where it is transposed. Steps go along them.
struct copy_task {
    const std::byte* from;
    std::byte* to;
    strides from_strides, to_strides;
    std::int64_t lines, steps;
    std::int64_t tiles_along, tiles_of_plane, tiles;
    int channels;
};

template <typename Word>
__device__ Word* word_at(std::byte* data, const strides& s, std::int64_t plane, std::int64_t line, std::int64_t step) {
    return reinterpret_cast<Word*>(data + plane * s.plane + line * s.line + step * s.step);
}
template <typename Word>
__device__ const Word* word_at(const std::byte* data, const strides& s, std::int64_t plane, std::int64_t line,
                               std::int64_t step) {
    return reinterpret_cast<const Word*>(data + plane * s.plane + line * s.line + step * s.step);
}

/// A warp has every eighth line of the tile.
template <typename Word>
__device__ void copy_straight(const copy_task& t, std::int64_t plane, std::int64_t first_line,
                              std::int64_t first_step) {
    const std::int64_t line = first_line + threadIdx.x / tile_side, step = first_step + threadIdx.x % tile_side;
    if (step >= t.steps) return;
    for (int channel = 0; channel < t.channels; ++channel) {
        Word held[warp_lines] = {};
#pragma unroll
        for (int i = 0; i < warp_lines; ++i)
            if (line + i * warps < t.lines)
                held[i] = word_at<Word>(t.from, t.from_strides, plane, line + i * warps, step)[channel];
#pragma unroll
        for (int i = 0; i < warp_lines; ++i)
            if (line + i * warps < t.lines)
                word_at<Word>(t.to, t.to_strides, plane, line + i * warps, step)[channel] = held[i];
    }
}

/// A warp has every eighth column of the tile, then every eighth line.
template <typename Word>
__device__ void copy_turned(const copy_task& t, std::int64_t plane, std::int64_t first_line, std::int64_t first_step) {
    __shared__ Word s_tile[most_channels * tile_side * tile_pitch];  // channel, step, line
    const int lane = threadIdx.x % tile_side, warp = threadIdx.x / tile_side;
    for (int channel = 0; channel < t.channels; ++channel)
#pragma unroll
        for (int i = warp; i < tile_side; i += warps)
            if (first_line + lane < t.lines && first_step + i < t.steps)
                s_tile[(channel * tile_side + i) * tile_pitch + lane] =
                    word_at<Word>(t.from, t.from_strides, plane, first_line + lane, first_step + i)[channel];
    __syncthreads();  // the whole tile, before other warps read it
    for (int channel = 0; channel < t.channels; ++channel)
#pragma unroll
        for (int i = warp; i < tile_side; i += warps)
            if (first_line + i < t.lines && first_step + lane < t.steps)
                word_at<Word>(t.to, t.to_strides, plane, first_line + i, first_step + lane)[channel] =
                    s_tile[(channel * tile_side + lane) * tile_pitch + i];
    __syncthreads();  // all of it was read, before the next tile takes its place
}

template <typename Word, bool turned>
__global__ void __launch_bounds__(warps* tile_side) copy_tiles_kernel(copy_task t) {
    for (std::int64_t tile = blockIdx.x; tile < t.tiles; tile += gridDim.x) {
        const std::int64_t plane = tile / t.tiles_of_plane, within = tile % t.tiles_of_plane;
        const std::int64_t line = within / t.tiles_along * tile_side, step = within % t.tiles_along * tile_side;
        if constexpr (turned)
            copy_turned<Word>(t, plane, line, step);
        else
            copy_straight<Word>(t, plane, line, step);
    }
}

/// Whether neighbours in memory are neighbours across the lines.
bool runs_across(const strides& s) {
    return s.line != 0 && (s.step == 0 || std::abs(s.line) < std::abs(s.step));
}

template <typename Word>
void enqueue(const copy_task& task, bool turned, stream_ref stream) {
    const launch_shape shape{.grid = static_cast<unsigned>(std::min(task.tiles, most_blocks)),
                             .block = warps * tile_side};
    if (turned)
        launch(copy_tiles_kernel<Word, true>, shape, stream, task);
    else
        launch(copy_tiles_kernel<Word, false>, shape, stream, task);
}

}  // namespace

element_strides strides_of(const view_shape& s) noexcept {
    return {s.planes == 1 ? 0 : s.plane_stride, s.rows == 1 ? 0 : s.row_stride, s.cols == 1 ? 0 : s.pixel_stride()};
}

void enqueue_copy_strided(const view_shape& s, const void* from, const element_strides& from_strides, void* to,
                          const element_strides& to_strides, stream_ref stream) {
    copy_task task{};
    task.from = static_cast<const std::byte*>(from);
    task.to = static_cast<std::byte*>(to);
    task.from_strides = {from_strides.plane, from_strides.row, from_strides.col};
    task.to_strides = {to_strides.plane, to_strides.row, to_strides.col};
    task.lines = s.rows;
    task.steps = s.cols;
    task.channels = static_cast<int>(s.channels);
    if (runs_across(task.to_strides)) {
        std::swap(task.lines, task.steps);
        std::swap(task.from_strides.line, task.from_strides.step);
        std::swap(task.to_strides.line, task.to_strides.step);
    }
    const auto tiles = [](std::int64_t extent) { return (extent + tile_side - 1) / tile_side; };
    task.tiles_along = tiles(task.steps);
    task.tiles_of_plane = task.tiles_along * tiles(task.lines);
    task.tiles = task.tiles_of_plane * s.planes;
    const bool turned = runs_across(task.from_strides);
    switch (size_of(s.type)) {
        case 1:
            return enqueue<std::uint8_t>(task, turned, stream);
        case 2:
            return enqueue<std::uint16_t>(task, turned, stream);
        case 4:
            return enqueue<std::uint32_t>(task, turned, stream);
        default:
            return enqueue<std::uint64_t>(task, turned, stream);
    }
}

}  // namespace boxsum::cuda
