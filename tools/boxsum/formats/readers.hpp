#pragma once

#include "image_io/image.hpp"

/// The readers of the module of rare formats; what they take and give is told in image_io/codecs.hpp.
namespace boxsum::cli::formats {

image read_exr(const encoded_bytes& file, const read_options& options);
image read_fits(const encoded_bytes& file, const read_options& options);
int fits_images(const encoded_bytes& file);
const char* exr_version();
const char* fits_version();

}  // namespace boxsum::cli::formats
