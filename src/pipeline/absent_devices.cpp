// Workers on devices in a build without CUDA.

#include "pipeline/frame_worker.hpp"

#include <boxsum/error.hpp>

namespace boxsum::detail {

std::unique_ptr<frame_worker> make_cuda_frame_worker(const frame_job&, int) {
    throw unsupported("device: this boxsum was built without CUDA");
}

}  // namespace boxsum::detail
