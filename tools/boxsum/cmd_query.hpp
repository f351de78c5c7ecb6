#pragma once

#include "action.hpp"
#include "compute.hpp"
#include "source.hpp"

#include <string>
#include <vector>

namespace boxsum::cli {

/// boxsum query: sums, means and variances of boxes, of an image or of table files.
struct query_options {
    std::string input;
    std::vector<box> boxes;
    std::string boxes_file;
    std::optional<table_layout> layout;  ///< input is a table of this layout; else an image
    std::string squares;                 ///< table of squares, with a layout
    source_options source;
    compute_options compute;
    bool json = false;
    bool csv = false;
};

void setup_query(CLI::App& app, action& chosen);
exit_code run_query(const query_options& options);

}  // namespace boxsum::cli
