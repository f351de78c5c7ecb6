#pragma once

#include "action.hpp"
#include "filter_command.hpp"

#include <optional>
#include <string>

namespace boxsum::cli {

/// boxsum normalize: local contrast normalisation.
struct normalize_options {
    filter_command_options common;
    window_choice window = {};
    double epsilon = 1e-6;
    std::optional<double> range;  ///< in formats of integers: -range is black, +range is white
};

void setup_normalize(CLI::App& app, action& chosen);
exit_code run_normalize(const normalize_options& options);

}  // namespace boxsum::cli
