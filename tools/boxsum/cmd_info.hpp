#pragma once

#include "action.hpp"

namespace boxsum::cli {

/// boxsum info: this machine and this build, for bug reports.
struct info_options {
    bool json = false;
};

void setup_info(CLI::App& app, action& chosen);
exit_code run_info(const info_options& options);

}  // namespace boxsum::cli
