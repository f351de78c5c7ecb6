#include "errors.hpp"
#include "report/sections.hpp"
#include "sat/device_tables.hpp"
#include "sat/host_tables.hpp"
#include "sat/options.hpp"
#include "sat/origin.hpp"
#include "sat/plan.hpp"

#include <boxsum/device.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <set>

namespace boxsum::bench {
namespace {

using cli::exit_code;
using cli::usage_error;

constexpr const char* footer =
    R"(Repeats the experiments of the papers on this machine and writes them as tables, as a record (--json) and as a
self-contained page with charts (--html). Results are compared with the reference in the same run; a wrong one gets no
time and exit code 1. A record that exists is extended where it is of the same commit, machine and toolkit.

Experiments: emoto (Tables I and III), chen (figures 6 to 8, Table II), micro (section V), notes, ha-han (figure 5), zoo.

Examples:
  boxsum bench sat --device cpu --sizes 512,1k --types 32f32f --html bench.html
  boxsum bench sat --experiments emoto --param W=64 --json emoto.json
  boxsum bench sat --from results/h200/bench-zoo.json --html bench.html)";

struct target {
    backend where = backend::cpu;
    int device = 0;
};

target target_of(const std::string& text) {
    if (text == "cpu") return {};
    if (text == "auto") return cuda::built() && cuda::device_count() > 0 ? target{backend::cuda, 0} : target{};
    int device = 0;
    try {
        device = cuda::device_from_text(text);
    } catch (const invalid_argument&) {
        throw usage_error("--device: is '" + text + "', must be auto, cpu, cuda or cuda:N");
    }
    cuda::set_device(device);  // throws unsupported for one that is not there
    return {backend::cuda, device};
}

void progress(const sat_bench_options& options, const std::string& what) {
    if (!options.quiet) std::fprintf(stderr, "boxsum bench: %s\n", what.c_str());
}

bench_record measure(const sat_bench_options& options) {
    const target where = target_of(options.device);
    const std::vector<sat_case> cases = plan_of(options, where.where);
    bench_record record;
    record.origin = origin_of(options.commit, where.where, where.device);
    record.settings = "median of " + std::to_string(options.rounds) + " interleaved rounds" +
                      (where.where == backend::cpu
                           ? ", " + std::to_string(options.threads) + (options.threads == 1 ? " thread" : " threads")
                           : "");
    for (const sat_case& c : cases) {
        progress(options, name_of(c.types) + ", " + std::to_string(c.size) + " x " + std::to_string(c.size));
        if (where.where == backend::cuda)
            measure_on_device(c, options, record);
        else
            for (table_row& row : measure_on_host(c, options, true)) record.tables.push_back(std::move(row));
    }
    if (wants_micro(options) && where.where == backend::cuda) {
        progress(options, "micro-benchmarks");
        record.micro = measure_micro();
    }
    record.date = now_utc();
    return record;
}

/// What the file holds already, where it may be extended. Another file is not overwritten.
void merge_with_file(const sat_bench_options& options, bench_record& record) {
    if (options.json.empty() || !std::filesystem::exists(options.json)) return;
    const bench_record old = read_record(options.json);
    if (!mergeable(old.origin, record.origin))
        cli::print_note("'" + options.json +
                        "' was of another commit or machine, or of a tree with changes; it starts anew");
    record = merged(old, std::move(record));
}

exit_code run_sat(const sat_bench_options& options) {
    bench_record record;
    if (!options.from.empty()) {
        try {
            record = read_record(options.from);
        } catch (const io_error& e) {
            throw cli::input_error(std::string("--from: ") + e.what());
        }
    } else {
        for (const std::string& path : {options.json, options.html})  // before the work, not after it
            if (const auto folder = std::filesystem::path(path).parent_path();
                !folder.empty() && !std::filesystem::is_directory(folder))
                throw io_error("'" + path + "' cannot be written: there is no such folder");
        if (!options.json.empty() && std::filesystem::exists(options.json)) (void)read_record(options.json);
        // As it is written, rounded: a page made again from the file is the same.
        record = record_of(json_of(measure(options)), "this run");
        merge_with_file(options, record);
    }
    if (!options.json.empty()) write_file(options.json, json_of(record));
    const document report = report_of(record);
    if (!options.html.empty()) write_file(options.html, html_of(report));
    if (!options.quiet) {
        const std::string text = text_of(report);
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            throw io_error("standard output cannot be written");
    }
    return has_wrong(record) ? exit_code::failure : exit_code::done;
}

}  // namespace

std::vector<std::int64_t> parse_sizes(const std::vector<std::string>& texts) {
    std::set<std::int64_t> sizes;
    for (const std::string& text : texts) {
        std::int64_t size = 0;
        const char* const end = text.data() + text.size();
        const auto [rest, problem] = std::from_chars(text.data(), end, size);
        const bool thousands = rest + 1 == end && (*rest == 'k' || *rest == 'K');
        if (problem != std::errc{} || (rest != end && !thousands) || size < 1 || size > 65536 ||
            (thousands && size > 64))
            throw usage_error("--sizes: '" + text + "' is no size of 1 to 65536 (1k is 1024)");
        sizes.insert(thousands ? size * 1024 : size);
    }
    return {sizes.begin(), sizes.end()};
}

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

int run_bench(const std::vector<std::string>& arguments) {
    CLI::App app("Measures boxsum beside other implementations.", "boxsum bench");
    app.require_subcommand(1);
    sat_bench_options options;
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
    sat->add_option("--json", options.json, "record to write, or to extend");
    sat->add_option("--html", options.html, "page to write");
    sat->add_option("--from", options.from, "measure nothing: report this record");
    sat->add_option("--commit", options.commit, "of the tree, where git cannot tell (or BOXSUM_COMMIT)");
    sat->add_flag("-q,--quiet", options.quiet, "no progress, no tables on standard output");
    try {
        try {
            std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes them from the back
            app.parse(std::move(reversed));
        } catch (const CLI::CallForHelp&) {
            std::fputs(app.help().c_str(), stdout);
            return 0;
        } catch (const CLI::ParseError& e) {
            throw usage_error(std::string(e.what()) + " (see 'boxsum bench sat --help')");
        }
        return static_cast<int>(run_sat(options));
    } catch (...) {
        const cli::failure f = cli::describe(std::current_exception());
        cli::print_error(f.message);
        return static_cast<int>(f.code);
    }
}

}  // namespace boxsum::bench
