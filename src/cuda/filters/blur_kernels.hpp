#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/variable_blur.hpp>

#include <cstdint>

namespace boxsum::cuda {

/// The table of one plane for windows of an order: 64u, rows x pitch entries.
struct order_table {
    std::uint64_t* entries;
    std::int64_t rows, cols, channels;  ///< the image's, and order * the largest radius beyond
    int order;

    std::int64_t pitch() const { return cols * channels; }
};

/// Makes the table of a plane of an image of 8u or 16u: as many prefix sums along each axis as its order says.
void enqueue_order_table(const const_any_view& image, std::int64_t plane, const order_table& table, stream_ref stream);

/// Blurs that plane. Radii act as those between 0 and `largest`.
void enqueue_blur(const variable_inputs& inputs, const any_view& result, std::int64_t plane, const order_table& table,
                  std::int64_t largest, rounding_mode rounding, stream_ref stream);

void enqueue_circles(const const_any_view& depth, const any_view& radii, const thin_lens& lens, stream_ref stream);

}  // namespace boxsum::cuda
