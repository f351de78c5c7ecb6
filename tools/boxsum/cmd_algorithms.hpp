#pragma once

#include "action.hpp"

#include <string>

namespace boxsum::cli {

/// boxsum algorithms: what is registered, on this machine.
struct algorithms_options {
    std::string operation;  ///< "sat", "histogram", "convolve"; empty for all
    bool parameters = false;
    bool json = false;
};

void setup_algorithms(CLI::App& app, action& chosen);
exit_code run_algorithms(const algorithms_options& options);

}  // namespace boxsum::cli
