#pragma once

#include "colour.hpp"
#include "files.hpp"
#include "filter_options.hpp"
#include "source.hpp"
#include "strips.hpp"
#include "summary.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace boxsum::cli {

/// What `blur`, `threshold` and `normalize` share: an image in, an image out.
struct filter_command_options {
    file_options files;
    source_options source;
    filter_options filter;
    summary_options report;
};

/// The arguments and options of all of these.
void add_filter_command_options(CLI::App& command, filter_command_options& options, const std::string& formats);

using strip_work = std::function<void(const strip& part, const any_view& result)>;

/// What one of them does.
struct filter_command {
    std::string doing;  ///< "blurring"
    /// Type and channels of the result for an image without opacity, to be checked before the work.
    std::function<view_shape(const image& colours, image_format format)> result_shape;
    /// Computes it; opacity is put back by the command, unless the result has it.
    std::function<image(const separated_image& source, image_format format)> compute;
    std::vector<std::pair<std::string, std::string>> details = {};
    /// What computes a strip of the result for an image without opacity, where the strip's part of the image is enough:
    /// the image is then gone through in strips. Of `source` the pixels may be looked at for what concerns all strips.
    std::function<strip_work(const image& source, image_format format)> rows = {};
    window reach = {};  ///< how far windows reach
    sampling samples = {};
};

/// Reads, computes, writes and reports, for every input.
exit_code run_filter_command(const filter_command_options& options, const filter_command& command);

}  // namespace boxsum::cli
