#include "core/algorithm_record.hpp"

#include <boxsum/error.hpp>

#include <string>

namespace boxsum {
namespace {

std::size_t index_of_parameter(const algorithm_record& record, std::string_view name) {
    std::string known;
    for (std::size_t i = 0; i < record.info.parameters.size(); ++i) {
        if (record.info.parameters[i].name == name) return i;
        known.append(known.empty() ? "" : ", ").append(record.info.parameters[i].name);
    }
    throw invalid_argument("parameters: algorithm '" + std::string(record.info.name) + "' has no parameter '" +
                           std::string(name) + "'" + (known.empty() ? "" : "; it has " + known));
}

std::uint8_t index_of_value(const parameter& p, std::string_view value) {
    std::string known;
    for (std::size_t i = 0; i < p.values.size(); ++i) {
        if (p.values[i] == value) return static_cast<std::uint8_t>(i);
        known.append(known.empty() ? "" : ", ").append(p.values[i]);
    }
    throw invalid_argument("parameters: " + std::string(p.name) + " is '" + std::string(value) + "', must be one of " +
                           known);
}

}  // namespace

parameter_values parse_parameters(const algorithm_record& record, std::string_view text) {
    parameter_values values;
    while (!text.empty()) {
        const std::string_view entry = text.substr(0, text.find(','));
        text.remove_prefix(entry.size() + (entry.size() < text.size() ? 1 : 0));
        const std::size_t equals = entry.find('=');
        if (equals == std::string_view::npos)
            throw invalid_argument("parameters: '" + std::string(entry) + "' is not name=value");
        const std::size_t position = index_of_parameter(record, entry.substr(0, equals));
        values.choice.at(position) = index_of_value(record.info.parameters[position], entry.substr(equals + 1));
    }
    return values;
}

std::string format_parameters(const algorithm_record& record, const parameter_values& values) {
    std::string text;
    for (std::size_t i = 0; i < record.info.parameters.size(); ++i)
        text.append(text.empty() ? "" : ",")
            .append(record.info.parameters[i].name)
            .append("=")
            .append(record.value(values, i));
    return text;
}

}  // namespace boxsum
