#pragma once

#include "core/problem.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <string>

namespace boxsum::test {

/// The definition on the device, for tests that need it thousands of times or on images too large for the host: one
/// thread a row, then one thread a column, 64-bit integers throughout. Exact, so floating images must hold integers
/// whose sums their table represents exactly (fill_exact). Checked against additions on the host by
/// tests/emulated/device_oracle_test.cpp.
class device_oracle {
  public:
    /// Room for images of up to so many elements.
    device_oracle(std::int64_t elements, cuda::stream_ref stream);

    /// Inclusive sums of every channel of every plane; of the squared pixels with `square`.
    void sum(const const_any_view& image, bool square, cuda::stream_ref stream);

    /// Enqueues the comparison of a table of the summed image; what differs is added up until `result`. A form has one
    /// offset, an integer, and for squares none.
    void compare(const const_any_view& table, const table_form& form, cuda::stream_ref stream);

    /// Enqueues the check that the bytes of a block that belong to no element of the view in it are still `poison`.
    void check_gaps(const void* block, std::size_t bytes, const const_any_view& view, int poison,
                    cuda::stream_ref stream);

    /// Waits; what was found since the last call, empty for nothing.
    std::string result(cuda::stream_ref stream);

  private:
    cuda::device_buffer sums_, findings_;
    view_shape image_;
};

/// Largest |value| of fill_exact for an image of so many elements: the full range for integer tables, else as much as
/// keeps every sum (of squares, too) exact in the table's type.
std::int64_t exact_magnitude(dtype table, std::int64_t elements, bool squares);

/// Pseudo-random integers of at most `magnitude` (signed ones of either sign), or the full range of an integer type
/// when that is 0; all pixels but one in `one_in` are 0, which keeps sums of large unsigned images exact. `level` is
/// added to every pixel.
void fill_exact(const any_view& image, std::int64_t magnitude, std::uint64_t seed, cuda::stream_ref stream,
                std::int64_t one_in = 1, std::int64_t level = 0);

/// The image I(plane, r, c) = plane % 16 + r % 113 + c % 127 of 8u elements, and the comparison of its inclusive or
/// padded 32u table with the closed form, every entry. Returns what was found; waits.
void fill_position_coded(const any_view& image, cuda::stream_ref stream);
std::string compare_position_coded(const const_any_view& table, table_layout layout, cuda::stream_ref stream);

/// Counts the bytes that differ into *count (device memory).
void count_differences(const void* a, const void* b, std::size_t bytes, unsigned long long* count,
                       cuda::stream_ref stream);

}  // namespace boxsum::test
