#pragma once

#include "cuda/filters/device_tables.hpp"
#include "cuda/filters/window_kernels.hpp"
#include "filters/window_job.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

/// How a filter gets from images to results: tables of planes that lie on the device, or of strips of planes that
/// travel there and back.
namespace boxsum::cuda {

/// What a filter sees of a plane: the windows of some rows, and views of the plane on the device, named from row 0 of
/// the whole image.
struct filter_step {
    window_task task;
    std::span<const any_view> results;  ///< as many as the filter has
    const_any_view radius;              ///< null data without a radius map
    window_extremes* extremes;          ///< null without
    stream_ref stream;
};

/// A filter, checked: everything but memory.
struct window_filter {
    filters::window_job windows;
    bool squares = false;
    bool extremes = false;  ///< the plane's are wanted before `consume`
    std::function<void(const filter_step&)> consume;
};

/// The memory of one call, checked but for where it lies.
struct filter_memory {
    const_any_view image;
    std::vector<any_view> results;
    std::optional<const_any_view> radius = {};
};

/// Of a strip, for host memory: some megabytes a transfer, so that starting one costs nothing, but many strips, so that
/// the first upload and the last download, which nothing overlaps, are short.
inline constexpr std::int64_t default_strip_bytes = std::int64_t{8} << 20;

/// Runs a filter on device memory on `stream`, or on host memory on streams of its own, and waits. Throws
/// invalid_argument for a mixture of both or memory of another device.
void execute(const window_filter& filter, const filter_memory& memory, stream_ref stream,
             std::int64_t strip_bytes = default_strip_bytes);

/// Throws as filters::check_radii does, for maps in host or device memory. The largest radius.
std::int64_t check_radii(const const_any_view& radius, std::optional<std::int64_t> largest, stream_ref stream);

}  // namespace boxsum::cuda
