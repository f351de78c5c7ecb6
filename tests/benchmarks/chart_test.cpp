#include "report/document.hpp"
#include "report/style_sheet.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace boxsum::bench {
namespace {

/// Whether tags nest and attributes are quoted; what is wrong, or nothing. (The page as a whole meets a browser and
/// Python's XML parser in test_bench.py and test_page.py.)
std::string malformed(const std::string& xml) {
    std::vector<std::string> open;
    const std::regex tag(R"(<(/?)([a-zA-Z]+)((?:\s+[a-zA-Z0-9-]+="[^"<]*")*)\s*(/?)>)");
    std::size_t at = 0;
    for (std::sregex_iterator i(xml.begin(), xml.end(), tag), end; i != end; ++i) {
        const std::string between = xml.substr(at, static_cast<std::size_t>(i->position()) - at);
        if (between.find_first_of("<>") != std::string::npos) return "stray bracket in '" + between + "'";
        at = static_cast<std::size_t>(i->position() + i->length());
        if (!(*i)[4].str().empty()) continue;
        if ((*i)[1].str().empty()) {
            open.push_back((*i)[2]);
        } else {
            if (open.empty() || open.back() != (*i)[2]) return "unexpected end of " + (*i)[2].str();
            open.pop_back();
        }
    }
    return open.empty() ? "" : "no end of " + open.back();
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

TEST(malformed, sees_what_is_wrong) {
    EXPECT_EQ(malformed("<a b=\"c\"><d/></a>"), "");
    EXPECT_NE(malformed("<a><b></a></b>"), "");
    EXPECT_NE(malformed("<a>"), "");
    EXPECT_NE(malformed("<a b=c></a>"), "");
}

TEST(line_chart, draws_every_series_and_point) {
    const line_chart chart{"a & b <c>",
                           "size",
                           "ms",
                           {{"one", {{256, 0.1}, {512, 0.2}, {1024, 0.7}}},
                            {"two", {{256, 3}, {1024, 9}}},
                            {"empty", {}},
                            {"copy", {{256, 0.05}}, true}}};
    const std::string svg = svg_of(chart);
    EXPECT_EQ(malformed(svg), "");
    EXPECT_EQ(count(svg, "<path class=\"line "), 3u);
    EXPECT_EQ(count(svg, "<title>"), 6u);
    EXPECT_NE(svg.find("one, 512: 0.2"), std::string::npos);
    EXPECT_NE(svg.find("a &amp; b &lt;c&gt;"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(line_chart, survives_nothing_and_values_that_have_no_logarithm) {
    EXPECT_EQ(malformed(svg_of(line_chart{"nothing", "x", "y", {}})), "");
    const std::string svg = svg_of(line_chart{"zero", "x", "y", {{"a", {{1, 0}, {2, -1}, {4, 5}}}}});
    EXPECT_EQ(malformed(svg), "");
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(count(svg, "<title>"), 1u);
}

TEST(line_chart, many_series_stay_apart) {
    line_chart chart{"many", "x", "y", {}};
    for (int i = 0; i < 20; ++i) chart.lines.push_back({"s" + std::to_string(i), {{1, 1.0 + i}, {2, 2.0 + i}}});
    const std::string svg = svg_of(chart);
    EXPECT_EQ(malformed(svg), "");
    EXPECT_GT(count(svg, "broken"), 0u);
    EXPECT_EQ(count(svg, "class=\"legend\""), 20u);
}

TEST(line_chart, a_name_keeps_its_look) {
    const std::vector<std::string> names{"a", "b", "c"};
    const line_chart chart{"", "x", "y", {{"c", {{1, 1}, {2, 2}}}}};
    EXPECT_NE(svg_of(chart, names).find("<path class=\"line c2\""), std::string::npos);
    EXPECT_NE(svg_of(chart).find("<path class=\"line c0\""), std::string::npos);
}

TEST(bar_chart, stacks_parts_to_a_total) {
    const std::string svg = svg_of(bar_chart{"passes", "ms", {"first", "second"}, {{"a", {1, 2}}, {"b", {3, 1}}}});
    EXPECT_EQ(malformed(svg), "");
    EXPECT_EQ(count(svg, "<title>"), 4u);
    EXPECT_NE(svg.find(">3</text>"), std::string::npos);
    EXPECT_NE(svg.find(">4</text>"), std::string::npos);
    EXPECT_EQ(malformed(svg_of(bar_chart{"nothing", "ms", {}, {}})), "");
}

TEST(escaped, leaves_nothing_that_a_page_would_run) {
    EXPECT_EQ(escaped("1K^2"), "1K&#178;");
    EXPECT_EQ(escaped("<script>\"'&\n"), "&lt;script&gt;&quot;&#39;&amp; ");
}

TEST(html, is_self_contained) {
    const document d{"title",
                     "summary",
                     {{"device", "<b>"}},
                     {{"one",
                       "One",
                       {paragraph{"words"}, table{"caption",
                                                  {"name", "ms"},
                                                  {{{"a"}, {"1", emphasis::best}}, {{"b"}, {"wrong", emphasis::wrong}}},
                                                  "a note",
                                                  1}}}}};
    const std::string html = html_of(d);
    for (const char* foreign : {"<script", "http:", "https:", "url(", "@import", "src="})
        EXPECT_EQ(html.find(foreign), std::string::npos) << foreign;
    for (const char* part :
         {"<!DOCTYPE html>", "href=\"#one\"", "id=\"one\"", "class=\"best\">1<", "class=\"wrong\">wrong<",
          "prefers-color-scheme: dark", "@media print", "&lt;b&gt;", "a note"})
        EXPECT_NE(html.find(part), std::string::npos) << part;
}

TEST(text, aligns_columns_and_marks) {
    const document d{
        "title",
        "summary",
        {},
        {{"one", "One", {table{"", {"name", "ms"}, {{{"a"}, {"1", emphasis::best}}, {{"longer"}, {"22"}}}, "", 1}}}}};
    EXPECT_NE(text_of(d).find("name     ms\n-----------\na       1 *\nlonger   22\n"), std::string::npos) << text_of(d);
}

}  // namespace
}  // namespace boxsum::bench
