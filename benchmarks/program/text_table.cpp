#include "program/text_table.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace boxsum::bench {
namespace {

using line = std::vector<std::string>;

std::string number(std::optional<double> value, double unit = 1) {
    if (!value) return "-";
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", *value / unit);
    return text;
}

std::string count(std::int64_t n) {
    return n == 0 ? "" : std::to_string(n);
}

/// "equal", "wrong: ..."; where there is no time, why.
template <typename Row>
std::string remark(const Row& row) {
    return row.wrong() || row.note.empty() ? row.check : row.note;
}

/// Columns as wide as their widest entry, two blanks apart.
std::string aligned(const std::vector<line>& lines) {
    std::vector<std::size_t> widths(lines.front().size());
    for (const line& l : lines)
        for (std::size_t i = 0; i < l.size(); ++i) widths[i] = std::max(widths[i], l[i].size());
    std::string text;
    for (const line& l : lines) {
        std::string row;
        for (std::size_t i = 0; i < l.size(); ++i) row += l[i] + std::string(widths[i] + 2 - l[i].size(), ' ');
        row.erase(row.find_last_not_of(' ') + 1);
        text += row + "\n";
    }
    return text;
}

std::optional<double> of_a_copy(const bench_record& record, const table_row& row) {
    for (const table_row& copy : record.tables)
        if (copy.what == "copy" && copy.types == row.types && copy.rows == row.rows && copy.cols == row.cols &&
            copy.us && row.us)
            return *row.us / *copy.us;
    return {};
}

}  // namespace

std::string text_of(const bench_record& record) {
    std::string text = record.kind + ": " + record.origin.device + ", commit " + record.origin.commit.substr(0, 12) +
                       (record.origin.changed ? " with changes" : "") + ", " + record.settings + "\n";
    if (!record.tables.empty()) {
        std::vector<line> lines{{"what", "types", "size", "algorithm", "parameters", "ms", "of a copy", "result"}};
        for (const table_row& r : record.tables)
            lines.push_back({r.what, r.types, std::to_string(r.rows) + " x " + std::to_string(r.cols), r.algorithm,
                             r.parameters, number(r.us, 1000), number(of_a_copy(record, r)), remark(r)});
        text += "\n" + aligned(lines);
    }
    if (!record.micro.empty()) {
        std::vector<line> lines{{"micro-benchmark", "", "unit"}};
        for (const micro_row& r : record.micro) lines.push_back({r.name, number(r.value), r.unit});
        text += "\n" + aligned(lines);
    }
    if (!record.histograms.empty()) {
        std::vector<line> lines{
            {"what", "size", "bins", "algorithm", "parameters", "threads", "buffers", "workers", "ms", "result"}};
        for (const histogram_row& r : record.histograms)
            lines.push_back({r.what, std::to_string(r.rows) + " x " + std::to_string(r.cols), count(r.bins),
                             r.algorithm, r.parameters.empty() ? r.part : r.parameters, count(r.threads),
                             count(r.buffers), count(r.workers), number(r.us, 1000), remark(r)});
        text += "\n" + aligned(lines);
    }
    return text;
}

}  // namespace boxsum::bench
