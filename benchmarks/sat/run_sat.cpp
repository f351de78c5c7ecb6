#include "sat/run_sat.hpp"

#include "program/origin.hpp"
#include "program/target.hpp"
#include "sat/device_tables.hpp"
#include "sat/host_tables.hpp"
#include "sat/plan.hpp"

#include <CLI/CLI.hpp>

#include <utility>

namespace boxsum::bench {
namespace {

using cli::usage_error;

constexpr const char* footer =
    R"(Repeats the experiments of the papers on this machine and prints a line for each row of the record (--json), of which
scripts/paper_docs.py makes the papers' tables. Results are compared with the reference in the same run; a wrong one gets no
time and exit code 1. A record that exists is extended where it is of the same commit, machine and toolkit.

Experiments: emoto (Tables I and III), chen (figures 6 to 8, Table II), micro (section V), notes, ha-han (figure 5), zoo.

Examples:
  boxsum bench sat --device cpu --sizes 512,1k --types 32f32f --json bench.json
  boxsum bench sat --experiments emoto --param W=64 --json emoto.json)";

bench_record measure(const sat_bench_options& options, const save_part& save) {
    const target where = target_of(options.device);
    const std::vector<sat_case> cases = plan_of(options, where.where);
    bench_record record;
    record.origin = origin_of(options.output.commit, where.where, where.device);
    record.settings = "median of " + std::to_string(options.rounds) + " interleaved rounds" +
                      (where.where == backend::cpu
                           ? ", " + std::to_string(options.threads) + (options.threads == 1 ? " thread" : " threads")
                           : "");
    for (const sat_case& c : cases) {
        progress(options.output, name_of(c.types) + ", " + std::to_string(c.rows) + " x " + std::to_string(c.cols));
        if (where.where == backend::cuda)
            measure_on_device(c, options, record);
        else
            for (table_row& row : measure_on_host(c, options, true)) record.tables.push_back(std::move(row));
        record.date = now_utc();
        (void)save(record);
    }
    if (wants_micro(options) && where.where == backend::cuda) {
        progress(options.output, "micro-benchmarks");
        record.micro = measure_micro();
    }
    record.date = now_utc();
    return record;
}

}  // namespace

std::vector<chosen_value> parse_choices(const std::vector<std::string>& texts) {
    std::vector<chosen_value> choices;
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
            throw usage_error("--param: '" + text + "' is not name=value");
        choices.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
    return choices;
}

const CLI::App* add_sat_command(CLI::App& app, sat_bench_options& options) {
    CLI::App* const sat = app.add_subcommand("sat", "Summed area tables: the papers' experiments");
    sat->footer(footer);
    sat->add_option("--experiments", options.experiments, "which: all, or names, separated by commas")->delimiter(',');
    sat->add_option("--sizes", options.sizes, "edge lengths, e.g. 256,1k,32k (default: the experiments')")
        ->delimiter(',');
    sat->add_option("--types", options.types, "type pairs, e.g. 32f32f,8u32u (default: the experiments')")
        ->delimiter(',');
    sat->add_option("--algorithms", options.algorithms,
                    "all, or names of algorithms and of competitors: npp, "
                    "cub-two-pass, opencv-cuda, opencv-cpu, serial-cpu")
        ->delimiter(',');
    sat->add_option("--param", options.parameters, "name=value: only this value, for algorithms with this parameter")
        ->delimiter(',');
    sat->add_option("--device", options.device, "auto, cpu, cuda, cuda:N")->capture_default_str();
    sat->add_option("--rounds", options.rounds, "interleaved rounds; medians over them")
        ->check(CLI::Range(1, 1001))
        ->capture_default_str();
    sat->add_option("--round-ms", options.round_ms, "about how long a candidate computes in a round, on the CPU")
        ->check(CLI::Range(0.001, 10000.0))
        ->capture_default_str();
    sat->add_option("--threads", options.threads, "of algorithms and copies on the CPU; other libraries have one")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    add_output_options(*sat, options.output);
    return sat;
}

cli::exit_code run_sat(const sat_bench_options& options) {
    return report_run(options.output, sat_kind, [&](const save_part& save) { return measure(options, save); });
}

}  // namespace boxsum::bench
