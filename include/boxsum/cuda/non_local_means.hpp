#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/export.hpp>
#include <boxsum/non_local_means.hpp>

#include <cstddef>
#include <memory>

/// non_local_means.hpp on a GPU: its definition, types, windows, patches and borders.
///
/// - Image and result lie both in device memory or, for the call that waits, both in host memory; the pointers say
///   which. Strides: any, without copies.
/// - Accuracy: D is an exact sum for 8u and 16u. Weights of these are in single precision, within 2^-21 (1 + D /
///   strength^2) of their values, and so is the sum of up to 28 of them; a result is within 2^-17 of the largest pixel
///   in its search window before it is rounded. Of 32f and 64f all is in double, and within 2^-40 of the largest
///   magnitude there. Those are the CPU's bounds; its bits are others. What is not finite acts as there.
/// - Mask, weights, NaN, nodata and counts as on the CPU, and with its bounds.
/// - Results have the same bits from run to run; pixels that see the same, the same bits.
/// - Images of 8u with one channel or three, patches of 5 or 7 rows of 5 to 8 pixels or of 3 rows of up to 4, and
///   search windows of up to some 80 x 80 pixels (three channels: 45 x 45; less where a block has less shared memory
///   than on Hopper) have a kernel of their own, several times as fast as the one for everything else; so have they
///   where pixels may not count, without weights (up to some 75 x 75; 40 x 40).
/// - `threads` has no effect.
/// - Device memory: one plane, in 8 bytes a sample if it is floating, each side as much larger as windows and patches
///   reach beyond the image. Where pixels may not count it is as much larger with `shrink`, too, and has 8 bytes a
///   sample, whatever the type (for the kernel of 8u one), and beside them one a pixel, or 4 with weights.
/// Throws as non_local_means() does, and: invalid_argument for a mixture of host and device memory or memory of another
/// device, out_of_memory, unsupported without a device.
namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// For calls of one pair of shapes (strides too), on the device that is current when it is made; the memory of the
/// views is not touched then, and may be null. Immutable: any number of threads and streams may run one, each with its
/// own workspace.
///
///     boxsum::cuda::non_local_means_plan plan({d_noisy}, {d_clean}, {.strength = 10, .noise = 8}, {.window = 21});
///     boxsum::cuda::workspace workspace(plan.workspace_bytes(), stream);
///     plan.run_async({d_noisy}, {d_clean}, workspace, stream);
class non_local_means_plan {
  public:
    non_local_means_plan(const non_local_inputs& inputs, const filter_outputs& outputs, const non_local_rule& rule = {},
                         const filter_options& options = {});

    std::size_t workspace_bytes() const noexcept;
    int device() const noexcept;

    /// Neither allocates nor synchronises, and can be captured into a graph. Throws invalid_argument, naming argument
    /// and values, for shapes of another plan, host memory, overlapping memory, and a workspace as
    /// sat_plan::run_async() refuses it.
    void run_async(const non_local_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                   stream_ref stream) const;

  private:
    struct state;
    std::shared_ptr<const state> state_;
};

/// Makes such a plan, lets the workspace grow, and runs it, on the workspace's device (that of `stream`, while it has
/// none).
void non_local_means_async(const non_local_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                           stream_ref stream, const non_local_rule& rule = {}, const filter_options& options = {});

/// The same on the device of `stream`, in host memory, too, and waits.
void non_local_means(const non_local_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                     const non_local_rule& rule = {}, const filter_options& options = {});

}  // namespace cuda
}  // namespace boxsum
