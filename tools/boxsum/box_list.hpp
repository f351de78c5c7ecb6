#pragma once

#include <boxsum/box.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace boxsum::cli {

/// Boxes, and what else a file says about each of them ("id"), to be handed on with the answers.
struct box_list {
    std::vector<box> boxes;
    std::vector<std::string> names;               ///< of the other columns
    std::vector<std::vector<std::string>> cells;  ///< of each box, as many as names; fewer where it came without them
    std::vector<int> pages = {};                  ///< of each box, where more pages than one are looked at

    /// The cell of box i in column k; empty where it has none.
    std::string cell(std::size_t i, std::size_t k) const {
        return i < cells.size() && k < cells[i].size() ? cells[i][k] : std::string();
    }

    /// The boxes of a page behind those of the pages before.
    void add_page(int page, const box_list& of_page);

    /// What is said of each box before the answers: the other columns, the page where there are several, row, col,
    /// rows, cols and the channel.
    std::vector<std::string> headings() const;
    std::vector<std::string> cells_of(std::size_t i, std::size_t channel) const;
    nlohmann::ordered_json json_of(std::size_t i, std::size_t channel) const;
};

/// Appends the boxes of CSV text. The first line may name the columns, in any order: row,col,rows,cols or x,y,w,h (also
/// y,x,height,width; in any case of letters); other columns are kept beside the boxes. Without such a line there are
/// four columns, row,col,rows,cols. Columns are separated by commas, semicolons or tabs, as the first line has it, and
/// may be quoted. Empty lines and lines that start with '#' are skipped. Throws input_error naming `name` and the line.
void parse_boxes(std::string_view text, const std::string& name, box_list& list);

/// The same for a file, or standard input for "-". Throws input_error, also when the file has no box.
void read_boxes(const std::string& path, box_list& list);

/// A cell as CSV has it: quoted where it needs to be.
std::string csv_cell(const std::string& text);

}  // namespace boxsum::cli
