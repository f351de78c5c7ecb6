#pragma once

#include "image_io/image.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace boxsum::cli {

/// How messages call an input: its path, or "standard input" for "-".
std::string input_name(const std::string& path);

/// Looks at the first bytes of a stream, 64 KiB, and throws input_error for what cannot be an input: a stream may have
/// no end.
using input_check = std::function<void(std::span<const std::byte> first_bytes)>;

/// All bytes of a file: mapped when it is a regular file, so that only what is looked at is read; collected in memory
/// when it is a pipe or "-", after `check` of its beginning. Throws input_error (missing, a folder, unreadable, empty),
/// out_of_memory.
encoded_bytes open_input(const std::string& path, const input_check& check);

}  // namespace boxsum::cli
