#pragma once

#include "colour.hpp"
#include "image_io/image.hpp"

#include <boxsum/box.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace boxsum::cli {

/// --page all
inline constexpr int all_pages = 0;

/// What a command takes of an image file.
struct source_options {
    std::optional<int> page = {};  ///< from 1, or all_pages; else the first, with a note where there are others
    int band = 0;                  ///< from 1; 0: all channels
    std::optional<box> region = {};
    bool grey = false;
    luma_weights luma = luma_weights::bt601;
    std::uint64_t memory = 0;  ///< 0: what the machine has left
};

/// --page, --band, --region, --grey, --luma, --memory
void add_source_options(CLI::App& command, source_options& options);

/// Reads an image, or the part of it that the options say. Throws input_error, naming the file, where it has no such
/// page, band or region, usage_error for all of its pages.
image read_source(const std::string& path, const source_options& options);

}  // namespace boxsum::cli
