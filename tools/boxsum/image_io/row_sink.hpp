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
    /// Bytes before the first row, where rows go to the file as they are. The kernel copies 15 % faster what lies as in
    /// the file within a cache line: shift() is how far from such a line's start rows are best put.
    std::size_t lead = 0;

    static constexpr std::size_t line_bytes = 64;

    /// Of rows of elements of so many bytes, when `written` bytes of rows have been written. Below line_bytes.
    std::size_t shift(std::int64_t written, std::size_t element_bytes) const {
        const std::size_t bytes = (lead + static_cast<std::size_t>(written)) % line_bytes;
        return bytes % element_bytes == 0 ? bytes : 0;
    }

    /// The shape of memory for rows that are shifted so.
    static view_shape with_slack(view_shape packed) {
        packed.plane_stride += static_cast<std::int64_t>(line_bytes);
        return packed;
    }
};

/// Whether there is a row_sink for such an output: the format, or an option, may need the whole image.
bool takes_rows(const std::string& path, image_format format, const image& about, const write_options& options);

/// Of an image of the shape and metadata of `about`, whose data are not looked at. Nothing unless takes_rows().
std::optional<row_sink> row_sink_for(output_file& out, image_format format, const image& about,
                                     const write_options& options);

/// How many rows are worth a strip: a few MiB, less where memory is short, and `least`.
std::int64_t rows_of_strip(std::int64_t bytes_of_row, std::int64_t least);

}  // namespace boxsum::cli
