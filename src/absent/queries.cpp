#include "absent/refuse.hpp"

#include <boxsum/cuda/box.hpp>
#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/shadow.hpp>
#include <boxsum/cuda/window_queries.hpp>

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
void box_means_async(const moment_views&, const device_boxes&, const any_device_span&, stream_ref, std::int64_t,
                     std::int64_t) {
    refuse();
}
void box_means(const moment_views&, const device_boxes&, const any_device_span&, stream_ref, std::int64_t,
               std::int64_t) {
    refuse();
}
void box_variances_async(const moment_views&, const device_boxes&, const any_device_span&, stream_ref, std::int64_t,
                         std::int64_t) {
    refuse();
}
void box_variances(const moment_views&, const device_boxes&, const any_device_span&, stream_ref, std::int64_t,
                   std::int64_t) {
    refuse();
}

void variance_shadows_async(const shadow_inputs&, const shadow_outputs&, stream_ref, const shadow_options&) {
    refuse();
}
void variance_shadows(const shadow_inputs&, const shadow_outputs&, stream_ref, const shadow_options&) {
    refuse();
}

void image_means_async(const const_any_view&, double*, workspace&, stream_ref) {
    refuse();
}
std::size_t image_means_bytes(const view_shape&) {
    refuse();
}
std::vector<double> image_means(const const_any_view&, stream_ref) {
    refuse();
}

void window_sums_async(const const_any_table_view&, const any_view&, stream_ref, const window_query_options&) {
    refuse();
}
void window_sums(const const_any_table_view&, const any_view&, stream_ref, const window_query_options&) {
    refuse();
}
void window_means_async(const const_any_table_view&, const any_view&, stream_ref, const window_query_options&) {
    refuse();
}
void window_means(const const_any_table_view&, const any_view&, stream_ref, const window_query_options&) {
    refuse();
}
void window_variances_async(const moment_views&, const any_view&, stream_ref, const window_query_options&) {
    refuse();
}
void window_variances(const moment_views&, const any_view&, stream_ref, const window_query_options&) {
    refuse();
}

void box_histograms_async(const const_any_histogram_view&, const device_boxes&, const any_device_span&, stream_ref,
                          std::int64_t) {
    refuse();
}
void box_histograms(const const_any_histogram_view&, const device_boxes&, const any_device_span&, stream_ref,
                    std::int64_t) {
    refuse();
}
void window_histograms_async(const const_any_histogram_view&, const window_grid&, const any_device_span&, stream_ref,
                             std::int64_t) {
    refuse();
}
void window_histograms(const const_any_histogram_view&, const window_grid&, const any_device_span&, stream_ref,
                       std::int64_t) {
    refuse();
}

template <typename T>
void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<T>, stream_ref, std::int64_t) {
    refuse();
}
template <typename T>
void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<T>, stream_ref, std::int64_t) {
    refuse();
}
template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<std::uint16_t>,
                             stream_ref, std::int64_t);
template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<std::uint32_t>,
                             stream_ref, std::int64_t);
template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<float>, stream_ref,
                             std::int64_t);
template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<std::uint16_t>,
                                stream_ref, std::int64_t);
template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<std::uint32_t>,
                                stream_ref, std::int64_t);
template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<float>, stream_ref,
                                std::int64_t);

std::vector<histogram_match> best_windows(const const_any_histogram_view&, std::span<const window_grid>,
                                          std::span<const double>, histogram_distance, std::int64_t, stream_ref,
                                          std::int64_t, double) {
    refuse();
}

struct best_windows_plan::state {};
best_windows_plan::best_windows_plan(const histogram_shape&, std::span<const window_grid>, histogram_distance,
                                     std::int64_t) {
    refuse();
}
std::int64_t best_windows_plan::matches() const noexcept {
    return 0;
}
std::size_t best_windows_plan::workspace_bytes() const noexcept {
    return 0;
}
int best_windows_plan::device() const noexcept {
    return 0;
}
void best_windows_plan::run_async(const const_any_histogram_view&, const double*, histogram_match*, workspace&,
                                  stream_ref, std::int64_t) const {
    refuse();
}
std::int64_t best_windows_async(const const_any_histogram_view&, std::span<const window_grid>, const double*,
                                histogram_distance, std::int64_t, histogram_match*, workspace&, stream_ref,
                                std::int64_t) {
    refuse();
}

}  // namespace boxsum::cuda
