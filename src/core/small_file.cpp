#include "core/small_file.hpp"

#include <cstdio>
#include <memory>

namespace boxsum {

std::string contents_of(const std::string& path) {
    const auto close = [](std::FILE* file) { std::fclose(file); };
    const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "re"), close);
    std::string text;
    if (file == nullptr) return text;
    char part[1024];
    for (std::size_t got; (got = std::fread(part, 1, sizeof part, file.get())) > 0;) text.append(part, got);
    return text;
}

}  // namespace boxsum
