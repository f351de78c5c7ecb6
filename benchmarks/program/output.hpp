#pragma once

#include "errors.hpp"
#include "program/record.hpp"

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace boxsum::bench {

/// What every subcommand does with what it measured.
struct output_options {
    std::string commit = {};  ///< of the tree; empty: from git or BOXSUM_COMMIT
    std::string json = {};    ///< the record to write
    bool quiet = false;       ///< no progress, no table on standard output
};

/// --json, --commit, --quiet
void add_output_options(CLI::App& command, output_options& options);

/// A line on standard error, with the seconds since the first one.
void progress(const output_options& options, const std::string& what);

/// Keeps what was measured so far: writes --json, merged with what the file held, and returns the whole.
using save_part = std::function<bench_record(const bench_record&)>;

/// Writes what `measure` makes: rows as text on standard output, the record as --json. `measure` may save parts on its
/// way, which stay where something ends the process. `kind` is the record's: files of another kind are refused, before
/// anything is measured, as are folders that do not exist. Exit code 1 where the record has a wrong result.
cli::exit_code report_run(const output_options& options, const std::string& kind,
                          const std::function<bench_record(const save_part&)>& measure);

}  // namespace boxsum::bench
