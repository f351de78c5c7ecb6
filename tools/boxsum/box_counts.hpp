#pragma once

#include "image_io/image.hpp"

#include <boxsum/binning.hpp>
#include <boxsum/box.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace boxsum::cli {

/// The bin of every pixel of a channel of an image of any type, as 16u; binning::no_bin where it has none. Only of the
/// part `where`, which becomes the image.
writable_image bin_numbers(const image& source, std::int64_t channel, const binning& bins, const box& where);

/// counts[box * bins + bin], from the pixels of the boxes themselves.
std::vector<std::uint64_t> count_boxes(const image& source, std::int64_t channel, const binning& bins,
                                       std::span<const box> boxes);

}  // namespace boxsum::cli
