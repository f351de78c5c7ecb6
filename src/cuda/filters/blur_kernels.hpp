#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/variable_blur.hpp>

#include <cstdint>

namespace boxsum::cuda {

/// The table of one plane for windows of an order: rows x pitch entries of 64u or 64f.
template <typename Entry>
struct order_table {
    Entry* entries;
    std::int64_t rows, cols, channels;  ///< the image's, and order * the largest radius beyond
    int order;

    std::int64_t pitch() const { return cols * channels; }
};

/// Makes the table of a plane of an image, of 8u or 16u where entries are integers, else of 32f and 64f, too: as many
/// prefix sums along each axis as its order says.
template <typename Entry>
void enqueue_order_table(const const_any_view& image, std::int64_t plane, const order_table<Entry>& table,
                         stream_ref stream);

/// Blurs that plane. Radii act as those between 0 and `largest`.
void enqueue_blur(const variable_inputs& inputs, const any_view& result, std::int64_t plane,
                  const order_table<std::uint64_t>& table, std::int64_t largest, rounding_mode rounding,
                  stream_ref stream);

void enqueue_circles(const const_any_view& depth, const any_view& radii, const thin_lens& lens, stream_ref stream);

}  // namespace boxsum::cuda
