#pragma once

#include "errors.hpp"
#include "histogram/options.hpp"

namespace CLI {
class App;
}

namespace boxsum::bench {

/// Adds `hist` with its options, which parsing fills, to the program's command line.
const CLI::App* add_histogram_command(CLI::App& app, histogram_bench_options& options);

/// Measures, or reads, and reports. What was measured is saved after every case, so that a run that is stopped leaves
/// it. Throws what cli::describe knows.
cli::exit_code run_histogram(const histogram_bench_options& options);

}  // namespace boxsum::bench
