#include "measure/json_line.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace boxsum::bench {
namespace {

TEST(json_line, holds_its_fields_in_order) {
    json_line line;
    EXPECT_EQ(line.str(), "{}");
    line.text("section", "table").integer("n", 1'234'567'890'123).number("x", 1.0 / 3);
    EXPECT_EQ(line.str(), R"({"section": "table", "n": 1234567890123, "x": 0.333333})");
}

TEST(json_line, is_json_whatever_a_message_says) {
    const std::string message = "algorithm 'fast' says \"no\": C:\\tables\n\tat row 1\x01";
    const auto parsed = nlohmann::json::parse(json_line().text("err\"or", message).str());
    EXPECT_EQ(parsed.at("err\"or").get<std::string>(), message);
}

}  // namespace
}  // namespace boxsum::bench
