#include "cuda/workspace.hpp"

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "cuda/runtime/runtime.hpp"
#include "cuda/runtime/workspace_use.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>

namespace boxsum::cuda {

// ---- what records find ----------------------------------------------------------------------------------------------

std::size_t total_workspace_bytes(const algorithm_record& record, std::size_t record_bytes) {
    if (record.leaves == workspace_content::scratch && record_bytes == 0) return 0;
    return workspace_header_bytes + record_bytes;
}

execution behind_header(execution how) {
    if (how.workspace == nullptr || how.workspace_bytes < workspace_header_bytes) {
        how.workspace = nullptr;
        how.workspace_bytes = 0;
        return how;
    }
    how.header = static_cast<workspace_header*>(how.workspace);
    how.workspace = static_cast<std::byte*>(how.workspace) + workspace_header_bytes;
    how.workspace_bytes -= workspace_header_bytes;
    return how;
}

void restore_contract(const algorithm_record& record, std::size_t record_bytes, const execution& how) {
    if (record.leaves == workspace_content::scratch && record_bytes > 0)
        BOXSUM_CUDA_TRY(cudaMemsetAsync(how.workspace, 0, record_bytes, how.stream.get()));
}

void enqueue_in_workspace(const algorithm_record& record, const problem& p, const buffers& memory, execution how) {
    how = behind_header(how);
    record.enqueue(p, memory, how);
    if (record.leaves == workspace_content::scratch)
        restore_contract(record, record.workspace_bytes(p, how.parameters), how);
}

void initialize_workspace_async(void* workspace, std::size_t bytes, stream_ref stream) {
    if (bytes != 0) BOXSUM_CUDA_TRY(cudaMemsetAsync(workspace, 0, bytes, stream.get()));
}

// ---- the owner ------------------------------------------------------------------------------------------------------

struct workspace::state {
    state(stream_ref s, const allocator& a) : stream(s), device(device_of(s)), from(a) {}
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state() {
        if (passed_on != nullptr) (void)cudaEventDestroy(passed_on);
    }

    stream_ref stream;
    int device;
    allocator from;
    device_buffer memory;
    cudaEvent_t passed_on = nullptr;  ///< made by the first follow()
    // Bytes from the start that every call leaves clean, since one has wanted them so; where there may be anything.
    std::size_t clean = 0, left = all_of_workspace;
    std::atomic<bool> used{false};
};

namespace {

/// Keeps other threads out.
class turn {
  public:
    explicit turn(std::atomic<bool>& used) : used_(used) {
        if (used.exchange(true, std::memory_order_acquire))
            throw invalid_argument("workspace: is in use by another thread");
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() { used_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool>& used_;
};

bool is_captured(stream_ref stream) {
    if (stream.get() == nullptr) return false;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    BOXSUM_CUDA_TRY(cudaStreamIsCapturing(stream.get(), &status));
    return status != cudaStreamCaptureStatusNone;
}

[[noreturn]] void refuse_empty() {
    throw invalid_argument("workspace: has no memory and no device; reserve() gives it both");
}

void require_same_stream(stream_ref given, stream_ref own) {
    if (given != own)
        throw invalid_argument("workspace: is on another stream than the call's; follow() takes it there");
}

}  // namespace

workspace::workspace() noexcept = default;
workspace::workspace(workspace&&) noexcept = default;
workspace& workspace::operator=(workspace&&) noexcept = default;
workspace::~workspace() = default;

workspace::workspace(std::size_t bytes, stream_ref stream, const allocator& from)
    : state_(std::make_unique<state>(stream, from)) {
    reserve(bytes, stream);
}

std::size_t workspace::bytes() const noexcept {
    return state_ == nullptr ? 0 : state_->memory.size();
}

int workspace::device() const noexcept {
    return state_ == nullptr ? -1 : state_->device;
}

stream_ref workspace::stream() const noexcept {
    return state_ == nullptr ? stream_ref::legacy_default() : state_->stream;
}

void workspace::reserve(std::size_t bytes, stream_ref stream) {
    if (state_ == nullptr) state_ = std::make_unique<state>(stream, allocator{});
    state& s = *state_;
    const turn mine(s.used);
    require_same_stream(stream, s.stream);
    if (bytes <= s.memory.size()) return;
    // What an allocator of the caller's gives during a capture is the graph's, like all that a framework allocates
    // then.
    if (is_captured(stream) && (s.from.allocate == nullptr || s.memory.size() > 0))
        throw invalid_argument("workspace: has " + std::to_string(s.memory.size()) + " bytes and cannot grow to " +
                               std::to_string(bytes) + " while its stream is being captured");
    const device_scope scope(s.device);
    s.memory = device_buffer();
    s.memory = device_buffer(bytes, stream, s.from);
    initialize_workspace_async(s.memory.data(), bytes, stream);
    s.left = all_of_workspace;
}

void workspace::follow(stream_ref stream) {
    if (state_ == nullptr) refuse_empty();
    state& s = *state_;
    const turn mine(s.used);
    if (stream == s.stream) return;
    if (is_captured(stream) || is_captured(s.stream))
        throw invalid_argument("workspace: cannot change streams while one of them is being captured");
    if (const int device = device_of(stream); device != s.device)
        throw invalid_argument("stream: belongs to cuda:" + std::to_string(device) +
                               ", but the workspace is memory of cuda:" + std::to_string(s.device));
    const device_scope scope(s.device);
    if (s.passed_on == nullptr) BOXSUM_CUDA_TRY(cudaEventCreateWithFlags(&s.passed_on, cudaEventDisableTiming));
    BOXSUM_CUDA_TRY(cudaEventRecord(s.passed_on, s.stream.get()));
    BOXSUM_CUDA_TRY(cudaStreamWaitEvent(stream.get(), s.passed_on, 0));
    s.memory.set_stream(stream);
    s.stream = stream;
}

void hand_over_idle(workspace& memory, stream_ref stream) noexcept {
    memory.state_->stream = stream;
    memory.state_->memory.set_stream(stream);
}

workspace_use::workspace_use(workspace& memory, std::size_t needed, int device, stream_ref stream, std::size_t clean)
    : state_(memory.state_ == nullptr ? (refuse_empty(), *memory.state_) : *memory.state_),
      exceptions_(std::uncaught_exceptions()) {
    if (state_.used.exchange(true, std::memory_order_acquire))
        throw invalid_argument("workspace: is in use by another thread");
    try {
        if (state_.device != device)
            throw invalid_argument("workspace: is memory of cuda:" + std::to_string(state_.device) +
                                   ", but the plan is for cuda:" + std::to_string(device));
        require_same_stream(stream, state_.stream);
        if (state_.memory.size() < needed)
            throw invalid_argument("workspace: has " + std::to_string(state_.memory.size()) +
                                   " bytes, but the plan needs " + std::to_string(needed));
        want_clean(clean);
    } catch (...) {
        state_.used.store(false, std::memory_order_release);
        throw;
    }
}

workspace_use::~workspace_use() {
    if (std::uncaught_exceptions() > exceptions_ && bytes() != 0) {
        const quiet_device_scope scope(state_.device);
        // It fails where the driver is gone, or a capture that will never run.
        if (cudaMemsetAsync(data(), 0, bytes(), state_.stream.get()) != cudaSuccess) (void)cudaGetLastError();
    }
    state_.used.store(false, std::memory_order_release);
}

void workspace_use::want_clean(std::size_t clean) const {
    clean = std::min(clean, bytes());
    if (clean <= state_.clean) return;
    if (state_.left < clean) {
        const device_scope scope(state_.device);
        if (is_captured(state_.stream)) return zero(0, bytes());  // whatever calls leave there before a replay
        zero(state_.left, clean);
        state_.left = clean;
    }
    state_.clean = clean;
}

void workspace_use::leave(std::size_t first) const {
    const std::size_t clean = is_captured(state_.stream) ? bytes() : std::min(state_.clean, bytes());
    if (first < clean) zero(first, clean);
    state_.left = std::min(state_.left, std::max(first, clean));
}

void workspace_use::zero(std::size_t first, std::size_t end) const {
    BOXSUM_CUDA_TRY(cudaMemsetAsync(static_cast<std::byte*>(data()) + first, 0, end - first, state_.stream.get()));
}

void* workspace_use::data() const noexcept {
    return state_.memory.data();
}

std::size_t workspace_use::bytes() const noexcept {
    return state_.memory.size();
}

execution workspace_use::execution_of(const parameter_values& parameters, std::size_t bytes) const {
    execution how;
    how.parameters = parameters;
    how.stream = state_.stream;
    how.workspace = state_.memory.data();
    how.workspace_bytes = bytes;
    return behind_header(how);
}

workspace_end::workspace_end(workspace& memory, std::size_t needed, std::size_t bytes, int device, stream_ref stream)
    : use_(memory, needed, device, stream, 0), before_((use_.bytes() - bytes) / 256 * 256) {}

}  // namespace boxsum::cuda
