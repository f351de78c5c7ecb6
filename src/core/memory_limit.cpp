#include "core/memory_limit.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

namespace boxsum {

std::size_t default_pool_limit(std::size_t memory_of_process) {
    return std::min(memory_of_process / 16, std::size_t{1} << 30);
}

std::size_t parse_bytes(std::string_view variable, std::string_view text) {
    std::size_t value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit = text.substr(static_cast<std::size_t>(rest - text.data()));
    const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
    if (error != std::errc{} || shift < 0 || value > std::numeric_limits<std::size_t>::max() >> shift)
        throw invalid_argument(std::string(variable) + ": is '" + std::string(text) +
                               "', must be a number of bytes, or one with K, M or G behind it");
    return value << shift;
}

}  // namespace boxsum
