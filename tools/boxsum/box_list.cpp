#include "box_list.hpp"

#include "errors.hpp"
#include "image_io/input_file.hpp"
#include "option_types.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace boxsum::cli {
namespace {

bool is_heading(std::string_view line) {
    return std::all_of(line.begin(), line.end(), [](char c) {
        return std::isalpha(static_cast<unsigned char>(c)) != 0 ||
               std::string_view(", _\"\t").find(c) != std::string_view::npos;
    });
}

}  // namespace

void parse_boxes(std::string_view text, const std::string& name, std::vector<box>& boxes) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark of spreadsheets
    bool first = true;
    for (std::size_t number = 1; !text.empty(); ++number) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.find_first_not_of(" \t") == std::string_view::npos || line.front() == '#') continue;
        const bool may_be_heading = std::exchange(first, false);
        if (const auto b = parse_box(line))
            boxes.push_back(*b);
        else if (!may_be_heading || !is_heading(line))
            throw input_error("'" + name + "', line " + std::to_string(number) + ": '" +
                              std::string(line.substr(0, 64)) + "' is not row,col,rows,cols");
    }
}

void read_boxes(const std::string& path, std::vector<box>& boxes) {
    const encoded_bytes file = open_input(path);
    const std::size_t before = boxes.size();
    parse_boxes({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()}, input_name(path), boxes);
    if (boxes.size() == before) throw input_error("'" + input_name(path) + "' has no box");
}

}  // namespace boxsum::cli
