#pragma once

#include "colour.hpp"
#include "files.hpp"
#include "filter_options.hpp"
#include "source.hpp"
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

/// A cut of an image into strips of rows that fit into little memory.
class strips {
  public:
    /// For windows that reach so many rows up and down, and results of so many bytes a row.
    strips(const view_shape& image, std::int64_t above, std::int64_t below, std::int64_t bytes_of_row);

    /// Rows of the highest one.
    std::int64_t most_rows() const { return most_; }

    /// From top to bottom: the rows of the image and of its mask and weights that the windows of so many rows
    /// of the result lie in.
    void for_each(const image& source, const sampling& samples,
                  const std::function<void(const filter_inputs& part, std::int64_t rows)>& work) const;

  private:
    std::int64_t above_, below_, height_ = 1, most_ = 1;
};

/// What one of them does.
struct filter_command {
    std::string doing;  ///< "blurring"
    /// Type and channels of the result for an image without opacity, to be checked before the work.
    std::function<view_shape(const image& colours, image_format format)> result_shape;
    /// Computes it; opacity is put back by the command, unless the result has it.
    std::function<image(const separated_image& source, image_format format)> compute;
    std::vector<std::pair<std::string, std::string>> details = {};
    /// The rows of the result whose windows lie in a part of an image without opacity, where a part is enough: the
    /// image is then gone through in strips. Of `source` metadata are taken.
    std::function<void(const image& source, const filter_inputs& part, const any_view& result)> rows = {};
    std::function<bool(const image& source, image_format format)> takes_rows = {};  ///< empty: every image
    std::int64_t above = 0, below = 0;                                              ///< how far windows reach
    sampling samples = {};
};

/// Reads, computes, writes and reports, for every input.
exit_code run_filter_command(const filter_command_options& options, const filter_command& command);

}  // namespace boxsum::cli
