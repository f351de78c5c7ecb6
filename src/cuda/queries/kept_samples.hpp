#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <optional>

/// What tables of pixels that may not count are made of, on a device (boxsum::sat() has the rules).
namespace boxsum::cuda {

/// Images of the extents of the one that is read; those that are not wanted have no data.
struct kept_images {
    any_view pixels = {};   ///< of its type: 0 where a pixel does not count
    any_view counts = {};   ///< 8u: 1 or 0
    any_view sums = {};     ///< 64f, as the below: pixels times their weights
    any_view squares = {};  ///< their squares times their weights
    any_view weights = {};  ///< 0 where a pixel does not count
    /// 8u: 1 where a pixel that counts, or its product, is inf or NaN, or -inf or NaN; `pixels` and `sums` then have 0
    /// there, and *any_infinite, which the caller has zeroed, is not 0 if there is one. Both or none.
    any_view positive = {}, negative = {};
    std::uint32_t* any_infinite = nullptr;
};

/// Enqueues their making. Arguments have been checked; `nodata` is a value of the image's type.
void enqueue_kept(const sat_inputs& inputs, const std::optional<double>& nodata, const kept_images& to,
                  stream_ref stream);

}  // namespace boxsum::cuda
