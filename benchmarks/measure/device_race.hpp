#pragma once

#include "measure/rounds.hpp"

#include <boxsum/cuda/stream.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Timing on a device: events on a stream, and calls captured as graphs.
namespace boxsum::bench {

/// The time between two events on the stream around a call.
stopwatch device_stopwatch(cuda::stream_ref stream);

/// How many computations of so many bytes make a round.
int launches_for(std::int64_t bytes);

/// What the runtime tells of a kernel.
struct kernel_facts {
    std::string name;  ///< without namespaces and arguments
    std::string grid, block;
    std::int64_t registers = 0, static_shared_bytes = 0, dynamic_shared_bytes = 0, local_bytes = 0;
};

/// Calls as a graph: launched again without the cost of enqueueing, counted, and taken apart.
class captured_graph {
  public:
    /// Captures what `enqueue` enqueues on the stream. Throws cuda_error where something in it cannot be captured.
    captured_graph(const std::function<void()>& enqueue, cuda::stream_ref stream);
    captured_graph(const captured_graph&) = delete;
    captured_graph& operator=(const captured_graph&) = delete;
    ~captured_graph();

    void launch(cuda::stream_ref stream) const;

    std::int64_t kernels() const { return static_cast<std::int64_t>(kernels_.size()); }
    std::int64_t memsets() const { return static_cast<std::int64_t>(memsets_.size()); }
    std::int64_t others() const { return others_; }

    /// Of kernel i, in the order of capture. Throws cuda_error where the runtime does not tell.
    kernel_facts facts(std::int64_t i) const;

    /// Later launches run the kernels i with i % period == phase, and nothing else: no memsets.
    void enable_kernels(std::int64_t period, std::int64_t phase);

    /// Later launches run the kernels whose number is chosen, and nothing else: no memsets.
    void enable_chosen(const std::function<bool(std::int64_t)>& chosen);

    /// The chosen kernels in a graph of their own, one after the other: where there are thousands, those that are not
    /// enabled take time, too.
    std::unique_ptr<captured_graph> only(const std::function<bool(std::int64_t)>& chosen) const;

  private:
    captured_graph() = default;

    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
    std::vector<cudaGraphNode_t> kernels_, memsets_;
    std::int64_t others_ = 0;
};

/// One computation on buffers of its own choice for launch number i.
using device_launch = std::function<void(int i, cuda::stream_ref stream)>;

/// A contestant whose round is `launches` computations; `graph`: replayed from a graph, which loads no kernels and
/// enqueues nothing within the time. Runs one round first.
contestant device_contestant(std::string name, const device_launch& launch, int launches, bool graph,
                             cuda::stream_ref stream);

}  // namespace boxsum::bench
