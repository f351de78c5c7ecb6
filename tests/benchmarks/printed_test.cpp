// What was copied from the papers, held against itself.

#include "papers/printed.hpp"

#include "api/registry.hpp"
#include "report/query.hpp"

#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace boxsum::bench {
namespace {

TEST(printed, every_paper_names_its_source) {
    for (const char* key : {"emoto-2018", "chen-2018", "notes-2025", "ha-2012", "poostchi-2017"}) {
        EXPECT_FALSE(printed(key)["citation"].get<std::string>().empty());
        EXPECT_NE(printed(key).dump().find("\"source\""), std::string::npos);
    }
    EXPECT_THROW((void)printed("crow-1984"), invalid_argument);
}

TEST(printed, algorithms_are_those_of_the_registry) {
    for (const auto& row : printed("emoto-2018")["table_1"]["rows"])
        EXPECT_NE(find_record(operation::sat, row["algorithm"].get<std::string>()), nullptr) << row["algorithm"];
    for (const auto& row : printed("notes-2025")["time"]["rows"])
        EXPECT_NE(find_record(operation::sat, row["algorithm"].get<std::string>()), nullptr) << row["algorithm"];
}

/// Every figure names its place, and algorithms are ours by name.
TEST(printed, figures_of_poostchi_name_their_places) {
    const auto& paper = printed("poostchi-2017");
    for (auto figure = paper.begin(); figure != paper.end(); ++figure) {
        if (!figure.key().starts_with("figure_")) continue;
        EXPECT_NE(figure->at("source").get<std::string>().find("figure " + figure.key().substr(7)), std::string::npos)
            << figure.key();
    }
    for (const auto& row : paper["figure_15"]["rates"])
        EXPECT_NE(find_record(operation::histogram, row["algorithm"].get<std::string>()), nullptr);
    for (const auto& row : paper["figure_7"]["ratios"])
        EXPECT_NE(find_record(operation::histogram, row["slower"].get<std::string>()), nullptr);
    EXPECT_NE(find_record(operation::histogram, paper["figure_20"]["algorithm"].get<std::string>()), nullptr);
}

/// The overheads that the paper prints follow from the times that it prints: a slip in copying one shows in the other.
/// Times have three digits, so each may be half a unit of its last digit away.
TEST(printed, overheads_of_table_3_follow_from_its_times) {
    const auto& table_3 = printed("emoto-2018")["table_3"];
    const std::vector<double> copies = table_3["duplication"];
    ASSERT_EQ(copies.size(), table_3["sizes"].size());
    const auto& overheads = table_3["overhead_percent"];
    for (auto one = overheads.begin(); one != overheads.end(); ++one)
        for (std::size_t i = 0; i < copies.size(); ++i) {
            double best = 1e9;
            for (const auto& row : table_3["rows"])
                if (row["algorithm"].get<std::string>() == one.key()) best = std::min(best, row["ms"][i].get<double>());
            const auto relative = [](double x) { return 0.5 * std::pow(10, std::floor(std::log10(x)) - 2) / x; };
            const double slack = (relative(best) + relative(copies[i])) * best / copies[i] * 100 + 0.06;
            EXPECT_NEAR(overhead_percent(best, copies[i]), (*one)[i].get<double>(), slack)
                << one.key() << " " << table_3["sizes"][i];
        }
}

}  // namespace
}  // namespace boxsum::bench
