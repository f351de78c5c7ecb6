// What a caller sees where there is no GPU, or no CUDA in the build.

#include "support/gpu.hpp"

#include <boxsum/cuda/blobs.hpp>
#include <boxsum/cuda/guided_filter.hpp>
#include <boxsum/cuda/row_stream.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/shadow.hpp>
#include <boxsum/cuda/variable_blur.hpp>
#include <boxsum/cuda/window_queries.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

namespace boxsum {
namespace {

TEST(absent, everything_that_needs_a_device_says_that_there_is_none) {
    if (test::no_gpu_reason().empty()) GTEST_SKIP() << "there is a CUDA device";
    EXPECT_EQ(cuda::device_count(), 0);
    EXPECT_THROW(cuda::current_device(), unsupported);
    EXPECT_THROW(cuda::set_device(0), unsupported);
    EXPECT_THROW(cuda::describe_device(0), unsupported);
    EXPECT_THROW(cuda::stream{}, unsupported);
    EXPECT_THROW(cuda::device_buffer(1, cuda::stream_ref::legacy_default()), unsupported);
    EXPECT_THROW(cuda::pinned_buffer(1), unsupported);
    const view_shape image = cuda::device_shape(dtype::u8, 4, 5), table = cuda::device_shape(dtype::u32, 4, 5);
    EXPECT_THROW(cuda::sat_plan(sat_shapes{image, table}), unsupported);
    EXPECT_THROW(cuda::guided_filter_plan({.image = {nullptr, image}}, {{nullptr, image}}), unsupported);
    EXPECT_THROW(cuda::row_stream({dtype::u8, 4}, {}, 1, cuda::stream_ref::legacy_default()), unsupported);
    EXPECT_THROW(cuda::variance_shadows({}, {}, cuda::stream_ref::legacy_default()), unsupported);
    EXPECT_THROW(cuda::window_means(const_any_table_view{}, {}, cuda::stream_ref::legacy_default()), unsupported);
    EXPECT_THROW(cuda::find_blobs({}, cuda::stream_ref::legacy_default()), unsupported);
    EXPECT_THROW(cuda::image_means({}, cuda::stream_ref::legacy_default()), unsupported);
    EXPECT_THROW(cuda::variable_blur({}, {}, cuda::stream_ref::legacy_default()), unsupported);
    try {
        cuda::current_device();
    } catch (const unsupported& e) {
        EXPECT_NE(std::string(e.what()).find(cuda::built() ? "no CUDA device" : "built without CUDA"),
                  std::string::npos)
            << e.what();
    }
}

TEST(device_shape, rows_start_on_256_bytes_and_hopeless_extents_are_named) {
    const view_shape s = cuda::device_shape(dtype::u16, 7, 100, 3, 2);
    EXPECT_EQ(s.row_stride, 768);
    EXPECT_EQ(s.plane_stride, 7 * 768);
    EXPECT_EQ(cuda::span_bytes(s), static_cast<std::size_t>(7 * 768 + 6 * 768 + 600));
    EXPECT_THROW(cuda::device_shape(dtype::f64, 1, std::int64_t{1} << 60), invalid_argument);
    EXPECT_THROW(cuda::device_shape(dtype::f64, std::int64_t{1} << 40, std::int64_t{1} << 40), invalid_argument);
    EXPECT_THROW(cuda::device_shape(dtype::u8, 0, 1), invalid_argument);
}

}  // namespace
}  // namespace boxsum
