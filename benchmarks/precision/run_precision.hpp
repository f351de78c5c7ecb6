#pragma once

#include "errors.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace boxsum::bench {

/// What `boxsum bench precision` was asked for.
struct precision_options {
    std::vector<std::string> sizes = {"512", "2k"};  ///< edge lengths of squares: "512", "8k"
};

/// Adds `precision` with its options, which parsing fills, to the program's command line.
const CLI::App* add_precision_command(CLI::App& app, precision_options& options);

/// Prints how far means of boxes from tables of each kind are from the exact ones, as tables of Markdown. Plain loops
/// on one thread: the digits are those of every machine.
cli::exit_code run_precision(const precision_options& options);

}  // namespace boxsum::bench
