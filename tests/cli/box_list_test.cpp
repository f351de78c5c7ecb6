#include "box_list.hpp"

#include "errors.hpp"
#include "option_types.hpp"

#include <gtest/gtest.h>

namespace boxsum::cli {
namespace {

std::vector<box> parsed(std::string_view text) {
    box_list list;
    parse_boxes(text, "boxes.csv", list);
    return list.boxes;
}

TEST(box_list, headings_comments_empty_lines_and_line_ends) {
    const std::vector<box> expected{{1, 2, 3, 4}, {5, 6, 7, 8}};
    EXPECT_EQ(parsed("1,2,3,4\n5,6,7,8"), expected);
    EXPECT_EQ(parsed("row,col,rows,cols\r\n1,2,3,4\r\n\r\n5,6,7,8\r\n"), expected);
    EXPECT_EQ(parsed("\xef\xbb\xbf\"row\", \"col\", \"rows\", \"cols\"\n# none\n 1 , 2,3 ,\t4\n5,6,7,8\n\n"), expected);
}

TEST(box_list, malformed_lines_are_named) {
    for (const char* text : {"1,2,3", "1,2,3,4,5", "1,2,3,", "1,2,3,x", "1,2,3,4.5", "1;2;3;4", "0x1,2,3,4",
                             "1,2,3,99999999999999999999"}) {
        try {
            parsed(std::string("1,2,3,4\n") + text);
            ADD_FAILURE() << text << " was accepted";
        } catch (const input_error& e) {
            EXPECT_NE(std::string(e.what()).find("line 2"), std::string::npos) << e.what();
        }
    }
    EXPECT_THROW(parsed("1,2,3,4\nrow,col,rows,cols"), input_error) << "a heading stands first only";
}

TEST(option_types, integers) {
    EXPECT_EQ(parse_integers("-1, 2"), (std::vector<std::int64_t>{-1, 2}));
    for (const char* text : {"", ",", "1,", ",1", "1 2", "1e3", "+1", "--1"})
        EXPECT_FALSE(parse_integers(text)) << text;
    EXPECT_EQ(parse_box("0,0,9223372036854775807,1"), (box{0, 0, INT64_MAX, 1}));
    EXPECT_FALSE(parse_box("1,2,3"));
}

}  // namespace
}  // namespace boxsum::cli
