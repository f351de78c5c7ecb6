#pragma once

#include "image_io/image.hpp"

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace boxsum::cli {

/// What a command takes of an image file.
struct source_options {
    int page = 1;
    int band = 0;        ///< 1 to 4; 0: all channels
    std::string region;  ///< "row,col,rows,cols"; empty: the whole image
    bool grey = false;
    std::string luma = "601";
    std::uint64_t memory = 0;  ///< 0: what the machine has left
};

/// --page, --band, --region, --grey, --luma, --memory
void add_source_options(CLI::App& command, source_options& options);

/// Reads an image, or the part of it that the options say. Throws input_error, naming the file, where it has no such
/// page, band or region.
image read_source(const std::string& path, const source_options& options);

}  // namespace boxsum::cli
