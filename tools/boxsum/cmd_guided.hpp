#pragma once

#include "action.hpp"
#include "filter_command.hpp"

#include <optional>
#include <string>

namespace boxsum::cli {

/// boxsum guided: edge-preserving smoothing by a guide.
struct guided_options {
    filter_command_options common;
    window_radius radius = 8;
    std::string guide;              ///< an image file; empty: every channel guides itself
    std::optional<double> epsilon;  ///< else the library's
    std::optional<dtype> type;      ///< of the result; else the image's
};

void setup_guided(CLI::App& app, action& chosen);
exit_code run_guided(const guided_options& options);

}  // namespace boxsum::cli
