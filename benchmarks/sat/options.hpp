#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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
    double round_ms = 4;      ///< length of a round of one candidate
    int threads = 1;          ///< of the CPU's algorithms and copies
    std::string commit = {};  ///< of the tree; empty: from git or BOXSUM_COMMIT
    std::string from = {};    ///< a record to report, instead of measuring
    std::string json = {}, html = {};
    bool quiet = false;  ///< no progress, no report on standard output
};

/// Edge lengths, ascending and distinct. Throws cli::usage_error naming what is no size of 1 to 65536.
std::vector<std::int64_t> parse_sizes(const std::vector<std::string>& texts);

/// One entry of --param.
struct chosen_value {
    std::string name, value;
};

/// Throws cli::usage_error for what is not name=value.
std::vector<chosen_value> parse_choices(const std::vector<std::string>& texts);

/// Runs the program's command line (without the program's name) and returns its exit code: 0 done, 1 wrong result or
/// failure, 2 usage, 3 input, 4 unsupported, 5 memory.
int run_bench(const std::vector<std::string>& arguments);

}  // namespace boxsum::bench
