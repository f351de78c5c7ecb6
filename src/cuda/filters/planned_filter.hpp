#pragma once

#include "cuda/filters/device_tables.hpp"
#include "cuda/filters/fused_windows.hpp"
#include "cuda/filters/real_windows.hpp"
#include "cuda/filters/window_kernels.hpp"
#include "cuda/runtime/packed_copies.hpp"
#include "filters/window_job.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <optional>

namespace boxsum::cuda {

/// Views of a filter's results: the mean or a filter's one result, variance, deviation, sum, count. Those without data
/// are not wanted.
using result_views = std::array<any_view, 5>;

/// What a filter sees of a plane: the windows of some rows, and views of the plane on the device, named from row 0 of
/// the whole image.
struct filter_step {
    window_task task;  ///< without tables where the filter needs none
    fused_task fused;
    real_windows real;
    result_views results;
    const_any_view radius;      ///< null data without a radius map
    window_extremes* extremes;  ///< null without
    stream_ref stream;
};

/// What makes the windows of a filter.
enum class window_maker : std::uint8_t {
    tables,
    fused,  ///< fused_windows.hpp
    real,   ///< real_windows.hpp
    tiles,  ///< radius_tiles.hpp: of radii alone
};

/// A filter, checked: everything but memory.
struct window_filter {
    filters::window_job windows;
    bool squares = false;
    bool extremes = false;  ///< the plane's are wanted before `consume`
    window_maker maker = window_maker::tables;
    std::function<void(const filter_step&)> consume;
};

/// Memory of one call.
struct filter_memory {
    const_any_view image;
    result_views results = {};
    const_any_view radius = {};  ///< null data without a map
    const_any_view mask = {}, weights = {};
    const char* first_result = "result";  ///< what errors call the first of the results
};

/// Rows first .. end - 1 of one plane, as a view of one plane.
template <typename View>
View rows_of(const View& v, std::int64_t plane, std::int64_t first, std::int64_t end) {
    using byte = std::conditional_t<std::is_same_v<View, const_any_view>, const std::byte, std::byte>;
    View part = v;
    part.data = static_cast<byte*>(v.data) + plane * v.shape.plane_stride + first * v.shape.row_stride;
    part.shape.planes = 1;
    part.shape.plane_stride = 0;
    part.shape.rows = end - first;
    return part;
}

/// One plane of a call's results and radii; a map of one plane serves all of the image's.
filter_memory plane_of(const filter_memory& memory, std::int64_t plane);

/// The windows of a filter without tables around rows first_row .. end_row - 1; `part` is rows part_row .. of a plane.
window_task tableless_task(const filters::window_job& job, const const_any_view& part, std::int64_t part_row,
                           std::int64_t first_row, std::int64_t end_row);

/// Enqueues what a filter makes of the windows of a task, of one plane's results and radii, and its mask and weights,
/// all of them whole. `scratch` is that of windows without tables.
void enqueue_step(const window_filter& filter, const window_task& task, const filter_memory& plane, void* scratch,
                  window_extremes* extremes, stream_ref stream);

/// What windows without tables of some rows need.
std::size_t tableless_scratch_bytes(const window_filter& filter, std::int64_t first_row, std::int64_t end_row);

/// What kernels of a filter cannot take as it is, they get as copies without gaps.
class filter_copies {
  public:
    /// Of the views' shapes, which become those of the copies; a view without rows is none.
    explicit filter_copies(filter_memory& views);

    /// Bytes of all copies, a multiple of 256; 0 where there are none.
    std::size_t bytes() const noexcept { return bytes_; }

    /// Enqueues the copies of what is read, into bytes() bytes at `space`: the views as kernels see them.
    filter_memory pack(const filter_memory& given, void* space, stream_ref stream) const;
    /// Enqueues the copies of results to where they belong.
    void unpack(const filter_memory& given, void* space, stream_ref stream) const;

  private:
    packed_copy image_, radius_, mask_, weights_;
    std::array<packed_copy, std::tuple_size_v<result_views>> results_;
    std::size_t bytes_ = 0;
};

/// A filter of images in device memory and its tables, planned for the device that is current. Immutable.
class planned_filter {
  public:
    /// For the shapes of these views, whose memory is not touched; one without rows is none.
    planned_filter(window_filter filter, filter_memory views);

    int device() const noexcept { return device_; }
    std::size_t table_workspace_bytes() const noexcept { return tables_ ? tables_->workspace_bytes() : 0; }
    /// For tables, extremes and copies, whatever they hold; from a multiple of 256 bytes on.
    std::size_t scratch_bytes() const noexcept { return copies_at_ + copies_.bytes(); }
    std::size_t packed_bytes() const noexcept { return copies_.bytes(); }

    /// Of a workspace for all of it.
    std::size_t workspace_bytes() const noexcept { return table_part_ + scratch_bytes(); }

    /// Enqueues it on checked memory, tables' scratch in memory of its own.
    void enqueue(const filter_memory& memory, void* scratch, const workspace_use& workspace,
                 std::size_t workspace_bytes, stream_ref stream) const;

    /// Enqueues it in a workspace for all of it, which is left as other plans want it: zero behind what tables tagged.
    void enqueue(const filter_memory& memory, workspace& workspace, stream_ref stream) const;

  private:
    window_filter filter_;
    int device_;
    filter_copies copies_;
    std::optional<table_plan> tables_;  ///< where the filter wants some
    std::size_t table_part_, window_bytes_, copies_at_;
};

}  // namespace boxsum::cuda
