#pragma once

#include "action.hpp"
#include "filter_options.hpp"
#include "summary.hpp"

#include <optional>
#include <string>

namespace boxsum::cli {

/// boxsum threshold: black and white by the statistics of a window.
struct threshold_command_options {
    std::string input;
    std::string output;
    std::string format;  ///< empty: by the output's name
    std::string method = "sauvola";
    std::string window = "15";
    std::optional<double> k;      ///< the method's default when not given
    std::optional<double> range;  ///< Sauvola's R
    filter_options filter;
    summary_options report;
};

void setup_threshold(CLI::App& app, action& chosen);
exit_code run_threshold(const threshold_command_options& options);

}  // namespace boxsum::cli
