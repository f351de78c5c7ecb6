#include "report/document.hpp"
#include "report/style_sheet.hpp"

#include <algorithm>

namespace boxsum::bench {
namespace {

std::string element(const std::string& name, const std::string& content, const std::string& attributes = "") {
    return "<" + name + (attributes.empty() ? "" : " " + attributes) + ">" + content + "</" + name + ">";
}

const char* class_of(emphasis mark) {
    switch (mark) {
        case emphasis::best:
            return " class=\"best\"";
        case emphasis::wrong:
            return " class=\"wrong\"";
        case emphasis::muted:
            return " class=\"muted\"";
        case emphasis::none:
            break;
    }
    return "";
}

std::string html_of(const paragraph& p) {
    return element("p", escaped(p.text)) + "\n";
}

std::string html_of(const table& t) {
    std::string head, body;
    for (std::size_t i = 0; i < t.head.size(); ++i)
        head += element("th", escaped(t.head[i]),
                        static_cast<int>(i) < t.name_columns ? "scope=\"col\" class=\"name\"" : "scope=\"col\"");
    for (const auto& row : t.rows) {
        std::string cells;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool is_name = static_cast<int>(i) < t.name_columns;
            cells +=
                i == 0 ? "<th scope=\"row\" class=\"name\">" + escaped(row[i].text) + "</th>"
                       : "<td" +
                             std::string(is_name ? row[i].text.size() > 32 ? " class=\"name long\"" : " class=\"name\""
                                                 : class_of(row[i].mark)) +
                             ">" + escaped(row[i].text) + "</td>";
        }
        body += element("tr", cells) + "\n";
    }
    return "<figure class=\"table\">" + (t.caption.empty() ? "" : element("figcaption", escaped(t.caption))) +
           "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + escaped(t.caption) +
           "\"><table>\n<thead>" + element("tr", head) + "</thead>\n<tbody>\n" + body + "</tbody></table></div>" +
           (t.note.empty() ? "" : element("p", escaped(t.note), "class=\"note\"")) + "</figure>\n";
}

std::string figure(const std::string& caption, const std::string& drawing) {
    return "<figure class=\"drawing\">" + element("figcaption", escaped(caption)) + drawing + "</figure>\n";
}

/// Every name of a coloured line, in the order in which the page shows them.
std::vector<std::string> names_of_lines(const document& report) {
    std::vector<std::string> names;
    for (const section& s : report.sections)
        for (const block& b : s.blocks)
            if (const auto* const chart = std::get_if<line_chart>(&b))
                for (const series& line : chart->lines)
                    if (!line.reference && !line.points.empty() &&
                        std::find(names.begin(), names.end(), line.name) == names.end())
                        names.push_back(line.name);
    return names;
}

}  // namespace

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
        }
    for (std::size_t at = 0; (at = out.find("^2", at)) != std::string::npos;) out.replace(at, 2, "&#178;");
    return out;
}

std::string html_of(const document& report) {
    const std::vector<std::string> names = names_of_lines(report);
    std::string facts, contents, sections;
    for (const auto& [name, value] : report.facts)
        facts += element("div", element("dt", escaped(name)) + element("dd", escaped(value))) + "\n";
    for (const section& s : report.sections) {
        contents += element("li", element("a", escaped(s.title), "href=\"#" + escaped(s.id) + "\"")) + "\n";
        std::string blocks;
        for (const block& b : s.blocks) {
            if (const auto* const words = std::get_if<paragraph>(&b)) blocks += html_of(*words);
            if (const auto* const t = std::get_if<table>(&b)) blocks += html_of(*t);
            if (const auto* const lines = std::get_if<line_chart>(&b))
                blocks += figure(lines->caption, svg_of(*lines, names));
            if (const auto* const bars = std::get_if<bar_chart>(&b)) blocks += figure(bars->caption, svg_of(*bars));
        }
        sections += "<section id=\"" + escaped(s.id) + "\">\n" + element("h2", escaped(s.title)) + "\n" + blocks +
                    "</section>\n";
    }
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n" +
           element("title", escaped(report.title)) + "\n" + element("style", style_sheet) +
           "\n</head>\n<body>\n<header>\n" + element("h1", escaped(report.title)) + "\n" +
           element("p", escaped(report.summary), "class=\"summary\"") + "\n" + element("dl", facts, "class=\"facts\"") +
           "\n</header>\n" +
           element("nav", element("h2", "Contents") + element("ol", contents), "aria-label=\"Contents\"") +
           "\n<main>\n" + sections + "</main>\n</body>\n</html>\n";
}

}  // namespace boxsum::bench
