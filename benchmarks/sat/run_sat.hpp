#pragma once

#include "errors.hpp"
#include "sat/options.hpp"

namespace CLI {
class App;
}

namespace boxsum::bench {

/// Adds `sat` with its options, which parsing fills, to the program's command line.
const CLI::App* add_sat_command(CLI::App& app, sat_bench_options& options);

/// Measures, or reads, and reports. What was measured is saved after every case, so that a run that is stopped leaves
/// it. Throws what cli::describe knows.
cli::exit_code run_sat(const sat_bench_options& options);

}  // namespace boxsum::bench
