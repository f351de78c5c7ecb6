#pragma once

#include "action.hpp"

#include <string>
#include <vector>

namespace boxsum::cli {

/// Parses the arguments after the program's name. Throws usage_error. Opens no file and prints nothing; the action of
/// --help prints.
action parse_command_line(std::vector<std::string> arguments);

}  // namespace boxsum::cli
