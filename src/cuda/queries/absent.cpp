// Queries on a device in a build without CUDA.

#include <boxsum/device_histograms.hpp>
#include <boxsum/error.hpp>

namespace boxsum::cuda {
namespace {

[[noreturn]] void refuse() {
    throw unsupported("device: this boxsum was built without CUDA");
}

}  // namespace

void box_histograms_async(const const_any_tensor_view&, const box*, std::int64_t, std::uint32_t*, table_layout,
                          std::int64_t, stream_ref) {
    refuse();
}
std::vector<std::uint32_t> box_histograms(const const_any_tensor_view&, std::span<const box>, table_layout,
                                          std::int64_t, stream_ref) {
    refuse();
}
std::vector<histogram_match> best_windows(const const_any_tensor_view&, std::span<const window_grid>,
                                          std::span<const double>, histogram_distance, std::int64_t, table_layout,
                                          std::int64_t, stream_ref) {
    refuse();
}

}  // namespace boxsum::cuda
