#include "core/algorithm_record.hpp"

#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <array>

namespace boxsum {
namespace {

constexpr std::array<std::string_view, 3> widths{"64", "32", "128"};
constexpr std::array<std::string_view, 2> scans{"kogge-stone", "lf"};
constexpr std::array<parameter, 2> list{{{"W", "tile width", widths}, {"scan", "warp scan", scans}}};

algorithm_record record() {
    algorithm_record r;
    r.info.name = "subject";
    r.info.parameters = list;
    return r;
}

TEST(parameters, default_to_the_first_value) {
    const algorithm_record r = record();
    EXPECT_EQ(format_parameters(r, parse_parameters(r, "")), "W=64,scan=kogge-stone");
}

TEST(parameters, are_set_by_name_in_any_order) {
    const algorithm_record r = record();
    const parameter_values values = parse_parameters(r, "scan=lf,W=128");
    EXPECT_EQ(r.value(values, 0), "128");
    EXPECT_EQ(r.value(values, 1), "lf");
    EXPECT_EQ(parse_parameters(r, format_parameters(r, values)), values);
}

TEST(parameters, mistakes_are_named) {
    const algorithm_record r = record();
    for (const auto& [text, part] :
         {std::pair{"W=33", "must be one of 64, 32, 128"}, std::pair{"w=32", "no parameter 'w'"},
          std::pair{"W", "'W' is not name=value"}, std::pair{"W=", "W is ''"}}) {
        try {
            parse_parameters(r, text);
            ADD_FAILURE() << text << " was accepted";
        } catch (const invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
        }
    }
}

}  // namespace
}  // namespace boxsum
