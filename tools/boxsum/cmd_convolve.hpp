#pragma once

#include "action.hpp"
#include "filter_command.hpp"

#include <optional>
#include <string>

namespace boxsum::cli {

/// boxsum convolve: every pixel becomes the sum of those around it, each times a weight.
struct convolve_options {
    filter_command_options common;
    std::string kernel;  ///< numbers, or a file of them
    bool normalize = false;
    bool flip = false;
    std::string algorithm = "auto";
    std::optional<dtype> type;
};

void setup_convolve(CLI::App& app, action& chosen);
exit_code run_convolve(const convolve_options& options);

}  // namespace boxsum::cli
