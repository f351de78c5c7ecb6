#include "cmd_bench.hpp"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

namespace boxsum::cli {
namespace {

constexpr const char* program = "boxsum-bench";

/// Beside this program, wherever that was started from.
std::filesystem::path beside_this_program() {
    std::error_code failed;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? std::filesystem::path() : self.parent_path() / program;
}

}  // namespace

void setup_bench(CLI::App& app, action& chosen) {
    CLI::App* command = app.add_subcommand("bench", "Measure beside other implementations (runs boxsum-bench)");
    command->set_help_flag();   // --help, too, is the program's
    command->prefix_command();  // and so is everything behind the name
    command->callback(
        [command, &chosen] { chosen = [arguments = command->remaining()] { return run_bench(arguments); }; });
}

exit_code run_bench(const std::vector<std::string>& arguments) {
    const std::filesystem::path path = beside_this_program();
    std::vector<std::string> words{path.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    // Ignored signals would stay ignored: a closed pipe then is the program's own business.
    std::signal(SIGPIPE, SIG_DFL);
    std::signal(SIGXFSZ, SIG_DFL);
    ::execv(words[0].c_str(), pointers.data());
    const int code = errno;
    if (code == ENOENT)
        throw unsupported(
            "bench: there is no " + std::string(program) + " beside boxsum ('" + path.string() +
            "'); build it with 'cmake --preset release -DBOXSUM_BENCHMARKS=ON' and 'cmake --build build'");
    throw io_error("bench: '" + path.string() + "' cannot be run: " + errno_text(code));
}

}  // namespace boxsum::cli
