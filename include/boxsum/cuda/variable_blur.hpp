#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/export.hpp>
#include <boxsum/variable_blur.hpp>

#include <cstddef>
#include <memory>

/// variable_blur.hpp on a GPU: its definition and its bits. Views have any strides, without copies.
namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// variable_blur() of one shape on the device that is current when the plan is made; what filter_plan says of plans
/// holds for it.
///
///     boxsum::cuda::variable_blur_plan plan({d_image, d_radii, 40}, {d_blurred}, {.order = 2});
///     boxsum::cuda::workspace workspace(plan.workspace_bytes(), stream);
///     plan.run_async({d_image, d_radii, 40}, {d_blurred}, workspace, stream);   // as often as wanted
///
/// The table has rows and columns for `largest_radius`, which must be given unless radii are 8u (255 then). The host
/// does not see the map: a greater radius acts as `largest_radius`, a negative one as 0.
class variable_blur_plan {
  public:
    /// Throws invalid_argument and unsupported for shapes and options as variable_blur() does, and invalid_argument for
    /// a largest_radius that is negative or not given.
    variable_blur_plan(const variable_inputs& inputs, const filter_outputs& outputs,
                       const variable_blur_options& options = {});

    /// 8 bytes a pixel and channel of one plane, and of order * largest_radius beyond its last row and column.
    std::size_t workspace_bytes() const noexcept;

    int device() const noexcept;

    /// Enqueues it, as filter_plan has it: neither allocates nor waits, and can be captured into a CUDA graph.
    void run_async(const variable_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                   stream_ref stream) const;

  private:
    struct state;
    std::shared_ptr<const state> state_;
};

/// Makes such a plan, grows the workspace and enqueues.
void variable_blur_async(const variable_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                         stream_ref stream, const variable_blur_options& options = {});

/// Waits; in host memory too. Finds the largest radius, and throws for radii as variable_blur() on the CPU does.
void variable_blur(const variable_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                   const variable_blur_options& options = {});

/// circles_of_confusion() of views in memory of one device, that of the stream: the same bits. Only enqueues, and can
/// be captured into a graph. Throws what that does; invalid_argument for host or foreign memory, too, and unsupported
/// without a device.
void circles_of_confusion_async(const const_any_view& depth, const any_view& radii, stream_ref stream,
                                const thin_lens& lens);

/// The same, and waits.
void circles_of_confusion(const const_any_view& depth, const any_view& radii, stream_ref stream, const thin_lens& lens);

}  // namespace cuda
}  // namespace boxsum
