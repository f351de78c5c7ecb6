#pragma once

#include "action.hpp"
#include "filter_command.hpp"

#include <string>

namespace boxsum::cli {

/// boxsum stats: mean, variance, standard deviation, sum and count of the window around every pixel.
struct stats_options {
    filter_command_options common;
    std::string mean;  ///< outputs; empty ones are not computed
    std::string variance;
    std::string deviation;
    std::string sum;
    std::string count;
    window_choice window = {};
};

void setup_stats(CLI::App& app, action& chosen);
exit_code run_stats(const stats_options& options);

}  // namespace boxsum::cli
