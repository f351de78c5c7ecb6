#include "source.hpp"

#include "colour.hpp"
#include "errors.hpp"
#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "image_io/memory_limit.hpp"
#include "option_types.hpp"
#include "pixels.hpp"
#include "text_output.hpp"

#include <CLI/CLI.hpp>

#include <cstring>

namespace boxsum::cli {
namespace {

/// The image's own bytes, fewer of them.
image cropped(const image& source, const box& where, const std::string& name) {
    const view_shape& s = source.view.shape;
    try {
        check_box(where, s.rows, s.cols);
    } catch (const invalid_argument& e) {
        throw input_error("--region: '" + name + "': " + e.what());
    }
    image part = source;
    part.view.data =
        row_as<std::byte>(source.view, where.row) + where.col * s.channels * static_cast<std::int64_t>(size_of(s.type));
    part.view.shape.rows = where.rows;
    part.view.shape.cols = where.cols;
    return part;
}

image band_of(const image& source, int band, const std::string& name) {
    const view_shape& s = source.view.shape;
    if (band > s.channels)
        throw input_error("--band: '" + name + "' has " + std::to_string(s.channels) +
                          (s.channels == 1 ? " channel" : " channels"));
    const writable_image out = allocate_image(packed_shape(s.type, s.rows, s.cols, 1));
    const std::size_t element = size_of(s.type);
    for (std::int64_t r = 0; r < s.rows; ++r) {
        const std::byte* from = row_as<std::byte>(source.view, r) + static_cast<std::size_t>(band - 1) * element;
        std::byte* to = out.row(r);
        for (std::int64_t c = 0; c < s.cols; ++c, from += element * static_cast<std::size_t>(s.channels), to += element)
            std::memcpy(to, from, element);
    }
    image result = source;
    result.view = out.view;
    result.owner = out.owner;
    result.alpha = false;
    return result;
}

}  // namespace

void add_source_options(CLI::App& command, source_options& options) {
    command.add_option("--page", options.page, "page of a TIFF, from 1")->check(CLI::Range(1, 65535))->group("Input");
    command.add_option("--band", options.band, "only this channel, from 1")->check(CLI::Range(1, 4))->group("Input");
    command.add_option("--region", options.region, "only this part: row,col,rows,cols")
        ->check(box_text)
        ->group("Input");
    command.add_flag("--grey,--gray", options.grey, "colours as one brightness")->group("Input");
    command.add_option("--luma", options.luma, "weights of brightness: 601 (default) or 709")
        ->check(CLI::IsMember({"601", "709"}))
        ->group("Input");
    command.add_option("--memory", options.memory, "at most so much memory, like 500M or 2G (default: what is free)")
        ->transform(CLI::AsSizeValue(false))
        ->group("Input");
}

image read_source(const std::string& path, const source_options& options) {
    if (options.memory > 0) set_memory_limit(options.memory);
    image source = read_image(path, {.page = options.page});
    if (!options.region.empty()) source = cropped(source, *parse_box(options.region), input_name(path));
    if (options.band > 0) source = band_of(source, options.band, input_name(path));
    return options.grey ? to_grey(source, options.luma) : source;
}

}  // namespace boxsum::cli
