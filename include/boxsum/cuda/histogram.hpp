#pragma once

#include <boxsum/algorithms.hpp>
#include <boxsum/binning.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/export.hpp>
#include <boxsum/histogram_table.hpp>
#include <boxsum/integral_histogram.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// Extents and strides of histograms as `histogram_table` lays them out in device memory: rows on 256-byte boundaries.
/// Throws invalid_argument, naming the extents, for those below 1 and for sizes that do not fit 63 bits.
histogram_shape device_histogram_shape(dtype type, std::int64_t bins, std::int64_t image_rows, std::int64_t image_cols,
                                       table_form form = {}, std::int64_t planes = 1);

/// Owns integral histograms in device memory: the sibling of boxsum::histogram_table. Contents are undefined.
///
///     boxsum::cuda::histogram_table<std::uint32_t> histograms(32, frame_rows, frame_cols, stream);
template <typename T>
class histogram_table {
  public:
    histogram_table() = default;

    /// For images of image_rows x image_cols pixels. Throws invalid_argument for extents below 1, more than 1024 bins
    /// or sizes beyond 64 bits; out_of_memory, unsupported without CUDA.
    histogram_table(std::int64_t bins, std::int64_t image_rows, std::int64_t image_cols, stream_ref stream,
                    table_form form = {}, std::int64_t planes = 1, const allocator& from = {})
        : shape_(device_histogram_shape(dtype_of<T>, bins, image_rows, image_cols, form, planes)),
          buffer_(static_cast<std::size_t>(shape_.entries.planes * shape_.entries.plane_stride), stream, from) {}

    histogram_view<T> view() const noexcept {
        const tensor_shape& s = shape_.entries;
        return {{static_cast<T*>(buffer_.data()), s.bins, s.rows, s.cols, s.row_stride, s.bin_stride, s.planes,
                 s.plane_stride},
                shape_.form};
    }
    operator histogram_view<T>() const noexcept { return view(); }         // NOLINT: the table as its view
    operator any_histogram_view() const noexcept { return view(); }        // NOLINT
    operator const_any_histogram_view() const noexcept { return view(); }  // NOLINT

    const histogram_shape& shape() const noexcept { return shape_; }
    const table_form& form() const noexcept { return shape_.form; }
    table_layout layout() const noexcept { return shape_.form.layout; }

  private:
    histogram_shape shape_;
    device_buffer buffer_;
};

/// Computes integral histograms of one shape on the device that is current when the plan is made. Immutable: any number
/// of threads and streams may run one plan, each with its own workspace.
///
///     boxsum::cuda::histogram_plan plan({d_image}, bins, {d_histograms});
///     boxsum::cuda::workspace workspace(plan.workspace_bytes(), stream);
///     plan.run_async({d_image}, {d_histograms}, workspace, stream);   // as often as wanted
class histogram_plan {
  public:
    /// `options` as for integral_histogram(); threads and store do not matter here. A look-up table is copied to the
    /// device. Throws invalid_argument for shapes that do not fit each other or the binning, unsupported for types, an
    /// algorithm or a device that cannot do it, out_of_memory.
    histogram_plan(const histogram_shapes& shapes, const binning& bins, const histogram_options& options = {});

    /// For calls with the shapes of these views, whose memory is not touched.
    histogram_plan(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs,
                   const histogram_options& options = {})
        : histogram_plan(shapes_of(inputs, outputs), bins, options) {}

    /// Bytes of workspace that a run needs; a larger workspace will do.
    std::size_t workspace_bytes() const noexcept;

    /// As sat_plan::packed_bytes().
    std::size_t packed_bytes() const noexcept;

    /// The algorithm that was chosen.
    const algorithm_info& algorithm() const noexcept;

    int device() const noexcept;

    /// Enqueues the computation on `stream`, which is the workspace's. Neither allocates nor synchronises, so it can be
    /// captured into a CUDA graph and replayed. The views have the shapes that the plan was made for, on memory that
    /// its device can reach; the plan outlives the run. Throws invalid_argument, naming argument and values: a shape or
    /// form of another plan, weights missing or not planned, a host pointer, overlapping memory, a workspace as
    /// sat_plan::run_async() refuses it. Errors of the kernels surface at the next checked call.
    void run_async(const histogram_inputs& inputs, const histogram_outputs& outputs, workspace& workspace,
                   stream_ref stream) const;

  private:
    friend void integral_histogram_async(const histogram_inputs& inputs, const binning& bins,
                                         const histogram_outputs& outputs, workspace& workspace, stream_ref stream,
                                         const histogram_options& options);
    struct state;
    explicit histogram_plan(std::shared_ptr<const state> made) noexcept;
    std::shared_ptr<const state> state_;
};

/// Enqueues integral histograms of device images on the workspace's device, whose workspace grows as needed: makes the
/// plan (of a look-up table that waits for a copy) and runs it. Throws what the plan throws, and out_of_memory.
void integral_histogram_async(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs,
                              workspace& workspace, stream_ref stream, const histogram_options& options = {});

/// Computes integral histograms on the device of `stream` and waits. Inputs and outputs each lie in device or host
/// memory; the pointers say which. What lies on the host is copied; histograms on the host are computed in groups of
/// bins, as many at a time as device memory has room for, and where it has none for one bin and its image in strips of
/// columns, so both may be larger than that. Sums of weights are then added strip by strip.
/// Throws what histogram_plan throws; out_of_memory where not even a strip fits.
void integral_histogram(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs,
                        stream_ref stream, const histogram_options& options = {});

}  // namespace cuda
}  // namespace boxsum
