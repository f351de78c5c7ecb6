// Device memory of the caller's choice.

#include "support/counting_allocator.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

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
