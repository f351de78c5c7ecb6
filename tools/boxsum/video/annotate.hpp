#pragma once

#include <boxsum/box.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <string>

namespace boxsum::cli {

/// Writes folder/frame_NNNNNN.png: the frame in grey with the outline of a box, black within white. Throws io_error.
void write_annotated(const std::string& folder, std::int64_t number, const image_view<const std::uint8_t>& frame,
                     const box& b);

}  // namespace boxsum::cli
