#pragma once

#include <boxsum/convolve.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/export.hpp>

#include <cstddef>
#include <memory>

/// convolve.hpp on a GPU.
///
/// | algorithm | what |
/// |---|---|
/// | systolic | ours, up to 25 weights in 8 rows and 16 columns: two columns a lane, sums move from lane to lane |
/// | tiled | ours, all kernels: tiles of results in registers over pixels in shared memory |
/// | ssam | the paper's: a column a lane, images of 32f and 64f, kernels of 2 x 2 to 20 x 20 |
/// | direct | a thread a pixel |
///
/// - Image and result in device memory, of the stream's device (a plan's: of the one that was current when it was
/// made); weights are read from host memory when a plan is made.
/// - Images of 8u, 16u and 32f with results of 32f, images of 64f with results of 64f; others are unsupported.
/// - Any strides: what is not plain (pixels side by side, rows and planes in the order of addresses) is copied in the
/// workspace.
/// - `threads` has no effect. Each algorithm adds in an order of its own; the bits do not depend on timing.
/// - `tiled` adds a part of up to 8 rows of weights before the next one, and of these 4 columns (64f: 2) before the
///   next. Parts may share rows, with weights of zero in one, so where a window holds an infinity the result may be
///   NaN.
/// Throws as convolve() does, and: unsupported without a device, and for more than 65535 planes times channels.
namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// For calls of one kernel and one pair of shapes (strides too); the memory of the views is not touched when it is
/// made, and may be null. Keeps the weights on the device. Immutable: any number of threads and streams may run one.
///
///     boxsum::cuda::convolve_plan plan({d_image, {weights, 5, 5}}, {d_result});
///     boxsum::cuda::workspace workspace(plan.workspace_bytes(), stream);
///     plan.run_async({d_image}, {d_result}, workspace, stream);
class convolve_plan {
  public:
    convolve_plan(const convolve_inputs& inputs, const convolve_outputs& outputs, const convolve_options& options = {});

    std::size_t workspace_bytes() const noexcept;
    /// Bytes of the workspace that are copies without gaps: all of it; 0: none.
    std::size_t packed_bytes() const noexcept;
    int device() const noexcept;

    /// Weights are the plan's: `inputs.kernel` is not read. Neither allocates nor synchronises, and can be captured
    /// into a graph. Throws invalid_argument, naming argument and values, for shapes of another plan, host memory,
    /// overlapping memory, and a workspace as sat_plan::run_async() refuses it. The plan must outlive the work.
    void run_async(const convolve_inputs& inputs, const convolve_outputs& outputs, workspace& workspace,
                   stream_ref stream) const;

  private:
    struct state;
    std::shared_ptr<const state> state_;
};

/// Enqueues a convolution on the workspace's device (that of `stream`, while it has none). The workspace keeps weights
/// and copies meanwhile and grows as needed; so this may allocate, and its stream must not be captured. Weights have
/// been read when it returns.
void convolve_async(const convolve_inputs& inputs, const convolve_outputs& outputs, workspace& workspace,
                    stream_ref stream, const convolve_options& options = {});

/// The same on the device of `stream`, and waits.
void convolve(const convolve_inputs& inputs, const convolve_outputs& outputs, stream_ref stream,
              const convolve_options& options = {});

}  // namespace cuda
}  // namespace boxsum
