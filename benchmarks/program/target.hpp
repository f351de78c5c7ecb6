#pragma once

#include <boxsum/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace boxsum::bench {

/// Where is measured.
struct target {
    backend where = backend::cpu;
    int device = 0;
};

/// "auto", "cpu", "cuda", "cuda:N", and makes that device the current one. Throws cli::usage_error for other texts,
/// unsupported for a device that is not there.
target target_of(const std::string& text);

/// Edge lengths, ascending and distinct. Throws cli::usage_error naming what is no size of 1 to 65536.
std::vector<std::int64_t> parse_sizes(const std::vector<std::string>& texts);

}  // namespace boxsum::bench
