#pragma once

#include "sat/options.hpp"

#include <boxsum/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace boxsum::bench {

/// An algorithm of the registry with all its parameters named.
struct variant {
    std::string algorithm;
    std::string parameters;

    friend bool operator==(const variant&, const variant&) = default;
};

/// What is measured together, in turn, on one pair of types and one size.
struct sat_case {
    type_pair types;
    std::int64_t rows = 0, cols = 0;
    std::vector<variant> variants;         ///< of the backend
    std::vector<std::string> competitors;  ///< device_competitor_names(), host_competitor_names()
    bool copy = false;                     ///< the bytes alone
    bool blur = false;                     ///< also a box blur of 17 x 17 from the tables
    std::vector<std::string> broken_down;  ///< algorithms whose passes are timed apart
};

/// The experiments, and what each measures when nothing else is asked:
///   emoto    Table I and III: 32f32f, 256 to 32K; every W, number of threads, r and arrangement; the copy
///   chen     figures 6 to 8, Table II: 8u32s, 8u32u, 8u32f, 32f32f, 32u32u, 64f64f, 1K to 20K; both scans, blocks of
///   256
///            and of the paper's 1024 threads; OpenCV's scan-scan; NPP, CUB, OpenCV
///   micro    section V of Chen et al.: latencies (no tables)
///   notes    the notes' table: passes and box blur of 128^2 and 800^2, 32u32u and 8u32u
///   ha-han   figure 5: 32f32f, 64 to 2048, and on to 16K, and not square about 1024 x 2048; every b; the serial CPU
///   zoo      every algorithm: 32f32f and 8u32u, 256 to 16K
/// On the CPU the same with its own algorithms, up to 4K.
const std::vector<std::string>& experiment_names();

/// Competitors that can be named among the algorithms.
const std::vector<std::string>& competitor_names();

/// Cases by types and ascending size (cols, then rows), each variant once. Throws cli::usage_error for an experiment,
/// type pair, algorithm or parameter that does not exist, or a selection that leaves nothing to do.
std::vector<sat_case> plan_of(const sat_bench_options& options, backend where);

/// Whether the micro-benchmarks are among the chosen experiments.
bool wants_micro(const sat_bench_options& options);

}  // namespace boxsum::bench
