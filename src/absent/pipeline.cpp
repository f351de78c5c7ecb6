#include "absent/refuse.hpp"
#include "pipeline/bin_worker.hpp"
#include "pipeline/frame_worker.hpp"

namespace boxsum::detail {

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
