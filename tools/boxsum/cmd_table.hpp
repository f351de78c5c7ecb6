#pragma once

#include "action.hpp"
#include "compute.hpp"
#include "files.hpp"
#include "source.hpp"
#include "summary.hpp"

#include <string>

namespace boxsum::cli {

/// boxsum table: an image in, its summed area table out.
struct table_options {
    file_options files;
    source_options source;
    std::string squares;       ///< output of the table of squares; empty for none
    std::string table_type;    ///< empty: 64u, 64s or 64f
    std::string squares_type;  ///< empty: the widest that goes with the table's type
    std::string layout = "padded";
    compute_options compute;
    summary_options report;
};

void setup_table(CLI::App& app, action& chosen);
exit_code run_table(const table_options& options);

}  // namespace boxsum::cli
