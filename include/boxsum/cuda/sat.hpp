#pragma once

#include <boxsum/algorithms.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/export.hpp>
#include <boxsum/sat_options.hpp>
#include <boxsum/view.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace boxsum BOXSUM_EXPORT {

/// What a plan is made for: everything of a call but its memory.
struct sat_description {
    view_shape image;
    view_shape table;
    std::optional<view_shape> squares = {};
    bool in_place = false;  ///< the table is the image (see sat())
};

/// From the views of the first call; their memory is not touched, only compared.
sat_description describe(const const_any_view& image, const any_view& table);
sat_description describe(const const_any_view& image, const any_view& table, const any_view& squares);

namespace cuda {

/// Device memory that a plan works in: a `device_buffer`, or memory of the caller aligned to 256 bytes.
struct workspace_ref {
    void* data = nullptr;
    std::size_t bytes = 0;

    workspace_ref(void* memory, std::size_t size) : data(memory), bytes(size) {}
    workspace_ref(const device_buffer& buffer) : data(buffer.data()), bytes(buffer.size()) {}  // NOLINT
};

/// Prepares a fresh workspace (zeroes it). Once is enough: afterwards any plans, of any shapes, types and algorithms,
/// may use it on the streams of its device, one call at a time, without clearing in between. Work on two streams at
/// once needs two workspaces. The bytes belong to the library until the workspace is given up, and its start and size
/// must stay what they were here.
void initialize_workspace_async(workspace_ref workspace, stream_ref stream);

/// Computes tables of one shape on the device that is current when the plan is made. Immutable: any number of threads
/// and streams may run one plan, each with its own workspace.
///
///     boxsum::cuda::sat_plan plan{boxsum::describe(d_image, d_table), {.layout = boxsum::table_layout::padded}};
///     boxsum::cuda::device_buffer workspace{plan.workspace_bytes(), stream};
///     boxsum::cuda::initialize_workspace_async(workspace, stream);
///     plan.run_async(d_image, d_table, workspace, stream);   // as often as wanted
class sat_plan {
  public:
    /// `options` as for `sat()`; threads and store do not matter here. Throws invalid_argument for shapes that do not
    /// fit each other, unsupported for types, an algorithm or a device that cannot do it.
    explicit sat_plan(const sat_description& what, const sat_options& options = {});

    /// Bytes of device memory that a run needs; a larger workspace does too.
    std::size_t workspace_bytes() const noexcept;

    /// The algorithm that was chosen.
    const algorithm_info& algorithm() const noexcept;

    int device() const noexcept;

    /// Enqueues the computation. Neither allocates nor synchronises, so it can be captured into a CUDA graph and
    /// replayed. The views have the shapes that the plan was made for, on memory that its device can reach.
    /// Throws invalid_argument, naming argument and values: a shape of another plan, a host pointer, overlapping
    /// memory, a workspace that is too small, misaligned or of another device, a stream of another device.
    /// Errors of the kernels surface at the next checked call.
    void run_async(const const_any_view& image, const any_view& table, workspace_ref workspace,
                   stream_ref stream) const;
    void run_async(const const_any_view& image, const any_view& table, const any_view& squares, workspace_ref workspace,
                   stream_ref stream) const;

  private:
    struct state;
    std::shared_ptr<const state> state_;
};

/// Computes tables of images of different sizes, a pyramid say, in one launch where the algorithm can (as many images
/// as kernel parameters carry, 128 with `fast`, which gives large images launches of their own), else one after the
/// other. All have the same element types and layout.
class sat_list_plan {
  public:
    /// Throws as `sat_plan`, naming the index; invalid_argument for an empty list.
    explicit sat_list_plan(std::span<const sat_description> what, const sat_options& options = {});

    std::size_t workspace_bytes() const noexcept;
    const algorithm_info& algorithm() const noexcept;
    int device() const noexcept;

    /// Whether the algorithm takes the list as one.
    bool together() const noexcept;

    /// As `sat_plan::run_async`; entry i of each span belongs to description i. `squares` is empty, or as long as the
    /// others. No table may overlap another image or table of the list.
    void run_async(std::span<const const_any_view> images, std::span<const any_view> tables,
                   std::span<const any_view> squares, workspace_ref workspace, stream_ref stream) const;

  private:
    struct state;
    std::shared_ptr<const state> state_;
};

/// Computes one table of a device image and waits for it: plan, stream-ordered workspace, run. For anything repeated a
/// plan is better. Throws what `sat_plan` throws, and out_of_memory; the device stays usable.
void sat(const const_any_view& image, const any_view& table, const sat_options& options, stream_ref stream);
void sat(const const_any_view& image, const any_view& table, const any_view& squares, const sat_options& options,
         stream_ref stream);

}  // namespace cuda
}  // namespace boxsum
