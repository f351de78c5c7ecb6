#include "absent/refuse.hpp"
#include "verify/device_runner.hpp"

#include <boxsum/cuda/blobs.hpp>
#include <boxsum/cuda/convolve.hpp>
#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/guided_filter.hpp>
#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/non_local_means.hpp>
#include <boxsum/cuda/row_stream.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/variable_blur.hpp>

namespace boxsum::cuda {

void stream_ref::synchronize() const {
    refuse();
}

device_buffer::device_buffer(std::size_t, stream_ref, const allocator&) {
    refuse();
}
device_buffer::~device_buffer() = default;

pinned_buffer::pinned_buffer(std::size_t) {
    refuse();
}
pinned_buffer::~pinned_buffer() = default;

bool built() noexcept {
    return false;
}
int device_count() noexcept {
    return 0;
}
int current_device() {
    refuse();
}
void set_device(int) {
    refuse();
}
device_info describe_device(int) {
    refuse();
}

stream::stream() {
    refuse();
}
stream::~stream() = default;

void copy_async(const const_any_view&, const any_view&, stream_ref) {
    refuse();
}
void copy(const const_any_view&, const any_view&, stream_ref) {
    refuse();
}

struct workspace::state {};
workspace::workspace() noexcept = default;
workspace::workspace(std::size_t, stream_ref, const allocator&) {
    refuse();
}
workspace::workspace(workspace&&) noexcept = default;
workspace& workspace::operator=(workspace&&) noexcept = default;
workspace::~workspace() = default;
std::size_t workspace::bytes() const noexcept {
    return 0;
}
int workspace::device() const noexcept {
    return -1;
}
stream_ref workspace::stream() const noexcept {
    return stream_ref::legacy_default();
}
void workspace::reserve(std::size_t, stream_ref) {
    refuse();
}
void workspace::follow(stream_ref) {
    refuse();
}

struct sat_plan::state {
    algorithm_info info;
};
sat_plan::sat_plan(const sat_shapes&, const sat_options&) {
    refuse();
}
sat_plan::sat_plan(const sat_inputs&, const sat_outputs&, const sat_options&) {
    refuse();
}
std::size_t sat_plan::workspace_bytes() const noexcept {
    return 0;
}
std::size_t sat_plan::packed_bytes() const noexcept {
    return 0;
}
const algorithm_info& sat_plan::algorithm() const noexcept {
    return state_->info;
}
int sat_plan::device() const noexcept {
    return 0;
}
void sat_plan::run_async(const sat_inputs&, const sat_outputs&, workspace&, stream_ref) const {
    refuse();
}

struct sat_list_plan::state {
    algorithm_info info;
};
sat_list_plan::sat_list_plan(std::span<const sat_shapes>, const sat_options&) {
    refuse();
}
sat_list_plan::sat_list_plan(std::span<const sat_inputs>, std::span<const sat_outputs>, const sat_options&) {
    refuse();
}
std::size_t sat_list_plan::workspace_bytes() const noexcept {
    return 0;
}
const algorithm_info& sat_list_plan::algorithm() const noexcept {
    return state_->info;
}
int sat_list_plan::device() const noexcept {
    return 0;
}
bool sat_list_plan::together() const noexcept {
    return false;
}
void sat_list_plan::run_async(std::span<const sat_inputs>, std::span<const sat_outputs>, workspace&, stream_ref) const {
    refuse();
}

void sat_async(const sat_inputs&, const sat_outputs&, workspace&, stream_ref, const sat_options&) {
    refuse();
}
void sat(const sat_inputs&, const sat_outputs&, stream_ref, const sat_options&) {
    refuse();
}

struct histogram_plan::state {
    algorithm_info info;
};
histogram_plan::histogram_plan(const histogram_shapes&, const binning&, const histogram_options&) {
    refuse();
}
std::size_t histogram_plan::workspace_bytes() const noexcept {
    return 0;
}
std::size_t histogram_plan::packed_bytes() const noexcept {
    return 0;
}
const algorithm_info& histogram_plan::algorithm() const noexcept {
    return state_->info;
}
int histogram_plan::device() const noexcept {
    return 0;
}
void histogram_plan::run_async(const histogram_inputs&, const histogram_outputs&, workspace&, stream_ref) const {
    refuse();
}
void integral_histogram_async(const histogram_inputs&, const binning&, const histogram_outputs&, workspace&, stream_ref,
                              const histogram_options&) {
    refuse();
}
void integral_histogram(const histogram_inputs&, const binning&, const histogram_outputs&, stream_ref,
                        const histogram_options&) {
    refuse();
}

struct convolve_plan::state {};
convolve_plan::convolve_plan(const convolve_inputs&, const convolve_outputs&, const convolve_options&) {
    refuse();
}
int convolve_plan::device() const noexcept {
    return -1;
}
std::size_t convolve_plan::workspace_bytes() const noexcept {
    return 0;
}
std::size_t convolve_plan::packed_bytes() const noexcept {
    return 0;
}
void convolve_plan::run_async(const convolve_inputs&, const convolve_outputs&, workspace&, stream_ref) const {
    refuse();
}
void convolve_async(const convolve_inputs&, const convolve_outputs&, workspace&, stream_ref, const convolve_options&) {
    refuse();
}
void convolve(const convolve_inputs&, const convolve_outputs&, stream_ref, const convolve_options&) {
    refuse();
}

struct non_local_means_plan::state {};
non_local_means_plan::non_local_means_plan(const non_local_inputs&, const filter_outputs&, const non_local_rule&,
                                           const filter_options&) {
    refuse();
}
int non_local_means_plan::device() const noexcept {
    return -1;
}
std::size_t non_local_means_plan::workspace_bytes() const noexcept {
    return 0;
}
void non_local_means_plan::run_async(const non_local_inputs&, const filter_outputs&, workspace&, stream_ref) const {
    refuse();
}
void non_local_means_async(const non_local_inputs&, const filter_outputs&, workspace&, stream_ref,
                           const non_local_rule&, const filter_options&) {
    refuse();
}
void non_local_means(const non_local_inputs&, const filter_outputs&, stream_ref, const non_local_rule&,
                     const filter_options&) {
    refuse();
}

struct box_hessian_plan::state {};
box_hessian_plan::box_hessian_plan(const blob_inputs&, const hessian_outputs&, const hessian_options&) {
    refuse();
}
int box_hessian_plan::device() const noexcept {
    return 0;
}
std::size_t box_hessian_plan::workspace_bytes() const noexcept {
    return 0;
}
void box_hessian_plan::run_async(const blob_inputs&, const hessian_outputs&, workspace&, stream_ref) const {
    refuse();
}
void box_hessian_async(const blob_inputs&, const hessian_outputs&, workspace&, stream_ref, const hessian_options&) {
    refuse();
}
void box_hessian(const blob_inputs&, const hessian_outputs&, stream_ref, const hessian_options&) {
    refuse();
}
std::vector<blob> find_blobs(const blob_inputs&, workspace&, stream_ref, const blob_options&) {
    refuse();
}
std::vector<blob> find_blobs(const blob_inputs&, stream_ref, const blob_options&) {
    refuse();
}

struct variable_blur_plan::state {};
variable_blur_plan::variable_blur_plan(const variable_inputs&, const filter_outputs&, const variable_blur_options&) {
    refuse();
}
int variable_blur_plan::device() const noexcept {
    return -1;
}
std::size_t variable_blur_plan::workspace_bytes() const noexcept {
    return 0;
}
void variable_blur_plan::run_async(const variable_inputs&, const filter_outputs&, workspace&, stream_ref) const {
    refuse();
}
void variable_blur_async(const variable_inputs&, const filter_outputs&, workspace&, stream_ref,
                         const variable_blur_options&) {
    refuse();
}
void variable_blur(const variable_inputs&, const filter_outputs&, stream_ref, const variable_blur_options&) {
    refuse();
}
void circles_of_confusion_async(const const_any_view&, const any_view&, stream_ref, const thin_lens&) {
    refuse();
}
void circles_of_confusion(const const_any_view&, const any_view&, stream_ref, const thin_lens&) {
    refuse();
}

struct filter_plan::state {};
std::size_t filter_plan::workspace_bytes() const noexcept {
    return 0;
}
std::size_t filter_plan::packed_bytes() const noexcept {
    return 0;
}
int filter_plan::device() const noexcept {
    return -1;
}
box_filter_plan::box_filter_plan(const filter_inputs&, const filter_outputs&, const filter_options&)
    : filter_plan(nullptr) {
    refuse();
}
void box_filter_plan::run_async(const filter_inputs&, const filter_outputs&, workspace&, stream_ref) const {
    refuse();
}
void box_filter_async(const filter_inputs&, const filter_outputs&, workspace&, stream_ref, const filter_options&) {
    refuse();
}
local_statistics_plan::local_statistics_plan(const filter_inputs&, const window_outputs&, const filter_options&)
    : filter_plan(nullptr) {
    refuse();
}
void local_statistics_plan::run_async(const filter_inputs&, const window_outputs&, workspace&, stream_ref) const {
    refuse();
}
void local_statistics_async(const filter_inputs&, const window_outputs&, workspace&, stream_ref,
                            const filter_options&) {
    refuse();
}
adaptive_threshold_plan::adaptive_threshold_plan(const filter_inputs&, const filter_outputs&, const threshold_rule&,
                                                 const filter_options&)
    : filter_plan(nullptr) {
    refuse();
}
void adaptive_threshold_plan::run_async(const filter_inputs&, const filter_outputs&, workspace&, stream_ref) const {
    refuse();
}
void adaptive_threshold_async(const filter_inputs&, const filter_outputs&, workspace&, stream_ref,
                              const threshold_rule&, const filter_options&) {
    refuse();
}
local_contrast_plan::local_contrast_plan(const filter_inputs&, const filter_outputs&, const contrast_rule&,
                                         const filter_options&)
    : filter_plan(nullptr) {
    refuse();
}
void local_contrast_plan::run_async(const filter_inputs&, const filter_outputs&, workspace&, stream_ref) const {
    refuse();
}
void local_contrast_async(const filter_inputs&, const filter_outputs&, workspace&, stream_ref, const contrast_rule&,
                          const filter_options&) {
    refuse();
}
variable_box_filter_plan::variable_box_filter_plan(const variable_inputs&, const filter_outputs&, const filter_options&)
    : filter_plan(nullptr) {
    refuse();
}
void variable_box_filter_plan::run_async(const variable_inputs&, const filter_outputs&, workspace&, stream_ref) const {
    refuse();
}
void variable_box_filter_async(const variable_inputs&, const filter_outputs&, workspace&, stream_ref,
                               const filter_options&) {
    refuse();
}
void box_filter(const filter_inputs&, const filter_outputs&, stream_ref, const filter_options&) {
    refuse();
}
void local_statistics(const filter_inputs&, const window_outputs&, stream_ref, const filter_options&) {
    refuse();
}
void adaptive_threshold(const filter_inputs&, const filter_outputs&, stream_ref, const threshold_rule&,
                        const filter_options&) {
    refuse();
}
void local_contrast(const filter_inputs&, const filter_outputs&, stream_ref, const contrast_rule&,
                    const filter_options&) {
    refuse();
}
void variable_box_filter(const variable_inputs&, const filter_outputs&, stream_ref, const filter_options&) {
    refuse();
}

struct row_stream::state_of {};
row_stream::row_stream(const row_format&, const filter_options&, std::int64_t, stream_ref, const allocator&) {
    refuse();
}
row_stream::row_stream(const row_format&, const filter_options&, std::int64_t, std::span<const std::byte>, stream_ref,
                       const allocator&) {
    refuse();
}
row_stream::row_stream(row_stream&&) noexcept = default;
row_stream& row_stream::operator=(row_stream&&) noexcept = default;
row_stream::~row_stream() = default;
int row_stream::device() const noexcept {
    return -1;
}
stream_ref row_stream::stream() const noexcept {
    return stream_ref::legacy_default();
}
void row_stream::follow(stream_ref) {
    refuse();
}
void row_stream::push(const const_any_view&, const const_any_view&, const const_any_view&) {
    refuse();
}
std::int64_t row_stream::room() const noexcept {
    return 0;
}
void row_stream::finish() noexcept {}
std::int64_t row_stream::received() const noexcept {
    return 0;
}
std::int64_t row_stream::dropped() const noexcept {
    return 0;
}
std::int64_t row_stream::ready() const noexcept {
    return 0;
}
filter_inputs row_stream::next(std::int64_t) const {
    refuse();
}
void row_stream::drop(std::int64_t) {
    refuse();
}
filter_inputs row_stream::inner(std::int64_t) const {
    refuse();
}
bool row_stream::is_inner(std::int64_t) const {
    refuse();
}
std::int64_t row_stream::period() const noexcept {
    return 1;
}
std::vector<std::byte> row_stream::state() const {
    refuse();
}

struct guided_filter_plan::state {};
guided_filter_plan::guided_filter_plan(const guided_inputs&, const filter_outputs&, const guided_rule&,
                                       const filter_options&) {
    refuse();
}
std::size_t guided_filter_plan::workspace_bytes() const noexcept {
    return 0;
}
std::size_t guided_filter_plan::packed_bytes() const noexcept {
    return 0;
}
int guided_filter_plan::device() const noexcept {
    return -1;
}
void guided_filter_plan::run_async(const guided_inputs&, const filter_outputs&, workspace&, stream_ref) const {
    refuse();
}
void guided_filter_async(const guided_inputs&, const filter_outputs&, workspace&, stream_ref, const guided_rule&,
                         const filter_options&) {
    refuse();
}
void guided_filter(const guided_inputs&, const filter_outputs&, stream_ref, const guided_rule&, const filter_options&) {
    refuse();
}

record_runner device_runner(workspace_reuse) {
    refuse();
}
histogram_runner device_histogram_runner(workspace_reuse) {
    refuse();
}

}  // namespace boxsum::cuda
