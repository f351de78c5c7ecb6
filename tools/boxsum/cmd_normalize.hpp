#pragma once

#include "action.hpp"
#include "filter_options.hpp"
#include "summary.hpp"

#include <string>

namespace boxsum::cli {

/// boxsum normalize: local contrast normalisation.
struct normalize_options {
    std::string input;
    std::string output;
    std::string format;  ///< empty: by the output's name
    std::string window = "15";
    double epsilon = 1e-6;
    double range = 3;  ///< in formats of integers: -range is black, +range is white
    filter_options filter;
    summary_options report;
};

void setup_normalize(CLI::App& app, action& chosen);
exit_code run_normalize(const normalize_options& options);

}  // namespace boxsum::cli
