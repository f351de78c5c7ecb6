#include "report/document.hpp"

#include <algorithm>
#include <cstddef>

namespace boxsum::bench {
namespace {

constexpr std::size_t text_width = 120;

/// Lines of at most text_width, broken at spaces.
std::string wrapped(const std::string& text) {
    std::string out;
    std::size_t column = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        if (column != 0 && column + 1 + (end - at) > text_width) {
            out += '\n';
            column = 0;
        }
        if (column != 0) {
            out += ' ';
            ++column;
        }
        out.append(text, at, end - at);
        column += end - at;
        at = end + 1;
    }
    return out + "\n";
}

std::string shown(const cell& c) {
    return c.mark == emphasis::best ? c.text + " *" : c.mark == emphasis::wrong ? c.text + " !" : c.text;
}

std::string text_of_table(const table& t) {
    std::vector<std::size_t> widths(t.head.size());
    for (std::size_t i = 0; i < t.head.size(); ++i) widths[i] = t.head[i].size();
    for (const auto& row : t.rows)
        for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
            widths[i] = std::max(widths[i], shown(row[i]).size());
    const auto append = [&](std::string& out, std::size_t i, const std::string& content) {
        const std::size_t fill = widths[i] > content.size() ? widths[i] - content.size() : 0;
        if (i != 0) out += "  ";
        if (static_cast<int>(i) >= t.name_columns) out.append(fill, ' ');
        out += content;
        if (static_cast<int>(i) < t.name_columns && i + 1 < widths.size()) out.append(fill, ' ');
    };
    std::string out = t.caption.empty() ? "" : wrapped(t.caption);
    std::string head;
    for (std::size_t i = 0; i < t.head.size(); ++i) append(head, i, t.head[i]);
    out += head + "\n" + std::string(head.size(), '-') + "\n";
    for (const auto& row : t.rows) {
        std::string text;
        for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) append(text, i, shown(row[i]));
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + "\n";
    }
    return t.note.empty() ? out : out + wrapped(t.note);
}

}  // namespace

std::string text_of(const document& report) {
    std::string out = report.title + "\n" + std::string(report.title.size(), '=') + "\n\n" + wrapped(report.summary);
    for (const auto& [name, value] : report.facts) out += wrapped(name + ": " + value);
    for (const section& s : report.sections) {
        out += "\n" + s.title + "\n" + std::string(s.title.size(), '-') + "\n";
        for (const block& b : s.blocks) {
            if (const auto* const words = std::get_if<paragraph>(&b)) out += "\n" + wrapped(words->text);
            if (const auto* const t = std::get_if<table>(&b)) out += "\n" + text_of_table(*t);
        }
    }
    return out;
}

}  // namespace boxsum::bench
