#pragma once

#include <boxsum/blobs.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/export.hpp>

#include <cstddef>
#include <memory>
#include <vector>

/// blobs.hpp on a GPU: its definition, and of images of integers its bits. Sums of floats are those of a 64f table that
/// is added up in another order than the CPU's, the same one at every call. Views have any strides, without copies;
/// `threads` has no effect.
namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// box_hessian() of one shape on the device that is current when the plan is made; what filter_plan says of plans holds
/// for it.
///
///     boxsum::cuda::box_hessian_plan plan({d_image}, {d_determinant}, {.sigma = 4});
///     boxsum::cuda::workspace workspace(plan.workspace_bytes(), stream);
///     plan.run_async({d_image}, {d_determinant}, workspace, stream);   // as often as wanted
class box_hessian_plan {
  public:
    /// Throws invalid_argument and unsupported for shapes and options as box_hessian() does.
    box_hessian_plan(const blob_inputs& inputs, const hessian_outputs& outputs, const hessian_options& options = {});

    /// 8 bytes a pixel of one plane.
    std::size_t workspace_bytes() const noexcept;

    int device() const noexcept;

    /// Enqueues it, as filter_plan has it: neither allocates nor waits, and can be captured into a CUDA graph.
    void run_async(const blob_inputs& inputs, const hessian_outputs& outputs, workspace& workspace,
                   stream_ref stream) const;

  private:
    struct state;
    std::shared_ptr<const state> state_;
};

/// Makes such a plan, grows the workspace and enqueues.
void box_hessian_async(const blob_inputs& inputs, const hessian_outputs& outputs, workspace& workspace,
                       stream_ref stream, const hessian_options& options = {});

/// Waits; in host memory too.
void box_hessian(const blob_inputs& inputs, const hessian_outputs& outputs, stream_ref stream,
                 const hessian_options& options = {});

/// find_blobs() of an image in device memory, or in host memory: determinants and their maxima are found on the device,
/// which of them are blobs on the host. Waits. The workspace grows as needed: to 32 bytes a pixel, and a sixteenth of
/// it for maxima, more where there are more.
std::vector<blob> find_blobs(const blob_inputs& inputs, workspace& workspace, stream_ref stream,
                             const blob_options& options = {});

/// The same in a workspace of its own.
std::vector<blob> find_blobs(const blob_inputs& inputs, stream_ref stream, const blob_options& options = {});

}  // namespace cuda
}  // namespace boxsum
