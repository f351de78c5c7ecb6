#pragma once

#include "errors.hpp"

#include <boxsum/view.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace boxsum::cli {

/// Writes to standard output; io_error when that fails (a closed pipe, a full disk). Returns exit_code::done.
exit_code print_output(std::string_view text);

/// Two spaces of indentation; bytes of file names that are no UTF-8 are replaced.
exit_code print_json(const nlohmann::ordered_json& value);

/// Rows of equally many cells, right-aligned in columns; the first row is the heading.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

/// The words with `between` between them.
template <class Words>
std::string joined(const Words& words, std::string_view between) {
    std::string text;
    for (const auto& word : words) text.append(text.empty() ? "" : between).append(word);
    return text;
}

/// Shortest text that reads back as the same number; "nan", "inf", "-inf".
std::string text_of(double value);

/// "512 x 512 x 3 of 8u" (without "x 1" for one channel)
std::string text_of(const view_shape& shape);

/// {"rows": 512, "cols": 512, "channels": 3, "type": "8u"}
nlohmann::ordered_json json_of(const view_shape& shape);

}  // namespace boxsum::cli
