#pragma once

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

/// What a filter sees of a plane: the windows of some rows, and views of the plane on the device.
struct filter_step {
    window_task task;
    std::span<const any_view> results;
    const_any_view radius;  ///< null data without a radius map
    stream_ref stream;
};

using filter_consumer = std::function<void(const filter_step&)>;

/// A filter on checked arguments.
struct filter_run {
    const filters::window_job& job;
    std::vector<any_view> results;
    bool squares = false;
    filter_consumer before = {};  ///< may be empty; sees all rows of a plane before `consume` does (Wolf's extremes)
    filter_consumer consume;
    std::optional<const_any_view> radius = {};
    /// Of a strip, for host memory: some megabytes a transfer, so that starting one costs nothing, but many strips, so
    /// that the first upload and the last download, which nothing overlaps, are short.
    std::int64_t strip_bytes = std::int64_t{8} << 20;
};

/// Runs it on device memory on `stream`, or on host memory on streams of its own, and waits. Throws invalid_argument
/// for a mixture of both or memory of another device.
void execute(const filter_run& run, stream_ref stream);

/// Throws as filters::check_radii does, for maps in host or device memory. The largest radius.
std::int64_t check_radii(const const_any_view& radius, stream_ref stream);

}  // namespace boxsum::cuda
