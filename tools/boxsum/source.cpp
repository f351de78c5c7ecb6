#include "source.hpp"

#include "errors.hpp"
#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "image_io/memory_limit.hpp"
#include "option_types.hpp"
#include "pixels.hpp"
#include "text_output.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <utility>

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
    if (source.metadata) {
        auto metadata = std::make_shared<image_metadata>(*source.metadata);
        move_origin(*metadata, where.row, where.col);
        part.metadata = std::move(metadata);
    }
    return part;
}

std::optional<int> parse_page(std::string_view text) {
    if (text == "all") return all_pages;
    constexpr int most = 65535;
    const auto numbers = parse_integers(text);
    if (!numbers || numbers->size() != 1 || numbers->front() < 1 || numbers->front() > most) return {};
    return static_cast<int>(numbers->front());
}

}  // namespace

void add_source_options(CLI::App& command, source_options& options) {
    add_parsed(command, "--page", options.page, parse_page, "is neither a number from 1 to 65535 nor all",
               "page of a TIFF or image of a FITS file, from 1; where images are written,\nall: a TIFF of as many "
               "pages, or a file each by {page}")
        ->group("Input");
    command.add_option("--band", options.band, "only this channel, from 1")
        ->check(CLI::Range(1, 65535))
        ->group("Input");
    add_parsed(command, "--region", options.region, parse_box, no_box, "only this part: row,col,rows,cols")
        ->group("Input");
    command.add_flag("--grey,--gray", options.grey, "colours as one brightness")->group("Input");
    add_parsed(command, "--luma", options.luma,
               one_of<luma_weights>({{"601", luma_weights::bt601}, {"709", luma_weights::bt709}}),
               "is neither 601 nor 709", "weights of brightness: 601 (default) or 709")
        ->group("Input");
    command.add_option("--memory", options.memory, "at most so much memory, like 500M or 2G (default: what is free)")
        ->transform(CLI::AsSizeValue(false))
        ->group("Input");
}

image read_source(const std::string& path, const source_options& options) {
    if (options.memory > 0) set_memory_limit(options.memory);
    if (options.page == all_pages)
        throw usage_error("--page all: needs a command that writes images, and '{page}' in the output's name");
    image source = read_image(path, {.page = options.page, .band = options.band});
    if (options.region) source = cropped(source, *options.region, input_name(path));
    return options.grey ? to_grey(source, options.luma) : source;
}

}  // namespace boxsum::cli
