#pragma once

#include <string>
#include <vector>

namespace boxsum::cli {

struct library_version {
    std::string name;
    std::string version;
};

/// The image libraries that the program runs with.
std::vector<library_version> library_versions();

}  // namespace boxsum::cli
