#include "absent/refuse.hpp"

#include <boxsum/cuda/box.hpp>
#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/cuda/histogram_search.hpp>

namespace boxsum::cuda {

void box_sums_async(const const_any_table_view&, const device_boxes&, const any_device_span&, stream_ref, std::int64_t,
                    std::int64_t) {
    refuse();
}
void box_sums(const const_any_table_view&, const device_boxes&, const any_device_span&, stream_ref, std::int64_t,
              std::int64_t) {
    refuse();
}
void box_means_async(const const_any_table_view&, const device_boxes&, const any_device_span&, stream_ref, std::int64_t,
                     std::int64_t) {
    refuse();
}
void box_means(const const_any_table_view&, const device_boxes&, const any_device_span&, stream_ref, std::int64_t,
               std::int64_t) {
    refuse();
}
void box_variances_async(const const_any_table_view&, const const_any_table_view&, const device_boxes&,
                         const any_device_span&, stream_ref, std::int64_t, std::int64_t) {
    refuse();
}
void box_variances(const const_any_table_view&, const const_any_table_view&, const device_boxes&,
                   const any_device_span&, stream_ref, std::int64_t, std::int64_t) {
    refuse();
}

void box_histograms_async(const const_any_tensor_view&, const box*, std::int64_t, std::uint32_t*, table_layout,
                          std::int64_t, stream_ref) {
    refuse();
}
std::vector<std::uint32_t> box_histograms(const const_any_tensor_view&, std::span<const box>, table_layout,
                                          std::int64_t, stream_ref) {
    refuse();
}
std::vector<float> box_sums(const const_any_tensor_view&, std::span<const box>, table_layout, std::int64_t,
                            stream_ref) {
    refuse();
}
std::vector<histogram_match> best_windows(const const_any_tensor_view&, std::span<const window_grid>,
                                          std::span<const double>, histogram_distance, std::int64_t, table_layout,
                                          std::int64_t, stream_ref) {
    refuse();
}

void box_histograms_async(const const_any_tensor_view&, const box*, std::int64_t, float*, table_layout, std::int64_t,
                          stream_ref) {
    refuse();
}
void window_histograms_async(const const_any_tensor_view&, const window_grid&, void*, table_layout, std::int64_t,
                             stream_ref) {
    refuse();
}
struct histogram_search::state {};
histogram_search::histogram_search(const tensor_shape&, table_layout, std::span<const window_grid>, histogram_distance,
                                   std::int64_t) {
    refuse();
}
std::int64_t histogram_search::matches() const noexcept {
    return 0;
}
std::size_t histogram_search::workspace_bytes() const noexcept {
    return 0;
}
void histogram_search::run_async(const const_any_tensor_view&, std::int64_t, const double*, histogram_match*,
                                 workspace&, stream_ref) const {
    refuse();
}

}  // namespace boxsum::cuda
