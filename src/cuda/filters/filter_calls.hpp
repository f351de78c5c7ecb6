#pragma once

#include "cuda/filters/plan_keys.hpp"
#include "cuda/runtime/plan_cache.hpp"
#include "cuda/runtime/pointer_checks.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/error.hpp>

#include <deque>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// Calls of filters without a plan of the caller's.
namespace boxsum::cuda {

/// Enqueues on the device of the workspace, and where that has none, of the stream.
template <typename Plan, typename Inputs, typename Outputs, typename... Rules>
void enqueue_unplanned(const Inputs& inputs, const Outputs& outputs, workspace& workspace, stream_ref stream,
                       const Rules&... rules) {
    if (workspace.device() < 0) workspace.reserve(0, stream);
    const std::tuple key(key_of(inputs), key_of(outputs), key_of(rules)...);
    static auto* const cache = new plan_cache<std::remove_const_t<decltype(key)>, Plan>;  // outlives the driver
    const Plan plan = cache->find(key, workspace.device(), [&] { return Plan(inputs, outputs, rules...); });
    workspace.reserve(plan.workspace_bytes(), stream);
    plan.run_async(inputs, outputs, workspace, stream);
}

/// Throws invalid_argument unless an argument lies where the image does: in host memory or on the device.
inline void require_memory_of_image(const char* argument, const void* data, bool host, int device) {
    if (is_host_memory(data) != host)
        throw invalid_argument(std::string(argument) + (host ? ": is device memory, but the image is host memory"
                                                             : ": is host memory, but the image is device memory"));
    if (!host) check_device_pointer(argument, data, device);
}

/// The views of a call that waits, in memory of the stream's device, which is current: the caller's own, or copies of
/// what lies in host memory.
class views_on_device {
  public:
    /// Of an image that lies where `data` is.
    views_on_device(const void* data, stream_ref stream)
        : stream_(stream), device_(device_of(stream)), host_(is_host_memory(data)) {}

    const_any_view input(const char* argument, const const_any_view& view) { return keep(argument, view, uploads_); }
    any_view output(const char* argument, const any_view& view) { return keep(argument, view, downloads_); }

    /// Calls enqueue() once the inputs are there, and waits for the results.
    template <typename F>
    void run(F&& enqueue) const {
        for (const auto& [from, to] : uploads_) copy(from, to, stream_);
        enqueue();
        for (const auto& [to, from] : downloads_) copy(from, to, stream_);
        stream_.synchronize();
    }

  private:
    template <typename View>
    using copies = std::vector<std::pair<View, any_view>>;

    template <typename View>
    View keep(const char* argument, const View& view, copies<View>& all) {
        require_memory_of_image(argument, view.data, host_, device_);
        if (!host_) return view;
        const view_shape& s = view.shape;
        const view_shape shape = device_shape(s.type, s.rows, s.cols, s.channels, s.planes);
        all.emplace_back(view, any_view{memory_.emplace_back(span_bytes(shape), stream_).data(), shape});
        return all.back().second;
    }

    stream_ref stream_;
    int device_;
    bool host_;
    std::deque<device_buffer> memory_;
    copies<const_any_view> uploads_;
    copies<any_view> downloads_;
};

}  // namespace boxsum::cuda
