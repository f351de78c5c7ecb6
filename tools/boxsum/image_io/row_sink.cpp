#include "image_io/row_sink.hpp"

#include "image_io/codecs.hpp"
#include "image_io/memory_limit.hpp"

#include <algorithm>

namespace boxsum::cli {

bool takes_rows(const std::string& path, image_format format, const image& about, const write_options& options) {
    if (options.bits == 1 || options.compress == tiff_compression::g4 || path.ends_with(".pbm") ||
        path.ends_with(".PBM"))
        return false;                                           // one look at all
    if (format == image_format::pnm) return about.maxval == 0;  // else the largest pixel decides
    return format == image_format::npy || format == image_format::tiff;
}

std::optional<row_sink> row_sink_for(output_file& out, image_format format, const image& about,
                                     const write_options& options) {
    if (!takes_rows(out.path(), format, about, options)) return {};
    if (format == image_format::npy) return npy_rows(out, about);
    return format == image_format::tiff ? tiff_rows(out, about, options) : pnm_rows(out, about);
}

std::int64_t rows_of_strip(std::int64_t bytes_of_row, std::int64_t least) {
    // A strip that stays in the cache between computing and writing is worth more than a call for each is dear.
    constexpr std::uint64_t most = std::uint64_t{4} << 20;
    constexpr std::uint64_t share = 8;  // what the filter needs besides is of the same size
    const auto bytes = static_cast<std::int64_t>(std::min(most, memory_limit() / share));
    return std::max({std::int64_t{1}, least, bytes / std::max<std::int64_t>(1, bytes_of_row)});
}

}  // namespace boxsum::cli
