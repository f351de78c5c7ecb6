#pragma once

#include <boxsum/box.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace boxsum::cli {

/// Validators of option values: what they refuse is wrong usage, exit code 2.
extern const CLI::Validator layout_name;  ///< padded, inclusive, exclusive
extern const CLI::Validator dtype_name;   ///< 8u ... 64f
extern const CLI::Validator box_text;     ///< row,col,rows,cols

/// Anything but an empty text, which would read as if the option had not been given.
extern const CLI::Validator some_text;

extern const CLI::Validator finite_number;
extern const CLI::Validator positive_number;  ///< finite, above 0

/// Integers separated by commas, spaces around them allowed; nothing when the text is anything else.
std::optional<std::vector<std::int64_t>> parse_integers(std::string_view text);

/// "row,col,rows,cols"; nothing when malformed.
std::optional<box> parse_box(std::string_view text);

}  // namespace boxsum::cli
