// The CUDA half of the public API in a build without CUDA: the same symbols, so that callers link everywhere and are
// told at run time.

#include "verify/device_runner.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/error.hpp>

namespace boxsum::cuda {
namespace {

[[noreturn]] void refuse() {
    throw unsupported("device: this boxsum was built without CUDA");
}

}  // namespace

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

void initialize_workspace_async(workspace_ref, stream_ref) {
    refuse();
}

struct sat_plan::state {
    algorithm_info info;
};
sat_plan::sat_plan(const sat_description&, const sat_options&) {
    refuse();
}
std::size_t sat_plan::workspace_bytes() const noexcept {
    return 0;
}
const algorithm_info& sat_plan::algorithm() const noexcept {
    return state_->info;
}
int sat_plan::device() const noexcept {
    return 0;
}
void sat_plan::run_async(const const_any_view&, const any_view&, workspace_ref, stream_ref) const {
    refuse();
}
void sat_plan::run_async(const const_any_view&, const any_view&, const any_view&, workspace_ref, stream_ref) const {
    refuse();
}

struct sat_list_plan::state {
    algorithm_info info;
};
sat_list_plan::sat_list_plan(std::span<const sat_description>, const sat_options&) {
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
void sat_list_plan::run_async(std::span<const const_any_view>, std::span<const any_view>, std::span<const any_view>,
                              workspace_ref, stream_ref) const {
    refuse();
}

void sat(const const_any_view&, const any_view&, const sat_options&, stream_ref) {
    refuse();
}
void sat(const const_any_view&, const any_view&, const any_view&, const sat_options&, stream_ref) {
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
const algorithm_info& histogram_plan::algorithm() const noexcept {
    return state_->info;
}
int histogram_plan::device() const noexcept {
    return 0;
}
void histogram_plan::run_async(const histogram_inputs&, const histogram_outputs&, workspace_ref, stream_ref) const {
    refuse();
}
void integral_histogram(const histogram_inputs&, const binning&, const histogram_outputs&, stream_ref,
                        const histogram_options&) {
    refuse();
}

void box_filter(const const_any_view&, const any_view&, const box_filter_options&, stream_ref) {
    refuse();
}
void local_statistics(const const_any_view&, const local_statistics_results&, const local_statistics_options&,
                      stream_ref) {
    refuse();
}
void adaptive_threshold(const const_any_view&, const any_view&, const threshold_options&, stream_ref) {
    refuse();
}
void local_contrast(const const_any_view&, const any_view&, const local_contrast_options&, stream_ref) {
    refuse();
}
void variable_box_filter(const const_any_view&, const const_any_view&, const any_view&,
                         const variable_box_filter_options&, stream_ref) {
    refuse();
}

record_runner device_runner(workspace_reuse) {
    refuse();
}
histogram_runner device_histogram_runner(workspace_reuse) {
    refuse();
}

}  // namespace boxsum::cuda
