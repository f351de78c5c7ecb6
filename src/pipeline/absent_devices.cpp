// Workers on devices in a build without CUDA.

#include "pipeline/bin_worker.hpp"
#include "pipeline/frame_worker.hpp"

#include <boxsum/error.hpp>

namespace boxsum::detail {
namespace {

[[noreturn]] void refuse() {
    throw unsupported("device: this boxsum was built without CUDA");
}

}  // namespace

std::unique_ptr<frame_worker> make_cuda_frame_worker(const frame_job&, int) {
    refuse();
}

std::unique_ptr<bin_worker> make_cuda_bin_worker(int) {
    refuse();
}

std::shared_ptr<shared_upload> share_upload(std::span<const int>) {
    return nullptr;
}

std::shared_ptr<void> pin_host_memory(void*, std::size_t) {
    return nullptr;
}

}  // namespace boxsum::detail
