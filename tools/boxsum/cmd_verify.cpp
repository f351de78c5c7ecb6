#include "cmd_verify.hpp"

#include "progress.hpp"
#include "text_output.hpp"

#include <boxsum/verify.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace boxsum::cli {
namespace {

constexpr const char* verify_footer =
    R"(Runs every registered algorithm on this machine against the definition in wide types, over type pairs, layouts, shapes
and patterns, and compares whole results. Exit code 1 when one is wrong.

Examples:
  boxsum verify
  boxsum verify --algorithm reference --algorithm histogram:cpu --thorough --json)";

struct verdict {
    const algorithm_info* algorithm = nullptr;
    std::string skipped;  ///< why it did not run; empty when it did
    verification_summary summary;
    std::string first_failure;

    std::string_view word() const { return !skipped.empty() ? "skip" : summary.failed == 0 ? "pass" : "FAIL"; }
};

verdict run_one(const algorithm_info& algorithm, verification_cases cases) {
    verdict v;
    v.algorithm = &algorithm;
    if (!algorithm.built) {
        v.skipped = "not built";
        return v;
    }
    try {
        v.summary = verify(algorithm, cases, [&](const verification& one) {
            if (one.result == verification::outcome::failed && v.first_failure.empty())
                v.first_failure = one.description + ": " + one.detail;
        });
    } catch (const unsupported& e) {  // no device
        v.skipped = e.what();
    }
    return v;
}

/// Names are unique within an operation: "reference", "histogram:reference".
std::string full_name(const algorithm_info& a) {
    return (a.what == operation::sat ? std::string() : std::string(name_of(a.what)) + ":") + std::string(a.name);
}

std::vector<const algorithm_info*> selected(const verify_options& options) {
    std::vector<const algorithm_info*> all;
    for (const operation what : operations) all.insert(all.end(), algorithms(what).begin(), algorithms(what).end());
    if (options.algorithms.empty()) return all;
    std::vector<const algorithm_info*> found;
    for (const std::string& name : options.algorithms) {
        const auto named = std::find_if(all.begin(), all.end(), [&](const auto* a) { return full_name(*a) == name; });
        if (named == all.end())
            throw unsupported("--algorithm: no algorithm is named '" + name + "' (see 'boxsum algorithms')");
        found.push_back(*named);
    }
    return found;
}

nlohmann::ordered_json json_of_verdict(const verdict& v) {
    nlohmann::ordered_json entry{{"operation", name_of(v.algorithm->what)},
                                 {"name", v.algorithm->name},
                                 {"backend", name_of(v.algorithm->where)},
                                 {"result", v.word()},
                                 {"passed", v.summary.passed},
                                 {"failed", v.summary.failed},
                                 {"unsupported_cases", v.summary.skipped}};
    if (!v.skipped.empty()) entry["reason"] = v.skipped;
    if (!v.first_failure.empty()) entry["first_failure"] = v.first_failure;
    return entry;
}

std::string line_of(const verdict& v) {
    std::string line = std::string(v.word()) + "  " + full_name(*v.algorithm) + " (" +
                       std::string(name_of(v.algorithm->where)) + "): ";
    if (!v.skipped.empty()) return line + v.skipped + "\n";
    line += std::to_string(v.summary.passed) + " passed, " + std::to_string(v.summary.failed) + " failed, " +
            std::to_string(v.summary.skipped) + " cases unsupported\n";
    return v.first_failure.empty() ? line : line + "      first failure: " + v.first_failure + "\n";
}

}  // namespace

void setup_verify(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<verify_options>();
    CLI::App* command = app.add_subcommand("verify", "Check every algorithm on this machine against the definition");
    command
        ->add_option("--algorithm", options->algorithms,
                     "only this one, e.g. reference or histogram:cpu; may be repeated")
        ->allow_extra_args(false);
    command->add_flag("--thorough", options->thorough, "the test suite's list of cases (minutes)");
    command->add_flag("--json", options->json, "as JSON");
    command->footer(verify_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_verify(*options); }; });
}

exit_code run_verify(const verify_options& options) {
    nlohmann::ordered_json report = nlohmann::ordered_json::array();
    bool failed = false;
    for (const algorithm_info* algorithm : selected(options)) {
        const verdict v = [&] {
            progress busy;
            busy.phase("verifying " + full_name(*algorithm));
            return run_one(*algorithm, options.thorough ? verification_cases::all : verification_cases::some);
        }();
        failed = failed || v.summary.failed != 0;
        if (options.json)
            report.push_back(json_of_verdict(v));
        else
            print_output(line_of(v));
    }
    if (options.json) print_json(report);
    if (failed) throw std::runtime_error("verify: an algorithm gave wrong tables on this machine");
    return exit_code::done;
}

}  // namespace boxsum::cli
