#include "box_list.hpp"

#include "errors.hpp"
#include "image_io/input_file.hpp"
#include "option_types.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

namespace boxsum::cli {
namespace {

/// Bytes of a file as part of a message: those that are no text become spaces.
std::string shown(std::string_view text) {
    std::string part(text.substr(0, 64));
    std::replace(part.begin(), part.end(), '\0', ' ');
    return part;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The separator of a file: that of its first line.
char separator_of(std::string_view line) {
    for (const char c : {',', ';', '\t'})
        if (line.find(c) != std::string_view::npos) return c;
    return ',';
}

std::vector<std::string> split(std::string_view line, char separator) {
    std::vector<std::string> cells;
    for (;;) {
        line = separator == '\t' ? line : line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
        std::string cell;
        std::size_t end = 0;
        if (line.starts_with('"')) {  // "" is a quote within quotes
            for (end = 1; end < line.size(); ++end) {
                if (line[end] == '"' && line.substr(end + 1, 1) != "\"") break;
                if (line[end] == '"') ++end;
                cell.push_back(line[end]);
            }
            end = std::min(line.find(separator, std::min(end + 1, line.size())), line.size());
        } else {
            end = std::min(line.find(separator), line.size());
            cell = trimmed(line.substr(0, end));
        }
        cells.push_back(std::move(cell));
        if (end == line.size()) return cells;
        line.remove_prefix(end + 1);
    }
}

constexpr std::array<std::string_view, 4> box_columns = {"row", "col", "rows", "cols"};

/// Which number of a box a column has; nothing for another name.
std::optional<std::size_t> part_of_box(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    static constexpr std::array<std::array<std::string_view, 3>, 4> names = {
        {{"row", "y", "top"}, {"col", "x", "left"}, {"rows", "h", "height"}, {"cols", "w", "width"}}};
    for (std::size_t i = 0; i < names.size(); ++i)
        if (std::find(names[i].begin(), names[i].end(), name) != names[i].end()) return i;
    return {};
}

/// Where the four numbers of a box and the other cells stand in a line.
struct columns {
    std::array<std::size_t, 4> of_box = {0, 1, 2, 3};
    std::vector<std::size_t> others = {};
    std::size_t count = 4;
};

columns columns_of(const std::vector<std::string>& names, box_list& list) {
    columns found;
    std::array<bool, 4> has{};
    found.count = names.size();
    list.names.clear();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto part = part_of_box(names[i]);
        if (!part) {
            found.others.push_back(i);
            list.names.push_back(names[i]);
            continue;
        }
        if (std::exchange(has[*part], true))
            throw input_error("two columns say the " + std::string(box_columns[*part]) + " of a box");
        found.of_box[*part] = i;
    }
    for (std::size_t part = 0; part < has.size(); ++part)
        if (!has[part]) {
            std::string all;
            for (const std::string& name : names) all += (all.empty() ? "'" : ", '") + shown(name) + "'";
            throw input_error("of the columns " + all + " none is '" + std::string(box_columns[part]) +
                              "'; boxes are row,col,rows,cols or x,y,w,h");
        }
    return found;
}

}  // namespace

void box_list::add_page(int page, const box_list& of_page) {
    names = of_page.names;
    cells.resize(boxes.size());
    boxes.insert(boxes.end(), of_page.boxes.begin(), of_page.boxes.end());
    cells.insert(cells.end(), of_page.cells.begin(), of_page.cells.end());
    pages.resize(boxes.size(), page);
}

std::vector<std::string> box_list::headings() const {
    std::vector<std::string> all = names;
    if (!pages.empty()) all.emplace_back("page");
    all.insert(all.end(), box_columns.begin(), box_columns.end());
    all.emplace_back("channel");
    return all;
}

std::vector<std::string> box_list::cells_of(std::size_t i, std::size_t channel) const {
    std::vector<std::string> all;
    for (std::size_t k = 0; k < names.size(); ++k) all.push_back(cell(i, k));
    if (!pages.empty()) all.push_back(std::to_string(pages[i]));
    const box& b = boxes[i];
    for (const std::int64_t n : {b.row, b.col, b.rows, b.cols, static_cast<std::int64_t>(channel)})
        all.push_back(std::to_string(n));
    return all;
}

nlohmann::ordered_json box_list::json_of(std::size_t i, std::size_t channel) const {
    nlohmann::ordered_json all;
    for (std::size_t k = 0; k < names.size(); ++k) all[names[k]] = cell(i, k);
    if (!pages.empty()) all["page"] = pages[i];
    const box& b = boxes[i];
    all.update({{"row", b.row}, {"col", b.col}, {"rows", b.rows}, {"cols", b.cols}, {"channel", channel}});
    return all;
}

void parse_boxes(std::string_view text, const std::string& name, box_list& list) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark of spreadsheets
    std::optional<char> separator;
    columns where;
    for (std::size_t number = 1; !text.empty(); ++number) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.find_first_not_of(" \t") == std::string_view::npos || line.front() == '#') continue;
        const bool first = !separator;
        if (first) separator = separator_of(line);
        const std::string place = "'" + name + "', line " + std::to_string(number) + ": ";
        const std::vector<std::string> cells = split(line, *separator);
        const auto is_number = [](const std::string& cell) { return parse_integers(cell).has_value(); };
        if (first && !std::all_of(cells.begin(), cells.end(), is_number)) {
            try {
                where = columns_of(cells, list);
            } catch (const input_error& e) {
                throw input_error(place + e.what());
            }
            continue;
        }
        std::array<std::int64_t, 4> values{};
        bool good = cells.size() == where.count;
        for (std::size_t i = 0; good && i < values.size(); ++i) {
            const auto value = parse_integers(cells[where.of_box[i]]);
            good = value && value->size() == 1;
            if (good) values[i] = value->front();
        }
        if (!good)
            throw input_error(place + "'" + shown(line) + "' is not " +
                              (where.others.empty()
                                   ? "row,col,rows,cols"
                                   : "a line of " + std::to_string(where.count) + " columns with a box in it"));
        list.cells.resize(list.boxes.size());
        list.boxes.push_back({values[0], values[1], values[2], values[3]});
        std::vector<std::string>& others = list.cells.emplace_back();
        for (const std::size_t i : where.others) others.push_back(cells[i]);
    }
}

void read_boxes(const std::string& path, box_list& list) {
    const encoded_bytes file = open_input(path, [&](std::span<const std::byte> bytes) {
        if (std::find(bytes.begin(), bytes.end(), std::byte{0}) != bytes.end())
            throw input_error("'" + input_name(path) + "' is no text");
    });
    const std::size_t before = list.boxes.size();
    parse_boxes({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()}, input_name(path), list);
    if (list.boxes.size() == before) throw input_error("'" + input_name(path) + "' has no box");
}

std::string csv_cell(const std::string& text) {
    if (text.find_first_of(",\"\r\n;\t") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
    return quoted + "\"";
}

}  // namespace boxsum::cli
