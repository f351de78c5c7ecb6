#include "command_line.hpp"
#include "fuzz_support.hpp"

#include <algorithm>
#include <string>
#include <vector>

/// The input is a command line, its arguments separated by zero bytes. Parsing opens no file and runs nothing.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    std::vector<std::string> arguments;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find('\0', start), text.size());
        arguments.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    boxsum::cli::tolerate_refusal([&] { boxsum::cli::parse_command_line(arguments); });
    return 0;
}
