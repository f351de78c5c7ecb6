#pragma once

#include "cuda/filters/planned_filter.hpp"

#include <cstdint>
#include <optional>

/// How a filter gets from images to results: tables of planes that lie on the device, or of strips of planes that
/// travel there and back.
namespace boxsum::cuda {

/// Of a strip, for host memory: some megabytes a transfer, so that starting one costs nothing, but many strips, so that
/// the first upload and the last download, which nothing overlaps, are short.
inline constexpr std::int64_t default_strip_bytes = std::int64_t{16} << 20;

/// Runs a filter on device memory on `stream`, or on host memory on streams of its own, and waits. Throws
/// invalid_argument for a mixture of both or memory of another device.
void execute(const window_filter& filter, const filter_memory& memory, stream_ref stream,
             std::int64_t strip_bytes = default_strip_bytes);

/// Throws as filters::check_radii does, for maps in host or device memory. The largest radius.
std::int64_t check_radii(const const_any_view& radius, std::optional<std::int64_t> largest, stream_ref stream);

}  // namespace boxsum::cuda
