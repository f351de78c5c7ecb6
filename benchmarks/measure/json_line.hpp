#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace boxsum::bench {

/// One JSON object on one line of standard output, for programs that a script collects records from:
/// {"section": "table", "n": 1024, ...}
class json_line {
  public:
    json_line& text(std::string_view key, std::string_view value);
    json_line& integer(std::string_view key, std::int64_t value);
    /// Six significant digits.
    json_line& number(std::string_view key, double value);

    /// With its braces, as print() writes it.
    std::string str() const { return "{" + fields_ + "}"; }
    /// At once, so that what was measured before a program ends badly is not lost.
    void print() const;

  private:
    json_line& field(std::string_view key, std::string_view value);

    std::string fields_;
};

}  // namespace boxsum::bench
