#pragma once

#include "action.hpp"
#include "compute.hpp"
#include "files.hpp"
#include "source.hpp"
#include "summary.hpp"

#include <optional>
#include <string>

namespace boxsum::cli {

/// boxsum table: an image in, its summed area table out.
struct table_options {
    file_options files;
    source_options source;
    std::string squares;                ///< output of the table of squares; empty for none
    std::optional<dtype> table_type;    ///< else 64u, 64s or 64f
    std::optional<dtype> squares_type;  ///< else the widest that goes with the table's type
    table_layout layout = table_layout::padded;
    compute_options compute;
    summary_options report;
};

void setup_table(CLI::App& app, action& chosen);
exit_code run_table(const table_options& options);

}  // namespace boxsum::cli
