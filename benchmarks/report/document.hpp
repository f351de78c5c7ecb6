#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

/// A report before it has a form: the same sections become text on a terminal and a page in a browser.
namespace boxsum::bench {

struct paragraph {
    std::string text;
};

enum class emphasis {
    none,
    best,   ///< the best of its group
    wrong,  ///< a wrong result
    muted,  ///< nothing measured
};

struct cell {
    std::string text;
    emphasis mark = emphasis::none;
};

/// The first column holds names, the others mostly numbers.
struct table {
    std::string caption;
    std::vector<std::string> head;
    std::vector<std::vector<cell>> rows;
    std::string note = {};
    int name_columns = 1;  ///< columns from the left that hold words
};

struct point {
    double x = 0, y = 0;
};

struct series {
    std::string name;
    std::vector<point> points;  ///< by ascending x
    bool reference = false;     ///< what the others are held against: drawn dashed, without a colour
};

struct line_chart {
    std::string caption;
    std::string x_label, y_label;
    std::vector<series> lines;
    bool log_y = true;  ///< x is always logarithmic: sizes
};

/// Stacked horizontal bars: the parts of a total.
struct bar_chart {
    struct bar {
        std::string name;
        std::vector<double> values;  ///< one a part; missing ones are not drawn
    };
    std::string caption;
    std::string unit;
    std::vector<std::string> parts;
    std::vector<bar> bars;
};

using block = std::variant<paragraph, table, line_chart, bar_chart>;

struct section {
    std::string id;  ///< for links
    std::string title;
    std::vector<block> blocks;
};

struct document {
    std::string title;
    std::string summary;
    std::vector<std::pair<std::string, std::string>> facts;
    std::vector<section> sections;
};

/// Plain text: tables as aligned columns, charts left out (their numbers are in tables).
std::string text_of(const document& report);

/// One self-contained page: no script, nothing from elsewhere; light and dark as the reader's system says; printable.
std::string html_of(const document& report);

/// Charts alone, as elements of a page (html_of has the style sheet). `names`: series in the order of their looks, so
/// that a name looks the same in every chart of a page; empty: the chart's own order.
std::string svg_of(const line_chart& chart, const std::vector<std::string>& names = {});
std::string svg_of(const bar_chart& chart);

/// &, <, > and quotes as entities, "^2" as a raised 2; control characters as spaces.
std::string escaped(const std::string& text);

}  // namespace boxsum::bench
