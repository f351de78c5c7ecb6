#pragma once

#include "action.hpp"
#include "filter_command.hpp"

#include <optional>

namespace boxsum::cli {

/// boxsum denoise: non-local means.
struct denoise_options {
    filter_command_options common;
    window_radius radius = 10;
    window_radius patch = 3;
    std::optional<double> strength;  ///< else the library's
    std::optional<double> noise;     ///< else none
    std::optional<dtype> type;       ///< of the result; else the image's
};

void setup_denoise(CLI::App& app, action& chosen);
exit_code run_denoise(const denoise_options& options);

}  // namespace boxsum::cli
