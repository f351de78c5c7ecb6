#include "command_line.hpp"

#include "cmd_algorithms.hpp"
#include "cmd_bench.hpp"
#include "cmd_blobs.hpp"
#include "cmd_blur.hpp"
#include "cmd_convolve.hpp"
#include "cmd_denoise.hpp"
#include "cmd_guided.hpp"
#include "cmd_hist.hpp"
#include "cmd_info.hpp"
#include "cmd_normalize.hpp"
#include "cmd_query.hpp"
#include "cmd_stats.hpp"
#include "cmd_table.hpp"
#include "cmd_threshold.hpp"
#include "cmd_track.hpp"
#include "cmd_verify.hpp"
#include "documents.hpp"
#include "text_output.hpp"

#include <boxsum/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace boxsum::cli {
namespace {

constexpr const char* tool_footer =
    R"(Files: PNG, JPEG, TIFF, BigTIFF, WebP, PBM, PGM, PPM, PFM, NPY; BMP, OpenEXR and FITS are only read. '-' is standard
input or output.
Exit codes: 0 done; 1 failure (missing output folder, full disk, failed verification); 2 wrong usage; 3 bad input file
or a value that does not fit it; 4 no such device, type or algorithm; 5 out of memory.

Examples:
  boxsum blur photo.png soft.png -r 5
  boxsum threshold scans/1.png scans/2.png -o text/{name}.png
  boxsum query photo.png --box 10,20,5,7
  boxsum help blur

Completion: boxsum completion bash (or zsh, fish) prints a script for the shell; packages install it.)";

/// What packages install beside the tool; not for people, so --help does not list it.
void setup_documents(CLI::App& app, action& chosen) {
    CLI::App* manual = app.add_subcommand("manual", "The manual page, in roff")->group("");
    manual->callback([&app, &chosen] { chosen = [page = manual_page(app)] { return print_output(page); }; });
    CLI::App* completion = app.add_subcommand("completion", "A script that completes commands in a shell")->group("");
    const auto shell = std::make_shared<std::string>();
    completion->add_option("SHELL", *shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    completion->callback([&app, &chosen, shell] {
        chosen = [script = completion_script(app, *shell)] { return print_output(script); };
    });
}

void setup(CLI::App& app, action& chosen) {
    app.require_subcommand(1);
    app.set_version_flag("-V,--version", std::string("boxsum ") + version());
    app.footer(tool_footer);
    setup_table(app, chosen);
    setup_query(app, chosen);
    setup_hist(app, chosen);
    setup_track(app, chosen);
    setup_blobs(app, chosen);
    setup_blur(app, chosen);
    setup_threshold(app, chosen);
    setup_stats(app, chosen);
    setup_normalize(app, chosen);
    setup_convolve(app, chosen);
    setup_guided(app, chosen);
    setup_denoise(app, chosen);
    setup_algorithms(app, chosen);
    setup_info(app, chosen);
    setup_verify(app, chosen);
    setup_bench(app, chosen);
    setup_documents(app, chosen);
}

/// The number of letters to change, add or leave out from one word to the other.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
        }
    }
    return row.back();
}

/// " (did you mean 'blur'?)", or nothing where no name is close.
std::string suggestion(std::string_view wrong, const std::vector<std::string>& names) {
    const std::string* best = nullptr;
    std::size_t least = wrong.size() / 3 + 2;
    for (const std::string& name : names)
        if (const std::size_t d = distance(wrong, name); d < least) {
            least = d;
            best = &name;
        }
    return best == nullptr ? "" : ", did you mean '" + *best + "'?";
}

/// What the first of the arguments that no option or file takes should have been.
std::string text_of_extras(const CLI::App& command) {
    const std::vector<std::string> extras = command.remaining();
    const auto option =
        std::find_if(extras.begin(), extras.end(), [](const std::string& e) { return e.size() > 1 && e[0] == '-'; });
    if (option == extras.end()) return "'" + extras.front() + "' was not expected";
    const std::string name = option->substr(0, option->find('='));
    std::vector<std::string> known;
    for (const CLI::Option* o : command.get_options())
        for (const std::string& word : o->get_lnames()) known.push_back("--" + word);
    return "there is no option '" + name + "'" + suggestion(name, known);
}

/// The parser's text, and where to read more.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& e) {
    std::string command = "boxsum", text = e.what();
    const CLI::App* innermost = &app;
    for (const CLI::App* sub : app.get_subcommands()) {
        command.append(" ").append(sub->get_name());
        innermost = sub;
    }
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && !innermost->remaining().empty())
        text = text_of_extras(*innermost);
    throw usage_error(text + " (see '" + command + " --help')");
}

}  // namespace

action parse_command_line(std::vector<std::string> arguments) {
    CLI::App app("Summed area tables, box sums and the filters made of them.", "boxsum");
    action chosen;
    setup(app, chosen);
    if (!arguments.empty() && arguments.front() == "help") {  // "help blur" is "blur --help"
        arguments.erase(arguments.begin());
        arguments.push_back("--help");
    }
    // CLI11 would only say that a subcommand is missing.
    if (!arguments.empty() && !arguments.front().starts_with('-')) {
        const std::string& name = arguments.front();
        std::vector<std::string> names;
        for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
            names.push_back(sub->get_name());
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw usage_error("there is no subcommand '" + name + "'" + suggestion(name, names) +
                              " (see 'boxsum --help')");
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
