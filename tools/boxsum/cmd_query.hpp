#pragma once

#include "action.hpp"
#include "compute.hpp"

#include <string>
#include <vector>

namespace boxsum::cli {

/// boxsum query: sum, mean and variance of boxes of an image, or from tables that were written before.
struct query_options {
    std::string input;               ///< an image, or a table of sums when `table_layout` is given
    std::string table_layout;        ///< layout of the table file; empty when the input is an image
    std::string squares;             ///< table of squares that goes with the table file
    std::vector<std::string> boxes;  ///< "row,col,rows,cols"
    std::string boxes_file;          ///< CSV, one box a line
    compute_options compute;
    bool json = false;
    bool csv = false;
};

void setup_query(CLI::App& app, action& chosen);
exit_code run_query(const query_options& options);

}  // namespace boxsum::cli
