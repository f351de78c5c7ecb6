#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace boxsum::bench {

/// Figures that the papers print, as far as our extracts have them, each with its place ("source"); "lost" says what
/// stood in a figure that the extract lacks. `key`: emoto-2018, chen-2018, notes-2025, ha-2012, poostchi-2017. The
/// files are compiled in, so the program needs none of them. Throws invalid_argument for another key.
const nlohmann::ordered_json& printed(std::string_view key);

}  // namespace boxsum::bench
