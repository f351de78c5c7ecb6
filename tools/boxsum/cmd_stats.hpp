#pragma once

#include "action.hpp"
#include "filter_options.hpp"
#include "summary.hpp"

#include <string>

namespace boxsum::cli {

/// boxsum stats: mean, variance and standard deviation of the window around every pixel.
struct stats_options {
    std::string input;
    std::string mean;  ///< outputs; empty ones are not computed
    std::string variance;
    std::string deviation;
    std::string format;  ///< of all outputs; empty: by their names
    std::string window = "15";
    filter_options filter;
    summary_options report;
};

void setup_stats(CLI::App& app, action& chosen);
exit_code run_stats(const stats_options& options);

}  // namespace boxsum::cli
