#pragma once

#include <string>
#include <vector>

namespace boxsum::bench {

/// Runs the program's command line (without the program's name) and returns its exit code: 0 done, 1 wrong result or
/// failure, 2 usage, 3 input, 4 unsupported, 5 memory.
int run_bench(const std::vector<std::string>& arguments);

}  // namespace boxsum::bench
