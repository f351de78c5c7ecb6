#pragma once

#include "image_io/format.hpp"
#include "image_io/image.hpp"
#include "image_io/output_file.hpp"

#include <functional>
#include <string>

namespace boxsum::cli {

/// Reads an image from a file, or from standard input for "-". The format is told by the contents.
/// Prints a note on standard error where a reader left something out.
/// Throws input_error naming the file, out_of_memory.
image read_image(const std::string& path, const read_options& options = {});

/// How many images a file has that --page can choose: a TIFF's pages, a FITS file's images; else 1. Throws as
/// read_image().
int count_pages(const std::string& path);

/// The format in which an output will be written: `chosen` (a name, may be empty), or else the ending of the path.
/// Throws usage_error when neither tells.
image_format output_format(const std::string& path, const std::string& chosen, std::string_view option);

/// Throws `unsupported`, naming the output, when the format cannot hold such pixels. To be asked before the work.
void check_can_hold(const std::string& path, image_format format, const view_shape& pixels);

/// Prints a note when the format cannot hold what the input says about its place on Earth or its colours.
void note_what_is_lost(const image& source, image_format format, const std::string& input);

/// Writes a TIFF of so many pages, each asked for (from 1) when its turn has come. As write_image() does.
void write_pages(output_file& out, int count, const std::function<image(int page)>& page, const write_options& options);

/// Writes and leaves committing to the caller, so that several outputs can appear together.
void write_image(output_file& out, image_format format, const image& pixels, const write_options& options = {});

}  // namespace boxsum::cli
