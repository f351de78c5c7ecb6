#include "report/axis.hpp"
#include "report/document.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace boxsum::bench {
namespace {

// The drawing's own units; the page scales it to its width.
constexpr double width = 860, left = 66, top = 14, line_height = 21;
constexpr double legend_width = 208;
constexpr int colours = 8;  // classes c0 to c7 of the style sheet

std::string number(double x) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.1f", x);
    return digits;
}

std::string attribute(const char* name, double x) {
    return std::string(" ") + name + "=\"" + number(x) + "\"";
}

std::string text(double x, double y, const char* classes, const std::string& content, const std::string& more = "") {
    return "<text class=\"" + std::string(classes) + "\"" + attribute("x", x) + attribute("y", y) + more + ">" +
           escaped(content) + "</text>";
}

std::string line(double x1, double y1, double x2, double y2, const std::string& classes) {
    return "<line class=\"" + classes + "\"" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
           attribute("y2", y2) + "/>";
}

std::string open(double height, const std::string& caption) {
    return "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 " + number(width) + " " + number(height) +
           "\" aria-label=\"" + escaped(caption) + "\">\n";
}

/// How a series is told from the others: colour, and where colours come again a broken line; shapes for those who see
/// no colours.
struct look {
    std::string classes;
    int shape;
};

look look_of(std::size_t index, bool reference) {
    if (reference) return {"reference", -1};
    const std::size_t turn = index / colours;
    return {"c" + std::to_string(index % colours) + (turn % 2 == 1 ? " broken" : ""), static_cast<int>(index % 4)};
}

std::string marker(double x, double y, const look& l, const std::string& tip) {
    const std::string title = tip.empty() ? "" : "<title>" + escaped(tip) + "</title>";
    const std::string start = "class=\"mark " + l.classes + "\"";
    const auto polygon = [&](std::initializer_list<std::pair<double, double>> corners) {
        std::string points;
        for (const auto& [dx, dy] : corners)
            points.append(points.empty() ? "" : " ").append(number(x + dx)).append(",").append(number(y + dy));
        return "<polygon " + start + " points=\"" + points + "\">" + title + "</polygon>";
    };
    switch (l.shape) {
        case 1:
            return polygon({{-3.2, -3.2}, {3.2, -3.2}, {3.2, 3.2}, {-3.2, 3.2}});
        case 2:
            return polygon({{0, -4.4}, {4.2, 3.2}, {-4.2, 3.2}});
        case 3:
            return polygon({{0, -4.6}, {4.6, 0}, {0, 4.6}, {-4.6, 0}});
        default:
            return "<circle " + start + attribute("cx", x) + attribute("cy", y) + " r=\"" +
                   (l.shape < 0 ? "2.4" : "3.4") + "\">" + title + "</circle>";
    }
}

struct placed_series {
    const series* data;
    look drawn;
};

/// Top to bottom as the lines end, so that the legend reads like the chart.
std::vector<placed_series> placed(const line_chart& chart, const std::vector<std::string>& names) {
    std::vector<placed_series> all;
    std::size_t index = names.size();
    for (const series& s : chart.lines) {
        if (s.points.empty()) continue;
        const auto named = std::find(names.begin(), names.end(), s.name);
        const bool known = named != names.end();
        all.push_back({&s, look_of(known ? static_cast<std::size_t>(named - names.begin()) : index, s.reference)});
        if (!known && !s.reference) ++index;
    }
    std::stable_sort(all.begin(), all.end(), [](const placed_series& a, const placed_series& b) {
        const point &p = a.data->points.back(), &q = b.data->points.back();
        return p.x != q.x ? p.x > q.x : p.y > q.y;
    });
    return all;
}

}  // namespace

std::string svg_of(const line_chart& chart, const std::vector<std::string>& names) {
    const std::vector<placed_series> lines = placed(chart, names);
    const double height = std::max(380.0, top + line_height * static_cast<double>(lines.size()) + 60);
    const double right = width - legend_width, bottom = height - 50;

    std::vector<double> xs, ys;
    for (const placed_series& s : lines)
        for (const point& p : s.data->points) {
            xs.push_back(p.x);
            ys.push_back(p.y);
        }
    axis x{true, 1, 2, left, right};
    if (!xs.empty()) {
        const auto [low, high] = std::minmax_element(xs.begin(), xs.end());
        // A little air, so that the first and the last marks do not lie on the frame.
        const double air = *high > *low ? std::pow(*high / *low, 0.02) : 1.5;
        x.low = *low / air;
        x.high = *high * air;
    }
    const axis y = axis_for(ys, chart.log_y, bottom, top);

    std::string svg = open(height, chart.caption);
    for (const tick& t : ticks_of(y)) {
        const double at = y.at(t.value);
        svg += line(left, at, right, at, t.text.empty() ? "grid minor" : "grid");
        if (!t.text.empty()) svg += text(left - 8, at + 4, "tick end", t.text);
    }
    for (const tick& t : size_ticks(xs)) {
        const double at = x.at(t.value);
        svg += line(at, top, at, bottom, "grid") + text(at, bottom + 18, "tick middle", t.text);
    }
    svg += line(left, bottom, right, bottom, "frame") + line(left, top, left, bottom, "frame") + "\n";
    svg += text((left + right) / 2, height - 10, "label middle", chart.x_label);
    const double middle = (top + bottom) / 2;
    svg +=
        text(15, middle, "label middle", chart.y_label, " transform=\"rotate(-90 15 " + number(middle) + ")\"") + "\n";

    for (const placed_series& s : lines) {
        std::string path;
        for (const point& p : s.data->points) {
            if (!std::isfinite(p.y) || (chart.log_y && p.y <= 0)) continue;
            path.append(path.empty() ? "M" : " L").append(number(x.at(p.x))).append(" ").append(number(y.at(p.y)));
        }
        if (path.empty()) continue;
        svg += "<path class=\"line " + s.drawn.classes + "\" d=\"" + path + "\"/>";
        for (const point& p : s.data->points)
            if (std::isfinite(p.y) && (!chart.log_y || p.y > 0))
                svg += marker(x.at(p.x), y.at(p.y), s.drawn,
                              s.data->name + ", " + size_text(p.x) + ": " + short_number(p.y));
        svg += "\n";
    }
    double at = top + 8;
    for (const placed_series& s : lines) {
        svg += line(right + 16, at, right + 40, at, "line " + s.drawn.classes) + marker(right + 28, at, s.drawn, "") +
               text(right + 48, at + 4, "legend", s.data->name);
        at += line_height;
    }
    return svg + "\n</svg>\n";
}

std::string svg_of(const bar_chart& chart) {
    constexpr double names = 250, bar_height = 17, gap = 9, right_air = 70;
    const double right = width - right_air;
    std::vector<point> legend;  // where the names of the parts stand, in as many lines as they need
    double at = names, line_of_legend = top;
    for (const std::string& part : chart.parts) {
        const double needed = 40 + 7.2 * static_cast<double>(part.size());
        if (at > names && at + needed > width) {
            at = names;
            line_of_legend += line_height;
        }
        legend.push_back({at, line_of_legend});
        at += needed;
    }
    const double bars_top = line_of_legend + line_height + 6;
    const double bottom = bars_top + static_cast<double>(chart.bars.size()) * (bar_height + gap);
    double longest = 0;
    for (const bar_chart::bar& b : chart.bars) {
        double sum = 0;
        for (const double v : b.values) sum += v;
        longest = std::max(longest, sum);
    }
    const axis x = axis_for({0, longest}, false, names, right);

    std::string svg = open(bottom + 46, chart.caption);
    for (std::size_t i = 0; i < chart.parts.size(); ++i)
        svg += "<rect class=\"bar c" + std::to_string(i % colours) + "\"" + attribute("x", legend[i].x) +
               attribute("y", legend[i].y) + " width=\"12\" height=\"12\"/>" +
               text(legend[i].x + 18, legend[i].y + 10, "legend", chart.parts[i]);
    for (const tick& t : ticks_of(x)) {
        const double mark = x.at(t.value);
        svg += line(mark, bars_top, mark, bottom, "grid") + text(mark, bottom + 18, "tick middle", t.text);
    }
    double y = bars_top + gap / 2;
    for (const bar_chart::bar& b : chart.bars) {
        svg += text(names - 10, y + bar_height / 2 + 4, "tick end", b.name);
        double sum = 0;
        for (std::size_t i = 0; i < b.values.size(); ++i) {
            const double begin = x.at(sum), end = x.at(sum + b.values[i]);
            sum += b.values[i];
            svg += "<rect class=\"bar c" + std::to_string(i % colours) + "\"" + attribute("x", begin) +
                   attribute("y", y) + attribute("width", std::max(0.0, end - begin)) +
                   attribute("height", bar_height) + "><title>" +
                   escaped(b.name + ", " + (i < chart.parts.size() ? chart.parts[i] : "") + ": " +
                           short_number(b.values[i]) + " " + chart.unit) +
                   "</title></rect>";
        }
        svg += text(x.at(sum) + 7, y + bar_height / 2 + 4, "tick", short_number(sum)) + "\n";
        y += bar_height + gap;
    }
    svg += line(names, bars_top, names, bottom, "frame");
    return svg + text((names + right) / 2, bottom + 40, "label middle", chart.unit) + "\n</svg>\n";
}

}  // namespace boxsum::bench
