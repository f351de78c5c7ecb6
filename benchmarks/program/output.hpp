#pragma once

#include "errors.hpp"
#include "report/document.hpp"
#include "report/record.hpp"

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace boxsum::bench {

/// What every subcommand does with what it measured.
struct output_options {
    std::string commit = {};  ///< of the tree; empty: from git or BOXSUM_COMMIT
    std::string from = {};    ///< a record to report, instead of measuring
    std::string json = {}, html = {};
    bool quiet = false;  ///< no progress, no report on standard output
};

/// --json, --html, --from, --commit, --quiet
void add_output_options(CLI::App& command, output_options& options);

/// A line on standard error, with the seconds since the first one.
void progress(const output_options& options, const std::string& what);

/// Keeps what was measured so far: writes --json, merged with what the file held, and returns the whole.
using save_part = std::function<bench_record(const bench_record&)>;

/// Reports the record --from, or the one that `measure` makes: text on standard output, --json, --html. `measure` may
/// save parts on its way, which stay where something ends the process. `kind` is the record's: files of another kind
/// are refused, before anything is measured, as are folders that do not exist.
cli::exit_code report_run(const output_options& options, const std::string& kind,
                          const std::function<bench_record(const save_part&)>& measure,
                          const std::function<document(const bench_record&)>& report);

}  // namespace boxsum::bench
