#pragma once

#include <boxsum/box.hpp>
#include <boxsum/types.hpp>
#include <boxsum/window.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace boxsum::cli {

/// Validators of option values: what they refuse is wrong usage, exit code 2.
/// Anything but an empty text, which would read as if the option had not been given.
extern const CLI::Validator some_text;

extern const CLI::Validator finite_number;
extern const CLI::Validator positive_number;  ///< finite, above 0
extern const CLI::Validator number_from_0;    ///< finite, not below 0

/// An option whose text becomes a value when the line is parsed: `parse(text)` gives an std::optional of it, and where
/// that is empty "'TEXT' REFUSAL" is wrong usage. A destination that is a vector collects the values of an option that
/// may be repeated.
template <typename Destination, typename Parse>
CLI::Option* add_parsed(CLI::App& command, const std::string& names, Destination& to, Parse parse,
                        const std::string& refusal, const std::string& description) {
    const std::string name = names.substr(names.rfind(',') + 1);
    const auto value_of = [=](const std::string& text) {
        auto value = parse(text);
        if (text.empty()) throw CLI::ValidationError(name, "'' is no value");
        if (!value) throw CLI::ValidationError(name, "'" + text + "' " + refusal);
        return *value;
    };
    using value_type = std::decay_t<decltype(*parse(std::string()))>;
    if constexpr (std::is_same_v<Destination, std::vector<value_type>>)
        return command
            .add_option_function<std::vector<std::string>>(
                names,
                [&to, value_of](const std::vector<std::string>& texts) {
                    for (const std::string& text : texts) to.push_back(value_of(text));
                },
                description)
            ->allow_extra_args(false);
    else
        return command.add_option_function<std::string>(
            names, [&to, value_of](const std::string& text) { to = value_of(text); }, description);
}

/// What makes a value of one of a few words.
template <typename T>
auto one_of(std::vector<std::pair<std::string_view, T>> words) {
    return [words = std::move(words)](std::string_view text) -> std::optional<T> {
        for (const auto& [word, value] : words)
            if (word == text) return value;
        return {};
    };
}

/// --box of a command that takes any number of them.
CLI::Option* add_boxes(CLI::App& command, std::vector<box>& boxes);

/// A table's layout: padded, inclusive, exclusive.
template <typename Destination>
CLI::Option* add_layout(CLI::App& command, const std::string& names, Destination& to, const std::string& description) {
    return add_parsed(command, names, to, layout_from_name, "is none of padded, inclusive, exclusive", description);
}

/// An element type: 8u ... 64f.
CLI::Option* add_type(CLI::App& command, const std::string& names, std::optional<dtype>& to,
                      const std::string& description);

/// Integers separated by commas, spaces around them allowed; nothing when the text is anything else.
/// All of the text, as std::from_chars() reads it.
std::optional<double> parse_number(std::string_view text);

std::optional<std::vector<std::int64_t>> parse_integers(std::string_view text);

/// R, or R,C; empty if it is something else or negative.
std::optional<window_radius> parse_radius(std::string_view text);

/// "row,col,rows,cols"; nothing when malformed.
std::optional<box> parse_box(std::string_view text);
extern const std::string no_box;  ///< "is not row,col,rows,cols with four integers"

}  // namespace boxsum::cli
