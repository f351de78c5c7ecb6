#pragma once

#include "image_io/format.hpp"
#include "image_io/image.hpp"
#include "image_io/output_file.hpp"

#include <functional>
#include <optional>
#include <string>

namespace boxsum::cli {

/// Takes an image's rows from top to bottom, any number at a time, so that the whole need not be in memory.
struct row_sink {
    std::function<void(const const_any_view& rows)> write;
    std::function<void()> finish;  ///< after the last row
};

/// Whether there is a row_sink for such an output: the format, or an option, may need the whole image.
bool takes_rows(const std::string& path, image_format format, const image& about, const write_options& options);

/// Of an image of the shape and metadata of `about`, whose data are not looked at. Nothing unless takes_rows().
std::optional<row_sink> row_sink_for(output_file& out, image_format format, const image& about,
                                     const write_options& options);

/// How many rows are worth a strip: a few MiB, less where memory is short, and `least`.
std::int64_t rows_of_strip(std::int64_t bytes_of_row, std::int64_t least);

}  // namespace boxsum::cli
