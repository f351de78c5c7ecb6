#pragma once

#include <string>

namespace CLI {
class App;
}

namespace boxsum::cli {

/// The manual page of the tool and all its commands, in roff: made of what the parser knows.
std::string manual_page(const CLI::App& app);

/// A script that completes commands, options and their values in a shell: "bash", "zsh" or "fish".
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace boxsum::cli
