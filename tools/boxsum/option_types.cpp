#include "option_types.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace boxsum::cli {
namespace {

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

const CLI::Validator some_text(
    [](const std::string& text) { return text.empty() ? std::string("'' is no value") : std::string(); }, "");

const CLI::Validator finite_number(
    [](const std::string& text) {
        const auto value = parse_number(text);
        return value && std::isfinite(*value) ? std::string() : "'" + text + "' is not a finite number";
    },
    "");

const CLI::Validator positive_number(
    [](const std::string& text) {
        const auto value = parse_number(text);
        return value && std::isfinite(*value) && *value > 0 ? std::string() : "'" + text + "' is not a number above 0";
    },
    "");

const CLI::Validator number_from_0(
    [](const std::string& text) {
        const auto value = parse_number(text);
        return value && std::isfinite(*value) && *value >= 0 ? std::string()
                                                             : "'" + text + "' is not a number of at least 0";
    },
    "");

const std::string no_box = "is not row,col,rows,cols with four integers";

CLI::Option* add_boxes(CLI::App& command, std::vector<box>& boxes) {
    return add_parsed(command, "--box", boxes, parse_box, no_box, "row,col,rows,cols; may be repeated");
}

CLI::Option* add_type(CLI::App& command, const std::string& names, std::optional<dtype>& to,
                      const std::string& description) {
    return add_parsed(command, names, to, dtype_from_name, "is none of 8u, 16u, 16s, 32u, 32s, 64u, 64s, 16f, 32f, 64f",
                      description);
}

std::optional<std::vector<std::int64_t>> parse_integers(std::string_view text) {
    std::vector<std::int64_t> values;
    for (;;) {
        const std::size_t comma = text.find(',');
        const std::string_view field = trimmed(text.substr(0, comma));
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
        if (field.empty() || error != std::errc() || end != field.data() + field.size()) return {};
        values.push_back(value);
        if (comma == std::string_view::npos) return values;
        text.remove_prefix(comma + 1);
    }
}

std::optional<window_radius> parse_radius(std::string_view text) {
    const auto v = parse_integers(text);
    if (!v || v->size() > 2 || *std::min_element(v->begin(), v->end()) < 0) return {};
    return window_radius{v->front(), v->back()};
}

std::optional<box> parse_box(std::string_view text) {
    const auto v = parse_integers(text);
    if (!v || v->size() != 4) return {};
    return box{(*v)[0], (*v)[1], (*v)[2], (*v)[3]};
}

}  // namespace boxsum::cli
