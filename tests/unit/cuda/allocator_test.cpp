// Device memory of the caller's choice.

#include "cuda/runtime/cuda_try.hpp"
#include "support/counting_allocator.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/table.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/error.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace boxsum {
namespace {

class allocator : public test::gpu_stream_test {
  protected:
    test::counting_allocator counter_;
};

TEST_F(allocator, gives_and_takes_back_the_memory_of_buffers) {
    {
        cuda::device_buffer a(1000, stream(), counter_.get());
        EXPECT_EQ(counter_.allocations(), 1u);
        EXPECT_EQ(counter_.bytes_out(), 1000u);
        EXPECT_EQ(counter_.last_stream(), stream().get());
        EXPECT_EQ(a.size(), 1000u);
        cuda::device_buffer b(24, stream(), counter_.get());
        EXPECT_EQ(counter_.bytes_out(), 1024u);

        // The memory goes back to where it came from, wherever the buffer is by then.
        cuda::device_buffer c(64, stream());
        std::swap(a, c);
        EXPECT_EQ(counter_.allocations(), 2u);
        a = std::move(b);
        EXPECT_EQ(counter_.bytes_out(), 1024u);
        c = {};
        EXPECT_EQ(counter_.bytes_out(), 24u);
    }
    EXPECT_EQ(counter_.buffers_out(), 0u);
    EXPECT_EQ(counter_.strays(), 0u);
}

TEST_F(allocator, is_not_asked_for_nothing) {
    const cuda::device_buffer none(0, stream(), counter_.get());
    EXPECT_EQ(none.data(), nullptr);
    EXPECT_EQ(counter_.allocations(), 0u);
}

TEST_F(allocator, that_has_nothing_is_named) {
    counter_.empty = true;
    try {
        cuda::device_buffer(4096, stream(), counter_.get());
        FAIL() << "nothing was thrown";
    } catch (const out_of_memory& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find("4096 bytes"), std::string::npos) << text;
        EXPECT_NE(text.find("counting_allocator"), std::string::npos) << text;
    }
    counter_.empty = false;
    EXPECT_EQ(cuda::device_buffer(4096, stream(), counter_.get()).size(), 4096u);
    EXPECT_EQ(counter_.strays(), 0u);
}

TEST_F(allocator, may_throw_what_it_likes) {
    counter_.throws = true;
    EXPECT_THROW(cuda::device_buffer(1, stream(), counter_.get()), std::runtime_error);
    EXPECT_EQ(counter_.buffers_out() + counter_.strays(), 0u);
}

TEST_F(allocator, whose_memory_is_misaligned_is_refused_and_gets_it_back) {
    counter_.misaligned_by = 64;
    try {
        cuda::device_buffer(512, stream(), counter_.get());
        FAIL() << "nothing was thrown";
    } catch (const invalid_argument& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find("counting_allocator"), std::string::npos) << text;
        EXPECT_NE(text.find("64 bytes behind a multiple of 256"), std::string::npos) << text;
    }
    EXPECT_EQ(counter_.allocations(), 1u);
    EXPECT_EQ(counter_.buffers_out() + counter_.strays(), 0u);
}

TEST_F(allocator, has_both_functions_or_none) {
    for (const bool allocates : {true, false}) {
        cuda::allocator half = counter_.get();
        if (allocates)
            half.deallocate = nullptr;
        else
            half.allocate = nullptr;
        EXPECT_THROW(cuda::device_buffer(1, stream(), half), invalid_argument);
        EXPECT_THROW(cuda::device_buffer(0, stream(), half), invalid_argument);
    }
    EXPECT_EQ(counter_.allocations(), 0u);
    EXPECT_EQ(cuda::device_buffer(1, stream(), cuda::allocator{.name = "none"}).size(), 1u);
}

TEST_F(allocator, gives_the_memory_of_images_tables_and_workspaces) {
    {
        const cuda::image<std::uint16_t> image(10, 20, stream(), 3, 2, counter_.get());
        EXPECT_EQ(counter_.bytes_out(), cuda::span_bytes(image.shape()));
        const cuda::table<std::uint32_t> table(10, 20, stream(), table_layout::padded, 1, 1, counter_.get());
        EXPECT_EQ(counter_.bytes_out(), cuda::span_bytes(image.shape()) + cuda::span_bytes(table.shape()));
        cuda::workspace workspace(1000, stream(), counter_.get());
        EXPECT_EQ(counter_.buffers_out(), 3u);
        workspace.reserve(1000, stream());
        EXPECT_EQ(counter_.allocations(), 3u);
        workspace.reserve(100000, stream());
        EXPECT_EQ(counter_.allocations(), 4u);
        EXPECT_EQ(counter_.buffers_out(), 3u);  // what was too small went back
        cuda::workspace moved = std::move(workspace);
        EXPECT_EQ(counter_.buffers_out(), 3u);
        moved = cuda::workspace();
        EXPECT_EQ(counter_.buffers_out(), 2u);
    }
    EXPECT_EQ(counter_.buffers_out() + counter_.strays(), 0u);
}

/// What a plan needs beside the caller's memory is in the workspace.
TEST_F(allocator, is_asked_by_no_run_of_a_plan) {
    const cuda::image<std::uint8_t> image(300, 400, stream(), 1, 1, counter_.get());
    const cuda::table<std::uint32_t> table(300, 400, stream(), {}, 1, 1, counter_.get());
    BOXSUM_CUDA_TRY(cudaMemsetAsync(image.view().data(), 1, cuda::span_bytes(image.shape()), stream().get()));
    cuda::workspace workspace(0, stream(), counter_.get());
    cuda::sat_async({image}, {table}, workspace, stream());
    const std::size_t allocations = counter_.allocations();
    for (int i = 0; i < 3; ++i) cuda::sat_async({image}, {table}, workspace, stream());
    EXPECT_EQ(counter_.allocations(), allocations);
    std::uint32_t last = 0;
    const view_shape& s = table.shape();
    cuda::copy({&table.view().entries()(299, 399), {s.type, 1, 1, 1, 1, 4, 4}}, {&last, {s.type, 1, 1, 1, 1, 4, 4}},
               stream());
    EXPECT_EQ(last, 300u * 400u);
}

/// The device of the memory is current in both functions, whichever is when a buffer is made or destroyed.
class allocator_of_two : public test::two_gpus_test {};

TEST_F(allocator_of_two, works_with_the_device_of_the_stream_current) {
    struct devices {
        int allocated = -1, freed = -1;
        std::optional<cuda::device_buffer> memory;
    } seen;
    const cuda::allocator watching{.name = "watching",
                                   .context = &seen,
                                   .allocate = [](void* context, std::size_t bytes, CUstream_st* stream) -> void* {
                                       auto& s = *static_cast<devices*>(context);
                                       s.allocated = cuda::current_device();
                                       return s.memory.emplace(bytes, stream).data();
                                   },
                                   .deallocate =
                                       [](void* context, void*, std::size_t, CUstream_st*) noexcept {
                                           auto& s = *static_cast<devices*>(context);
                                           s.freed = cuda::current_device();
                                           s.memory.reset();
                                       }};
    cuda::set_device(1);
    const cuda::stream second;
    cuda::set_device(0);
    { const cuda::device_buffer memory(100, second, watching); }
    EXPECT_EQ(seen.allocated, 1);
    EXPECT_EQ(seen.freed, 1);
    EXPECT_EQ(cuda::current_device(), 0);
}

}  // namespace
}  // namespace boxsum
