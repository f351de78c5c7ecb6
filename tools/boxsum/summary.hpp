#pragma once

#include "errors.hpp"

#include <boxsum/view.hpp>

#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace boxsum::cli {

/// How a command that writes files reports what it did.
struct summary_options {
    bool json = false;
    bool quiet = false;
};

/// --json, -q
void add_summary_options(CLI::App& command, summary_options& options);

/// What was read, written and how long the computation took.
struct summary {
    struct output {
        std::string role;  ///< "table", "squares", "result"
        std::string path;
        view_shape shape;
    };

    std::string input;
    view_shape input_shape;
    std::vector<output> outputs;
    double seconds = 0;                                        ///< of the computation
    std::vector<std::pair<std::string, std::string>> details;  ///< "layout": "padded"
    double reading_seconds = 0;
    double writing_seconds = 0;
};

/// Throws usage_error when two outputs are one file, whatever they are called, or when `--json` and an output both want
/// standard output. Empty names are outputs that were not asked for.
void check_outputs(const std::vector<std::string>& paths, const summary_options& options);

/// One line, or JSON; nothing when quiet or when an output took standard output. The throughput is the computation's
/// and counts every pixel that it reads and writes once.
exit_code print_summary(const summary& what, const summary_options& options);

}  // namespace boxsum::cli
