#pragma once

#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/cuda/stream.hpp>

#include <cuda_runtime_api.h>

namespace boxsum::test {

/// What is enqueued on a stream, as a CUDA graph.
class captured_graph {
  public:
    template <typename Enqueue>
    captured_graph(cuda::stream_ref stream, Enqueue enqueue) {
        BOXSUM_CUDA_TRY(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
        enqueue();
        cudaGraph_t graph = nullptr;
        BOXSUM_CUDA_TRY(cudaStreamEndCapture(stream.get(), &graph));
        BOXSUM_CUDA_TRY(cudaGraphInstantiate(&executable_, graph, 0));
        BOXSUM_CUDA_TRY(cudaGraphDestroy(graph));
    }
    captured_graph(const captured_graph&) = delete;
    captured_graph& operator=(const captured_graph&) = delete;
    ~captured_graph() { (void)cudaGraphExecDestroy(executable_); }

    void replay(cuda::stream_ref stream) const { BOXSUM_CUDA_TRY(cudaGraphLaunch(executable_, stream.get())); }

  private:
    cudaGraphExec_t executable_ = nullptr;
};

}  // namespace boxsum::test
