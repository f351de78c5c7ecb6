#include "report/document.hpp"
#include "report/style_sheet.hpp"

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
            cells += i == 0 ? "<th scope=\"row\" class=\"name\">" + escaped(row[i].text) + "</th>"
                            : "<td" + std::string(is_name ? " class=\"name\"" : class_of(row[i].mark)) + ">" +
                                  escaped(row[i].text) + "</td>";
        }
        body += element("tr", cells) + "\n";
    }
    return "<figure class=\"table\">" + (t.caption.empty() ? "" : element("figcaption", escaped(t.caption))) +
           "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + escaped(t.caption) +
           "\"><table>\n<thead>" + element("tr", head) + "</thead>\n<tbody>\n" + body + "</tbody></table></div>" +
           (t.note.empty() ? "" : element("p", escaped(t.note), "class=\"note\"")) + "</figure>\n";
}

template <typename Chart>
std::string html_of_chart(const Chart& chart) {
    return "<figure class=\"drawing\">" + element("figcaption", escaped(chart.caption)) + svg_of(chart) + "</figure>\n";
}

std::string html_of(const line_chart& chart) {
    return html_of_chart(chart);
}
std::string html_of(const bar_chart& chart) {
    return html_of_chart(chart);
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
    return out;
}

std::string html_of(const document& report) {
    std::string facts, contents, sections;
    for (const auto& [name, value] : report.facts)
        facts += element("div", element("dt", escaped(name)) + element("dd", escaped(value))) + "\n";
    for (const section& s : report.sections) {
        contents += element("li", element("a", escaped(s.title), "href=\"#" + escaped(s.id) + "\"")) + "\n";
        std::string blocks;
        for (const block& b : s.blocks) blocks += std::visit([](const auto& content) { return html_of(content); }, b);
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
