#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace boxsum {

/// What a file of the operating system's says; empty where there is none, or it cannot be read. Not by streams: where a
/// process has two copies of the C++ library, as a Python extension may bring one, the locales behind them mix and
/// crash.
std::string contents_of(const std::string& path);

/// Takes the next integer off a text, with the blanks before it. Without one, or if it does not fit: false, and neither
/// changes.
template <typename T>
bool take_number(std::string_view& text, T& value) {
    const std::size_t first = text.find_first_not_of(" \t\n");
    if (first == std::string_view::npos) return false;
    T found{};
    const auto [rest, error] = std::from_chars(text.data() + first, text.data() + text.size(), found);
    if (error != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    value = found;
    return true;
}

}  // namespace boxsum
