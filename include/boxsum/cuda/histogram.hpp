#pragma once

#include <boxsum/algorithms.hpp>
#include <boxsum/binning.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/export.hpp>
#include <boxsum/integral_histogram.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace boxsum BOXSUM_EXPORT {

/// What a plan is made for: everything of a call but its memory and its binning.
struct histogram_description {
    view_shape image;
    tensor_shape tensor;
    std::optional<view_shape> weights = {};
};

/// From the views of the first call; their memory is not touched.
histogram_description describe(const const_any_view& image, const any_tensor_view& tensor);
histogram_description describe(const const_any_view& image, const const_any_view& weights,
                               const any_tensor_view& tensor);

namespace cuda {

/// Extents and strides of a tensor as `device_tensor` lays it out: rows on 256-byte boundaries. `rows` and `cols` are
/// those of the tables. Throws invalid_argument, naming the extents, for sizes that do not fit 63 bits.
tensor_shape device_tensor_shape(dtype type, std::int64_t bins, std::int64_t rows, std::int64_t cols,
                                 std::int64_t planes = 1);

/// Owns integral histograms in device memory. Contents are undefined.
///
///     boxsum::cuda::device_tensor<std::uint32_t> tensor(32, frame_rows, frame_cols, stream);
template <typename T>
class device_tensor {
  public:
    device_tensor() = default;

    /// For images of image_rows x image_cols. Throws invalid_argument, out_of_memory, unsupported without CUDA.
    device_tensor(std::int64_t bins, std::int64_t image_rows, std::int64_t image_cols, stream_ref stream,
                  table_layout layout = table_layout::inclusive, std::int64_t planes = 1)
        : shape_(device_tensor_shape(dtype_of<T>, bins, table_rows(image_rows, layout), table_cols(image_cols, layout),
                                     planes)),
          layout_(layout),
          buffer_(static_cast<std::size_t>(shape_.planes * shape_.plane_stride), stream) {}

    tensor_view<T> view() const noexcept {
        return {static_cast<T*>(buffer_.data()),
                shape_.bins,
                shape_.rows,
                shape_.cols,
                shape_.row_stride,
                shape_.bin_stride,
                shape_.planes,
                shape_.plane_stride};
    }
    table_layout layout() const noexcept { return layout_; }

  private:
    tensor_shape shape_;
    table_layout layout_ = table_layout::inclusive;
    device_buffer buffer_;
};

/// Computes integral histograms of one shape on the device that is current when the plan is made. Immutable: any number
/// of threads and streams may run one plan, each with its own workspace.
///
///     boxsum::cuda::histogram_plan plan{boxsum::describe(d_image, d_tensor), boxsum::binning::uniform(32, 0, 256)};
///     boxsum::cuda::workspace workspace{plan.workspace_bytes(), stream};
///     plan.run_async(d_image, d_tensor, workspace, stream);   // as often as wanted
class histogram_plan {
  public:
    /// `options` as for integral_histogram(); threads and store do not matter here. A look-up table is copied to the
    /// device. Throws invalid_argument for shapes that do not fit each other or the binning, unsupported for types, an
    /// algorithm or a device that cannot do it, out_of_memory.
    histogram_plan(const histogram_description& what, const binning& bins, const histogram_options& options = {});

    /// Bytes of device memory that a run needs; a larger workspace does too.
    std::size_t workspace_bytes() const noexcept;

    /// The algorithm that was chosen.
    const algorithm_info& algorithm() const noexcept;

    int device() const noexcept;

    /// Enqueues the computation. Neither allocates nor synchronises, so it can be captured into a CUDA graph and
    /// replayed. The views have the shapes that the plan was made for, on memory that its device can reach; the plan
    /// outlives the run.
    /// Throws invalid_argument, naming argument and values: a shape of another plan, weights missing or not planned, a
    /// host pointer, overlapping memory, a workspace as sat_plan::run_async() refuses it. Errors of the kernels surface
    /// at the next checked call.
    void run_async(const const_any_view& image, const any_tensor_view& tensor, workspace& workspace,
                   stream_ref stream) const;
    void run_async(const const_any_view& image, const const_any_view& weights, const any_tensor_view& tensor,
                   workspace& workspace, stream_ref stream) const;

  private:
    struct state;
    std::shared_ptr<const state> state_;
};

/// Computes integral histograms on the device of `stream` and waits. Image, weights and tensor each lie in device or
/// host memory; the pointers say which. What lies on the host is copied; a host tensor is computed in groups of bins,
/// as many at a time as device memory has room for, so it may be larger than that.
/// Throws what histogram_plan throws; out_of_memory where not even one bin fits.
void integral_histogram(const const_any_view& image, const binning& bins, const any_tensor_view& tensor,
                        const histogram_options& options, stream_ref stream);
void integral_histogram(const const_any_view& image, const const_any_view& weights, const binning& bins,
                        const any_tensor_view& tensor, const histogram_options& options, stream_ref stream);

}  // namespace cuda
}  // namespace boxsum
