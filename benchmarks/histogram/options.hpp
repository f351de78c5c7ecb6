#pragma once

#include "program/output.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace boxsum::bench {

/// What `boxsum bench hist` was asked for; empty lists are the experiments' own.
struct histogram_bench_options {
    std::vector<std::string> experiments = {};  ///< see histogram_experiment_names(); empty: all
    std::vector<std::string> sizes = {};        ///< "512", "1k": edge lengths of the square images
    std::vector<std::int64_t> bins = {};        ///< of the experiments that vary them
    std::string device = "auto";                ///< "auto", "cpu", "cuda", "cuda:N"
    int rounds = 11;
    double round_ms = 4;  ///< length of a round of one candidate, on the CPU
    int frames = 100;     ///< of a stream of images, at most
    int threads = 0;      ///< of the CPU's rows with several; 0: all of the machine
    bool quick = false;   ///< small images and short streams: a look at the report, no figures of the paper
    output_options output = {};
};

}  // namespace boxsum::bench
