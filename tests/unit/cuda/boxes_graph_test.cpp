// Questions about boxes in a CUDA graph: captured once, replayed with other boxes.

#include "cuda/runtime/cuda_try.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/box.hpp>
#include <boxsum/cuda/memory.hpp>

#include <cuda_runtime_api.h>

#include <vector>

namespace boxsum {
namespace {

using boxes_in_a_graph = test::gpu_stream_test;

TEST_F(boxes_in_a_graph, are_those_of_the_replay) {
    constexpr std::int64_t n = 40;
    std::vector<std::uint32_t> entries;
    for (std::int64_t r = 0; r < n; ++r)
        for (std::int64_t c = 0; c < n; ++c)
            entries.push_back(static_cast<std::uint32_t>((r + 1) * (c + 1)));  // of ones
    const cuda::device_buffer memory(entries.size() * sizeof(std::uint32_t), stream());
    BOXSUM_CUDA_TRY(
        cudaMemcpyAsync(memory.data(), entries.data(), memory.size(), cudaMemcpyHostToDevice, stream().get()));
    const table_view<const std::uint32_t> table({static_cast<const std::uint32_t*>(memory.data()), n, n});

    const cuda::device_buffer list(2 * sizeof(box), stream()), sums(8, stream()), means(16, stream());
    const cuda::device_boxes boxes{static_cast<const box*>(list.data()), 2};
    stream().synchronize();
    BOXSUM_CUDA_TRY(cudaStreamBeginCapture(stream().get(), cudaStreamCaptureModeThreadLocal));
    cuda::box_sums_async(table, boxes, {static_cast<std::uint32_t*>(sums.data()), 2}, stream());
    cuda::box_means_async(table, boxes, {static_cast<double*>(means.data()), 2}, stream());
    cudaGraph_t graph = nullptr;
    BOXSUM_CUDA_TRY(cudaStreamEndCapture(stream().get(), &graph));
    cudaGraphExec_t executable = nullptr;
    BOXSUM_CUDA_TRY(cudaGraphInstantiate(&executable, graph, 0));
    BOXSUM_CUDA_TRY(cudaGraphDestroy(graph));

    for (std::int64_t size = 1; size < 20; ++size) {
        const box now[2] = {{0, 0, size, size}, {3, 5, size, 7}};
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(list.data(), now, sizeof now, cudaMemcpyHostToDevice, stream().get()));
        BOXSUM_CUDA_TRY(cudaGraphLaunch(executable, stream().get()));
        std::uint32_t found[2];
        double found_means[2];
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(found, sums.data(), sizeof found, cudaMemcpyDeviceToHost, stream().get()));
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(found_means, means.data(), sizeof found_means, cudaMemcpyDeviceToHost, stream().get()));
        stream().synchronize();
        EXPECT_EQ(found[0], size * size);
        EXPECT_EQ(found[1], size * 7);
        EXPECT_EQ(found_means[0], 1.0);
        EXPECT_EQ(found_means[1], 1.0);
    }
    BOXSUM_CUDA_TRY(cudaGraphExecDestroy(executable));
}

}  // namespace
}  // namespace boxsum
