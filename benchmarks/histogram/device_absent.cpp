#include "histogram/device_half.hpp"

#include <boxsum/error.hpp>

namespace boxsum::bench {

std::vector<histogram_row> measure_on_device(const tensor_case&, const histogram_bench_options&) {
    throw unsupported("--device: this was built without CUDA");
}

histogram_row measure_breadth_first(const stream_case&, const std::string&, int) {
    throw unsupported("streams: this was built without CUDA");
}

void measure_links(histogram_row&, void*, std::int64_t) {
    throw unsupported("links: this was built without CUDA");
}

}  // namespace boxsum::bench
