#include "image_io/memory_limit.hpp"

#include <boxsum/error.hpp>
#include <boxsum/memory.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <limits>
#include <optional>

namespace boxsum::cli {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

std::atomic<std::uint64_t> in_use{0};
std::atomic<std::uint64_t> chosen_limit{unlimited};

/// The number behind `key` in a file of lines "key number".
std::optional<std::uint64_t> value_in(const std::string& path, const std::string& key) {
    std::ifstream file(path);
    std::string name, rest;
    for (std::uint64_t value = 0; file >> name >> value; std::getline(file, rest))
        if (name == key) return value;
    return {};
}

std::optional<std::uint64_t> number_in(const std::string& path) {
    std::ifstream file(path);
    std::uint64_t value = 0;
    if (file >> value) return value;  // "max" is no number
    return {};
}

std::uint64_t left(std::uint64_t limit, std::uint64_t used) {
    return limit > used ? limit - used : 0;
}

/// What a control group leaves: pages of files that nobody uses make room.
std::uint64_t left_of_group(const std::string& folder, const char* limit, const char* usage, const char* files) {
    const auto most = number_in(folder + limit);
    if (!most) return unlimited;
    return left(*most,
                left(number_in(folder + usage).value_or(0), value_in(folder + "memory.stat", files).value_or(0)));
}

std::uint64_t left_of_resource_limits() {
    std::uint64_t least = unlimited;
    std::ifstream sizes("/proc/self/statm");  // in pages
    std::uint64_t pages = 0;
    sizes >> pages;
    constexpr std::uint64_t page_bytes = 4096;
    for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
        struct rlimit limit {};
        if (::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            least = std::min(least, left(limit.rlim_cur, resource == RLIMIT_AS ? pages * page_bytes : 0));
    }
    return least;
}

std::uint64_t found_limit() {
    constexpr std::uint64_t kilobyte = 1024;
    const auto free_kilobytes = value_in("/proc/meminfo", "MemAvailable:");
    return std::min({free_kilobytes ? *free_kilobytes * kilobyte : unlimited,
                     left_of_control_groups("/proc/self/cgroup", "/sys/fs/cgroup"), left_of_resource_limits()});
}

}  // namespace

std::uint64_t left_of_control_groups(const std::string& groups_file, const std::string& tree) {
    std::uint64_t least = unlimited;
    std::ifstream groups(groups_file);
    for (std::string line; std::getline(groups, line);) {  // "0::/a/b", of version 1 "4:memory:/a/b"
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const bool unified = controllers == ",,";
        if (!unified && controllers.find(",memory,") == std::string::npos) continue;
        // A container may see its own group as the root of the tree: every folder up to there is asked.
        for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
            if (path == "/") path.clear();
            const std::string folder = tree + (unified ? "" : "/memory") + path + "/";
            least = std::min(least, unified ? left_of_group(folder, "memory.max", "memory.current", "inactive_file")
                                            : left_of_group(folder, "memory.limit_in_bytes", "memory.usage_in_bytes",
                                                            "total_inactive_file"));
            if (path.find('/') == std::string::npos) break;
        }
    }
    return least;
}

std::uint64_t memory_limit() {
    static const std::uint64_t found = found_limit();
    return std::min(found, chosen_limit.load());
}

void set_memory_limit(std::uint64_t bytes) {
    chosen_limit = bytes;
    memory_pool::shared().set_limit(std::min<std::uint64_t>(memory_pool::shared().usage().limit_bytes, bytes / 8));
}

std::uint64_t memory_in_use() noexcept {
    return in_use.load();
}

namespace {

/// With so many others in use.
void check_memory_beside(std::uint64_t used, std::uint64_t bytes, const std::string& what) {
    const std::uint64_t limit = memory_limit();
    if (bytes <= limit && used <= limit - bytes) return;
    throw out_of_memory("cannot allocate " + std::to_string(bytes) + " bytes for " + what + ": " +
                        (used == 0 ? "" : "with " + std::to_string(used) + " in use that exceeds the ") +
                        std::to_string(limit) + (used == 0 ? " are available" : " that are available"));
}

}  // namespace

void check_memory(std::uint64_t bytes, const std::string& what) {
    check_memory_beside(in_use.load(), bytes, what);
}

memory_reservation::memory_reservation(std::uint64_t bytes, const std::string& what) {
    // Small ones are counted, but never refused: messages and headers must work at the limit, too.
    constexpr std::uint64_t small = std::uint64_t{1} << 20;
    const std::uint64_t used =
        in_use.fetch_add(bytes);  // taken at once: files that are worked on at the same time ask, too
    bytes_ = bytes;
    if (bytes <= small) return;
    try {
        check_memory_beside(used, bytes, what);
    } catch (...) {
        in_use -= bytes;
        throw;
    }
}

memory_reservation::~memory_reservation() {
    in_use -= bytes_;
}

}  // namespace boxsum::cli
