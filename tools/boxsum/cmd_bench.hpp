#pragma once

#include "action.hpp"

#include <string>
#include <vector>

namespace boxsum::cli {

/// boxsum bench: runs the program boxsum-bench that lies beside this one with the same arguments, as git runs its
/// subcommands. It is apart because it links what it compares with (OpenCV, NPP) and is not installed everywhere.
void setup_bench(CLI::App& app, action& chosen);

/// Replaces this process. Throws unsupported, saying how to build it, where there is no such program.
exit_code run_bench(const std::vector<std::string>& arguments);

}  // namespace boxsum::cli
