#pragma once

#include "action.hpp"
#include "source.hpp"

#include <boxsum/box.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace boxsum::cli {

/// boxsum hist: histograms of boxes of an image, from its pixels or its integral histogram.
struct hist_options {
    std::string input;
    int bins = 32;
    std::optional<std::pair<double, double>> range;  ///< [lo, hi); else all values of an 8u or 16u image
    bool clamp = false;
    std::vector<box> boxes;
    std::string boxes_file;  ///< CSV, one box a line
    std::string algorithm = "auto";
    std::vector<std::string> parameters;  ///< "name=value"
    std::string device = "auto";
    int threads = 0;
    std::string tensor;  ///< file for the integral histogram itself; empty: none
    source_options source;
    bool json = false;
    bool csv = false;
};

void setup_hist(CLI::App& app, action& chosen);
exit_code run_hist(const hist_options& options);

}  // namespace boxsum::cli
