#pragma once

#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cstdint>

namespace boxsum::bench {

/// The same pseudo-random elements for the same seed: integers over their whole range, floats in [0, 1), so that
/// relative errors of their sums are bounded.
void fill_random(void* data, dtype type, std::int64_t elements, std::uint64_t seed = 1);

/// A plane of elements whose rows start on multiples of `alignment` bytes.
view_shape aligned_shape(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t alignment);

/// Whether two tables of fill_random images agree, row by row as their strides may differ: integers exactly, floats to
/// what sums of so many rows and columns may lose at most.
bool same_table(const const_any_view& got, const const_any_view& expected);

}  // namespace boxsum::bench
