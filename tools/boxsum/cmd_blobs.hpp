#pragma once

#include "action.hpp"
#include "source.hpp"

#include <optional>
#include <string>

namespace boxsum::cli {

/// The scales of --sigma: LEAST,MOST or LEAST,MOST,COUNT.
struct blob_sigmas {
    double least = 1, most = 30;
    int count = 10;
};

/// boxsum blobs: bright and dark spots.
struct blobs_options {
    std::string input;
    source_options source;
    blob_sigmas sigmas;
    bool logarithmic = false;
    std::optional<double> threshold;           ///< else the library's
    std::optional<double> relative_threshold;  ///< else none
    std::optional<double> overlap;             ///< else the library's
    int threads = 0;
    bool json = false;
    bool csv = false;
};

void setup_blobs(CLI::App& app, action& chosen);
exit_code run_blobs(const blobs_options& options);

}  // namespace boxsum::cli
