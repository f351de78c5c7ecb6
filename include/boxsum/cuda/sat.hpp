#pragma once

#include <boxsum/algorithms.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/table.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/export.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/sat_options.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/view.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

/// Summed area tables on a GPU: what sat() computes, of images in device memory. Tables have the form of
/// `sat_outputs`; of the options, threads and store do not matter here. Those with an offset or an origin (see
/// table_form) are made of one image at a time, by the algorithm `outwards`; a plan keeps the form's `offsets`.
namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// Computes tables of one shape on the device that is current when the plan is made. Immutable: any number of threads
/// and streams may run one plan, each with its own workspace.
///
///     boxsum::cuda::sat_plan plan({d_image}, {d_table});
///     boxsum::cuda::workspace workspace(plan.workspace_bytes(), stream);
///     plan.run_async({d_image}, {d_table}, workspace, stream);   // as often as wanted
///
/// Where pixels may not count (sat_inputs::mask and the like, sat_outputs::counts), an image of those that do and one
/// of bytes that say so are made in the workspace, with weights one of 8 bytes a pixel for each table, and then tables
/// of these, one after the other.
class sat_plan {
  public:
    /// Throws invalid_argument for shapes that do not fit each other, unsupported for types, an algorithm or a device
    /// that cannot do it, and for carries or an offset where pixels may not count.
    explicit sat_plan(const sat_shapes& shapes, const sat_options& options = {});

    /// For calls with the shapes of these views, and with their `nan` and `nodata`.
    sat_plan(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options = {});

    /// Bytes of workspace that a run needs; a larger workspace will do.
    std::size_t workspace_bytes() const noexcept;

    /// Bytes of the workspace that are copies without gaps: of views whose strides kernels do not take as they are (any
    /// but those of rows and planes in the order of addresses, with or without gaps between them). 0: nothing is
    /// copied.
    std::size_t packed_bytes() const noexcept;

    /// The algorithm that was chosen; where pixels may not count, for the table of sums.
    const algorithm_info& algorithm() const noexcept;

    int device() const noexcept;

    /// Enqueues the computation on `stream`, which is the workspace's. Neither allocates nor synchronises, so it can be
    /// captured into a CUDA graph and replayed. The inputs and outputs are those that the plan was made for, `nan` and
    /// `nodata` with them, on any memory that its device can reach. Throws invalid_argument, naming argument and
    /// values: a shape of another plan, what one of the two has and the other lacks (a mask, say), a host pointer,
    /// overlapping memory, a workspace that is too small, of another device, on another stream, in use by another
    /// thread or without memory. Where memory lies is asked for once per address and thread, and again after a
    /// device_buffer was freed. Errors of the kernels surface at the next checked call.
    void run_async(const sat_inputs& inputs, const sat_outputs& outputs, workspace& workspace, stream_ref stream) const;

  private:
    friend const class planned_problem& planned(const sat_plan& plan) noexcept;
    struct state;
    std::shared_ptr<const state> state_;
};

/// Computes tables of images of different sizes, a pyramid say, in one launch where the algorithm can (as many images
/// as kernel parameters carry, 128 with `fast`, which gives large images launches of their own), else one after the
/// other. All have the same element types and form, without an offset or an origin, and all their pixels count.
class sat_list_plan {
  public:
    /// Throws as `sat_plan`, naming the index; invalid_argument for an empty list.
    explicit sat_list_plan(std::span<const sat_shapes> shapes, const sat_options& options = {});

    /// For calls with the shapes of these views. Throws invalid_argument for spans of different lengths, too.
    sat_list_plan(std::span<const sat_inputs> inputs, std::span<const sat_outputs> outputs,
                  const sat_options& options = {});

    std::size_t workspace_bytes() const noexcept;
    const algorithm_info& algorithm() const noexcept;
    int device() const noexcept;

    /// Whether the algorithm takes the list as one. It takes no list so in which a view has to be copied (see
    /// sat_plan::packed_bytes()).
    bool together() const noexcept;

    /// As `sat_plan::run_async`; entry i of each span belongs to entry i of the plan's. No table may overlap another
    /// image or table of the list.
    void run_async(std::span<const sat_inputs> inputs, std::span<const sat_outputs> outputs, workspace& workspace,
                   stream_ref stream) const;

  private:
    struct state;
    std::shared_ptr<const state> state_;
};

/// Enqueues the table of a device image on the workspace's device. The plan is made at the first call with these shapes
/// and options, and kept (the last 64 are). The workspace grows as needed, so this may allocate. Throws what `sat_plan`
/// and its run_async throw, and out_of_memory; the device stays usable.
void sat_async(const sat_inputs& inputs, const sat_outputs& outputs, workspace& workspace, stream_ref stream,
               const sat_options& options = {});

/// The same on the device of `stream`, in a workspace of the library's, and waits.
void sat(const sat_inputs& inputs, const sat_outputs& outputs, stream_ref stream, const sat_options& options = {});

/// The mean of each channel of each plane of an image in device memory, plane by plane, in device memory as well: the
/// numbers that boxsum::image_means() finds. One read of the image, at any strides. The workspace grows to
/// image_means_bytes(); one that is as large already is all it takes: nothing is allocated then, and the call can be
/// captured into a graph. Throws invalid_argument for what is wrong with the view, host or foreign memory and a
/// workspace on another stream; unsupported without CUDA. Errors of the kernels surface at the next checked call.
void image_means_async(const const_any_view& image, double* means, workspace& workspace, stream_ref stream);
std::size_t image_means_bytes(const view_shape& image);

/// The same on the device of `stream`, and waits: offsets for table_form::offsets.
///
///     const std::vector<double> means = boxsum::cuda::image_means(d_image, stream);
///     boxsum::cuda::sat({d_image}, {{d_table, {boxsum::table_layout::padded, {}, means[0]}}}, stream);
std::vector<double> image_means(const const_any_view& image, stream_ref stream);

}  // namespace cuda
}  // namespace boxsum
