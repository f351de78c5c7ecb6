#pragma once

#include "action.hpp"
#include "filter_command.hpp"

#include <string>

namespace boxsum::cli {

/// boxsum stats: mean, variance and standard deviation of the window around every pixel.
struct stats_options {
    filter_command_options common;
    std::string mean;  ///< outputs; empty ones are not computed
    std::string variance;
    std::string deviation;
    window_size window = usual_window;
};

void setup_stats(CLI::App& app, action& chosen);
exit_code run_stats(const stats_options& options);

}  // namespace boxsum::cli
