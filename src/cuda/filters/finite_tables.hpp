#pragma once

#include "cuda/filters/window_kernels.hpp"

#include <boxsum/cuda/stream.hpp>
#include <boxsum/view.hpp>

#include <cstddef>

/// Tables of floating images whose pixels all count, and need not be finite.
namespace boxsum::cuda {

/// Device memory beside a padded table of this shape, a multiple of 256; `numbers`: 32u or 64u, for those of pixels.
std::size_t finite_table_bytes(const view_shape& table, dtype numbers);

/// Enqueues: where a pixel of a plane is not finite, its table becomes that of the plane with 0 in the place of all
/// such, and tables of where they are are made in `space`, which `to` names. Where all are finite, as the table's last
/// entries tell, nothing is done: the device decides, so that this can be captured into a graph.
void enqueue_finite_table(const const_any_view& image, const any_view& table, dtype numbers, void* space,
                          stream_ref stream, sample_tables& to);

}  // namespace boxsum::cuda
