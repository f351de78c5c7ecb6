#pragma once

#include "action.hpp"
#include "filter_command.hpp"

#include <optional>
#include <string>

namespace boxsum::cli {

/// boxsum threshold: black and white by the statistics of a window.
struct threshold_command_options {
    filter_command_options common;
    threshold_method method = threshold_method::sauvola;
    window_choice window = {};
    std::optional<double> k;      ///< the method's default when not given
    std::optional<double> range;  ///< Sauvola's R
    bool each_channel = false;    ///< else of their brightness
};

void setup_threshold(CLI::App& app, action& chosen);
exit_code run_threshold(const threshold_command_options& options);

}  // namespace boxsum::cli
