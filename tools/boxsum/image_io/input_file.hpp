#pragma once

#include "image_io/image.hpp"

#include <string>

namespace boxsum::cli {

/// How messages call an input: its path, or "standard input" for "-".
std::string input_name(const std::string& path);

/// All bytes of a file: mapped when it is a regular file, so that only what is looked at is read; collected in memory
/// when it is a pipe or "-". Throws input_error (missing, a folder, unreadable, empty).
encoded_bytes open_input(const std::string& path);

}  // namespace boxsum::cli
