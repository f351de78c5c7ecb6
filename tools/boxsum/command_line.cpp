#include "command_line.hpp"

#include "cmd_algorithms.hpp"
#include "cmd_bench.hpp"
#include "cmd_blur.hpp"
#include "cmd_hist.hpp"
#include "cmd_info.hpp"
#include "cmd_normalize.hpp"
#include "cmd_query.hpp"
#include "cmd_stats.hpp"
#include "cmd_table.hpp"
#include "cmd_threshold.hpp"
#include "cmd_track.hpp"
#include "cmd_verify.hpp"
#include "text_output.hpp"

#include <boxsum/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>

namespace boxsum::cli {
namespace {

constexpr const char* tool_footer =
    R"(Files: PNG, JPEG, TIFF, BigTIFF, PGM, PPM, PFM, NPY; '-' is standard input or output.
Exit codes: 0 done; 1 failure (missing output folder, full disk, failed verification); 2 wrong usage; 3 bad input file
or a value that does not fit it; 4 no such device, type or algorithm; 5 out of memory.

Examples:
  boxsum table photo.png -o sums.npy
  boxsum query photo.png --box 10,20,5,7
  boxsum SUBCOMMAND --help)";

void setup(CLI::App& app, action& chosen) {
    app.require_subcommand(1);
    app.set_version_flag("--version", std::string("boxsum ") + version());
    app.footer(tool_footer);
    setup_table(app, chosen);
    setup_query(app, chosen);
    setup_hist(app, chosen);
    setup_track(app, chosen);
    setup_blur(app, chosen);
    setup_threshold(app, chosen);
    setup_stats(app, chosen);
    setup_normalize(app, chosen);
    setup_algorithms(app, chosen);
    setup_info(app, chosen);
    setup_verify(app, chosen);
    setup_bench(app, chosen);
}

/// The parser's text, and where to read more.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& e) {
    std::string command = "boxsum";
    for (const CLI::App* sub : app.get_subcommands()) command.append(" ").append(sub->get_name());
    throw usage_error(std::string(e.what()) + " (see '" + command + " --help')");
}

}  // namespace

action parse_command_line(std::vector<std::string> arguments) {
    CLI::App app("Summed area tables, box sums and the filters made of them.", "boxsum");
    action chosen;
    setup(app, chosen);
    // CLI11 would only say that a subcommand is missing.
    if (!arguments.empty() && !arguments.front().starts_with('-')) {
        const std::string& name = arguments.front();
        if (app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == name; }).empty())
            throw usage_error("there is no subcommand '" + name + "' (see 'boxsum --help')");
    }
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
        app.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
        const std::string text = app.help();
        return [text] { return print_output(text); };
    } catch (const CLI::CallForVersion& e) {
        const std::string text = std::string(e.what()) + "\n";
        return [text] { return print_output(text); };
    } catch (const CLI::ParseError& e) {
        refuse(app, e);
    }
    return chosen;
}

}  // namespace boxsum::cli
