#pragma once

#include "errors.hpp"

#include <functional>

namespace CLI {
class App;
}

namespace boxsum::cli {

/// What a parsed command line asks for. Parsing only chooses it, so that the parser can be tested and fuzzed without
/// running anything.
using action = std::function<exit_code()>;

}  // namespace boxsum::cli
