#include "measure/json_line.hpp"

#include <cstdio>

namespace boxsum::bench {
namespace {

std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            result += code;
            continue;
        }
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + '"';
}

}  // namespace

json_line& json_line::text(std::string_view key, std::string_view value) {
    return field(key, quoted(value));
}

json_line& json_line::integer(std::string_view key, std::int64_t value) {
    return field(key, std::to_string(value));
}

json_line& json_line::number(std::string_view key, double value) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.6g", value);
    return field(key, digits);
}

json_line& json_line::field(std::string_view key, std::string_view value) {
    if (!fields_.empty()) fields_ += ", ";
    fields_.append(quoted(key)).append(": ").append(value);
    return *this;
}

void json_line::print() const {
    std::printf("%s\n", str().c_str());
    std::fflush(stdout);
}

}  // namespace boxsum::bench
