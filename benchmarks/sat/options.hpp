#pragma once

#include "program/output.hpp"

#include <string>
#include <vector>

namespace boxsum::bench {

/// What `boxsum bench sat` was asked for; empty lists are the experiments' own.
struct sat_bench_options {
    std::vector<std::string> experiments = {};  ///< see experiment_names(); empty: all
    std::vector<std::string> sizes = {};        ///< "512", "1k", "32K": K is 1024; edge lengths of squares
    std::vector<std::string> types = {};        ///< "32f32f"
    std::vector<std::string> algorithms = {};   ///< names of the registry or of competitors; "all"
    std::vector<std::string> parameters = {};   ///< "W=64": only this value, for the algorithms that have the parameter
    std::string device = "auto";                ///< "auto", "cpu", "cuda", "cuda:N"
    int rounds = 11;
    double round_ms = 4;  ///< length of a round of one candidate
    int threads = 1;      ///< of the CPU's algorithms and copies
    output_options output = {};
};

/// One entry of --param.
struct chosen_value {
    std::string name, value;
};

/// Throws cli::usage_error for what is not name=value.
std::vector<chosen_value> parse_choices(const std::vector<std::string>& texts);

}  // namespace boxsum::bench
