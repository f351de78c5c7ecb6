#pragma once

#include "core/visit_types.hpp"
#include "filters/non_local_call.hpp"

#include <boxsum/cuda/stream.hpp>
#include <boxsum/view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

/// What non-local means ask of the device. The image goes into the workspace first, a plane at a time: continued as the
/// border says, each channel by itself. Kernels know neither borders nor strides then.
namespace boxsum::cuda {

/// Four extents of a window, as kernels take them.
struct window_reach {
    int above = 0, below = 0, left = 0, right = 0;

    constexpr window_reach() = default;
    explicit constexpr window_reach(const window& w)
        : above(static_cast<int>(w.above)),
          below(static_cast<int>(w.below)),
          left(static_cast<int>(w.left)),
          right(static_cast<int>(w.right)) {}

    constexpr int rows() const noexcept { return above + below + 1; }
    constexpr int cols() const noexcept { return left + right + 1; }
};

/// Some pixels of an image, ends excluded.
struct pixel_area {
    std::int64_t first_row = 0, end_row = 0, first_col = 0, end_col = 0;

    constexpr bool empty() const noexcept { return first_row >= end_row || first_col >= end_col; }
};

/// Non-local means of one plane.
struct non_local_task {
    dtype held = dtype::u8;  ///< what the pixels are kept in
    const void* pixels = nullptr;
    std::int64_t held_rows = 0, held_cols = 0;  ///< of a channel
    std::int64_t pitch = 0;                     ///< elements from a row to the next, a multiple of 128 bytes
    std::int64_t above = 0, left = 0;           ///< pixels that are held before the image's first one
    std::int64_t rows = 0, cols = 0;
    int channels = 1;
    bool shrinks = false;  ///< nothing is beyond the image
    window_reach search, patch;
    double scale = 1, noise = 0;  ///< 1 / strength^2; twice the noise's variance
    double half = 0.5;            ///< what integers get before they are cut off
    int together = 14;            ///< weights of a column of the window that are added up in single precision
    pixel_area area;              ///< the pixels that the kernel for bytes computes
    any_view result;              ///< the plane, any strides
};

/// The task of every plane of a job, without memory.
non_local_task make_non_local_task(const filters::non_local_job& job, const view_shape& image);
std::size_t held_bytes(const non_local_task& task);

/// Fills task.pixels, held_bytes() bytes, from one plane of an image of any strides.
void enqueue_held_pixels(const non_local_task& task, const const_any_view& plane, const filters::non_local_job& job,
                         stream_ref stream);
/// Any task, in up to four areas.
void enqueue_non_local_means(const non_local_task& task, std::span<const pixel_area> areas, stream_ref stream);

/// The pixels of a lane of the kernel for bytes.
constexpr int byte_rows_of(int channels) {
    return channels == 1 ? 8 : 4;
}
/// Whether enqueue_byte_patches() takes a task but for its borders: one or three channels of bytes, patches of 3, 5 or
/// 7 rows of as many words as it has for them, and windows that fit `shared_bytes` of a block.
bool byte_patches_support(const non_local_task& task, std::size_t shared_bytes);
/// Of those, task.area, whose windows and patches are all held.
void enqueue_byte_patches(const non_local_task& task, stream_ref stream);

// ---- where pixels may not count (non_local_samples.cu)
// ----------------------------------------------------------------

/// The same of one plane. Pixels that do not count, and those that there are not, are held as 0. Behind the channels
/// lies what counts: 255 in bytes, or weights in 32f.
struct sampled_patches : non_local_task {
    bool weighted = false;
    const void* weights = nullptr;  ///< as the pixels of a channel; not of the kernel for bytes
    double least = 0;               ///< what patches must share
    double fill = 0;
    any_view count;  ///< the plane, any strides; without data not wanted
};

/// Of every plane of a call, without memory, where a block has `shared_bytes`.
sampled_patches make_sampled_patches(const filters::non_local_call& call, const view_shape& image,
                                     std::size_t shared_bytes);
std::size_t sampled_bytes(const sampled_patches& patches);

/// One plane of the inputs, and where its results go: any strides. `held`: sampled_bytes() bytes.
void enqueue_sampled_patches(sampled_patches patches, const filters::non_local_call& call,
                             const non_local_inputs& plane, const filter_outputs& to, void* held, stream_ref stream);

/// As byte_patches_support(), of pixels that may not count.
bool masked_bytes_support(const non_local_task& task, std::size_t shared_bytes);
void enqueue_masked_bytes(const sampled_patches& patches, stream_ref stream);

}  // namespace boxsum::cuda
