#pragma once

#include "action.hpp"
#include "filter_command.hpp"

#include <optional>
#include <string>

namespace boxsum::cli {

/// boxsum threshold: black and white by the statistics of a window.
struct threshold_command_options {
    filter_command_options common;
    std::string method = "sauvola";
    std::string window = "15";
    std::optional<double> k;      ///< the method's default when not given
    std::optional<double> range;  ///< Sauvola's R
    std::string channels = "grey";
};

void setup_threshold(CLI::App& app, action& chosen);
exit_code run_threshold(const threshold_command_options& options);

}  // namespace boxsum::cli
