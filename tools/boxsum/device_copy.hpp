#pragma once

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/view.hpp>

namespace boxsum::cli {

/// Device memory of the shape of a host view.
struct device_copy {
    device_copy(const view_shape& host, cuda::stream_ref stream)
        : shape(cuda::device_shape(host.type, host.rows, host.cols, host.channels, host.planes)),
          memory(cuda::span_bytes(shape), stream) {}

    any_view view() const { return {memory.data(), shape}; }

    view_shape shape;
    cuda::device_buffer memory;
};

}  // namespace boxsum::cli
