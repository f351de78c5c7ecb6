#pragma once

#include "action.hpp"

#include <string>
#include <vector>

namespace boxsum::cli {

/// boxsum verify: every registered algorithm against the definition, on this machine.
struct verify_options {
    std::vector<std::string> algorithms;  ///< empty for all
    bool thorough = false;
    bool json = false;
};

void setup_verify(CLI::App& app, action& chosen);
exit_code run_verify(const verify_options& options);

}  // namespace boxsum::cli
