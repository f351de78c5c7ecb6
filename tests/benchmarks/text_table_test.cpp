#include "program/text_table.hpp"

#include "example_record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace boxsum::bench {
namespace {

TEST(text_table, has_a_line_for_each_row_and_the_ratio_to_a_copy) {
    bench_record record;
    record.origin.device = "a device";
    record.origin.commit = std::string(40, 'a');
    table_row copy, table, wrong;
    copy.what = "copy";
    copy.types = table.types = wrong.types = "8u32u";
    copy.rows = copy.cols = table.rows = table.cols = wrong.rows = wrong.cols = 64;
    copy.algorithm = "duplication";
    copy.us = 2000;
    table.algorithm = "simd";
    table.us = 3000;
    table.check = "equal";
    wrong.algorithm = "other";
    wrong.check = "wrong: row 3";
    wrong.note = "a note";
    record.tables = {copy, table, wrong};
    std::istringstream text(text_of(record));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    ASSERT_EQ(lines.size(), 6u);
    EXPECT_EQ(lines[3], "copy   8u32u  64 x 64  duplication              2   1");
    EXPECT_EQ(lines[4], "table  8u32u  64 x 64  simd                     3   1.5        equal");
    EXPECT_EQ(lines[5], "table  8u32u  64 x 64  other                    -   -          wrong: row 3");
}

TEST(text_table, shows_every_row_of_a_whole_record) {
    const bench_record record = example_record();
    const std::string text = text_of(record);
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    EXPECT_EQ(lines, 1 + (2 + record.tables.size()) + (record.micro.empty() ? 0 : 2 + record.micro.size()));
}

}  // namespace
}  // namespace boxsum::bench
