#pragma once

#include <boxsum/box.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace boxsum::cli {

/// Appends the boxes of CSV text, one "row,col,rows,cols" a line. A first line of names, empty lines and lines that
/// start with '#' are skipped. Throws input_error naming `name` and the line.
void parse_boxes(std::string_view text, const std::string& name, std::vector<box>& boxes);

/// The same for a file, or standard input for "-". Throws input_error, also when the file has no box.
void read_boxes(const std::string& path, std::vector<box>& boxes);

}  // namespace boxsum::cli
