#pragma once

#include "support/border_samples.hpp"
#include "support/filter_images.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/filters.hpp>

#include <algorithm>
#include <deque>
#include <string>

namespace boxsum::test {

/// Rows of a shape further apart, and the image some elements into its memory.
struct placed_image {
    host_image memory;
    std::int64_t offset;

    placed_image(view_shape s, std::int64_t gap, std::int64_t first)
        : memory((s.row_stride += gap * size_in(s), s.plane_stride = s.rows * s.row_stride + gap * size_in(s), s)),
          offset(first * size_in(s)) {
        memory.bytes.resize(memory.bytes.size() + static_cast<std::size_t>(offset), std::byte{0x5a});
    }
    any_view view() { return {memory.bytes.data() + offset, memory.shape}; }

    static std::int64_t size_in(const view_shape& s) { return static_cast<std::int64_t>(size_of(s.type)); }
};

/// Base of tests that compare whole memories, with what lies between the rows.
class placed_images_test : public gpu_stream_test {
  protected:
    /// All bytes of a placed image on the device, and back.
    any_view upload(placed_image& image) {
        const auto bytes = static_cast<std::int64_t>(image.memory.bytes.size());
        memory_.emplace_back(static_cast<std::size_t>(bytes), stream());
        cuda::copy({image.memory.bytes.data(), packed(dtype::u8, 1, bytes, 1)},
                   {memory_.back().data(), packed(dtype::u8, 1, bytes, 1)}, stream());
        return {static_cast<std::byte*>(memory_.back().data()) + image.offset, image.memory.shape};
    }
    /// The bytes of what was uploaded from a placed image.
    std::vector<std::byte> fetched(const placed_image& of, const any_view& result) {
        const auto bytes = static_cast<std::int64_t>(of.memory.bytes.size());
        std::vector<std::byte> got(of.memory.bytes.size());
        cuda::copy({static_cast<std::byte*>(result.data) - of.offset, packed(dtype::u8, 1, bytes, 1)},
                   {got.data(), packed(dtype::u8, 1, bytes, 1)}, stream());
        return got;
    }
    void expect_fetched(placed_image& expected, const any_view& result, const std::string& what) {
        const std::vector<std::byte> got = fetched(expected, result);
        const auto differs = std::mismatch(got.begin(), got.end(), expected.memory.bytes.begin()).first - got.begin();
        const view_shape& s = expected.memory.shape;
        EXPECT_EQ(differs, static_cast<std::int64_t>(got.size()))
            << what << ": row " << (differs - expected.offset) / s.row_stride << ", byte "
            << (differs - expected.offset) % s.row_stride;
    }

    std::deque<cuda::device_buffer> memory_;
};

struct random_case {
    filter_case shape;
    std::int64_t gap, first, result_gap, result_first;
    pattern values;
};

/// Windows up to beyond the image, images of one strip and of several, mostly of one channel and on even addresses.
template <typename Random>
random_case draw_case(Random& random, const std::vector<dtype>& types) {
    const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    random_case c{};
    filter_case& s = c.shape;
    s.type = types[static_cast<std::size_t>(below(static_cast<std::int64_t>(types.size())))];
    s.border = every_border[below(std::size(every_border))];
    s.channels = below(3) == 0 ? 1 + below(4) : 1;
    s.planes = below(5) == 0 ? 2 : 1;
    s.rows = 1 + below(below(3) == 0 ? 150 : 30);
    s.cols = 1 + below(below(3) == 0 ? 700 : 80);
    const auto reach = [&](std::int64_t extent) {
        const std::int64_t kind = below(6);
        return kind == 0 ? 0 : kind < 4 ? below(8) : kind == 4 ? below(40) : below(extent + 1);
    };
    s.window = window(window_extents{reach(s.rows), reach(s.rows), reach(s.cols), reach(s.cols)});
    const auto gap = [&] { return below(2) == 0 ? (16 - s.cols * s.channels % 16) % 16 : below(7); };
    const auto first = [&] { return below(3) == 0 ? below(5) : 0; };
    c.gap = gap(), c.first = first(), c.result_gap = gap(), c.result_first = first();
    const auto patterns = patterns_for(s.type);
    c.values = patterns[static_cast<std::size_t>(below(static_cast<std::int64_t>(patterns.size())))];
    return c;
}

inline std::string text_of(const random_case& c) {
    return text_of(c.shape) + ", " + std::string(name_of(c.values)) + ", gaps " + std::to_string(c.gap) + ", " +
           std::to_string(c.result_gap) + ", from " + std::to_string(c.first) + ", " + std::to_string(c.result_first);
}

}  // namespace boxsum::test
