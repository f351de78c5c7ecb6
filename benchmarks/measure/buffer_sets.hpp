#pragma once

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace boxsum::bench {

/// Packed rows.
view_shape packed(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t channels = 1, std::int64_t planes = 1);

/// Images and tables on the device, in as many sets as exceed the second-level cache together (2 to 48): launches that
/// go round them read from memory. An image is filled once with integers of at most 255, of either sign where the type
/// has one, so that every sum is exact also in 32f: those of signed values stay near 150 * n, far below 2^24; unsigned
/// images of tables of 32f are mostly 0. `level` is added to pixels that are not 8u.
class buffer_sets {
  public:
    buffer_sets(const view_shape& image, const view_shape& table, const std::optional<view_shape>& squares,
                cuda::stream_ref stream, std::int64_t level = 0);

    bool has_squares() const { return squares_.has_value(); }
    int count() const { return static_cast<int>(memory_.size()); }

    /// Those of launch number i, which may exceed the count.
    const_any_view image(int i) const { return {at(i).image.data(), image_}; }
    any_view table(int i) const { return {at(i).table.data(), table_}; }
    any_view squares(int i) const { return {at(i).squares.data(), *squares_}; }

  private:
    struct set {
        cuda::device_buffer image, table, squares;
    };
    const set& at(int i) const { return memory_[static_cast<std::size_t>(i) % memory_.size()]; }

    view_shape image_, table_;
    std::optional<view_shape> squares_;
    std::vector<set> memory_;
};

}  // namespace boxsum::bench
