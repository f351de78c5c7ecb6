#include "program/run_bench.hpp"

#include "errors.hpp"
#include "histogram/run_histogram.hpp"
#include "precision/run_precision.hpp"
#include "sat/run_sat.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace boxsum::bench {

int run_bench(const std::vector<std::string>& arguments) {
    CLI::App app("Measures boxsum beside other implementations.", "boxsum bench");
    app.require_subcommand(1);
    sat_bench_options sat;
    const CLI::App* const sat_command = add_sat_command(app, sat);
    histogram_bench_options histogram;
    add_histogram_command(app, histogram);
    precision_options precision;
    const CLI::App* const precision_command = add_precision_command(app, precision);
    try {
        // As in command_line.cpp: CLI11 would only say that a subcommand is missing.
        if (!arguments.empty() && !arguments.front().starts_with('-')) {
            const std::string& name = arguments.front();
            if (app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == name; }).empty())
                throw cli::usage_error("bench: there is no subcommand '" + name + "' (see 'boxsum bench --help')");
        }
        try {
            std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes them from the back
            app.parse(std::move(reversed));
        } catch (const CLI::CallForHelp&) {
            std::fputs(app.help().c_str(), stdout);
            return 0;
        } catch (const CLI::ParseError& e) {
            throw cli::usage_error(std::string(e.what()) + " (see 'boxsum bench --help')");
        }
        if (precision_command->parsed()) return static_cast<int>(run_precision(precision));
        return static_cast<int>(sat_command->parsed() ? run_sat(sat) : run_histogram(histogram));
    } catch (...) {
        const cli::failure f = cli::describe(std::current_exception());
        cli::print_error(f.message);
        return static_cast<int>(f.code);
    }
}

}  // namespace boxsum::bench
