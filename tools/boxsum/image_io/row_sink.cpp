#include "image_io/row_sink.hpp"

#include "image_io/codecs.hpp"
#include "image_io/memory_limit.hpp"

#include <algorithm>

namespace boxsum::cli {

std::optional<row_sink> row_sink_for(output_file& out, image_format format, const image& about,
                                     const write_options& options) {
    if (options.bits == 1 || options.compress == "g4" || out.path().ends_with(".pbm")) return {};  // one look at all
    switch (format) {
        case image_format::npy:
            return npy_rows(out, about);
        case image_format::tiff:
            return tiff_rows(out, about, options);
        case image_format::pnm:
            if (about.maxval == 0) return pnm_rows(out, about);  // else the largest pixel decides
            return {};
        default:
            return {};
    }
}

std::int64_t rows_of_strip(std::int64_t bytes_of_row, std::int64_t least) {
    // A strip that stays in the cache between computing and writing is worth more than a call for each is dear.
    constexpr std::uint64_t most = std::uint64_t{8} << 20;
    constexpr std::uint64_t share = 8;  // what the filter needs besides is of the same size
    const auto bytes = static_cast<std::int64_t>(std::min(most, memory_limit() / share));
    return std::max({std::int64_t{1}, least, bytes / std::max<std::int64_t>(1, bytes_of_row)});
}

}  // namespace boxsum::cli
