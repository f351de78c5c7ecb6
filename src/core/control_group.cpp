#include "core/control_group.hpp"

#include "core/small_file.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

namespace boxsum {
namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

/// The number in a file; without one ("max", or no such file) there is no limit.
std::size_t limit_in(const std::string& path) {
    const std::string text = contents_of(path);
    std::string_view rest = text;
    std::size_t bytes = unlimited;
    take_number(rest, bytes);
    return bytes;
}

bool lists(std::string_view controllers, std::string_view wanted) {
    while (!controllers.empty()) {
        const std::string_view name = controllers.substr(0, controllers.find(','));
        if (name == wanted) return true;
        controllers.remove_prefix(std::min(name.size() + 1, controllers.size()));
    }
    return false;
}

/// visit(folder, version) for the group of a controller and all groups around it.
template <typename F>
void for_each_group(const control_group_files& files, std::string_view controller, F&& visit) {
    const std::string groups = contents_of(files.groups);
    for (std::string_view rest = groups; !rest.empty();) {  // "4:cpu,memory:/group", of version 2 "0::/group"
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
        if (second == std::string_view::npos) continue;
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        if (!controllers.empty() && !lists(controllers, controller)) continue;
        std::string_view group = line.substr(second + 1);
        while (group.ends_with('/')) group.remove_suffix(1);
        std::string folder = files.folder;
        if (!controllers.empty()) folder.append("/").append(controller);
        for (;;) {
            visit(std::string(folder).append(group), controllers.empty() ? 2 : 1);
            if (group.empty()) break;
            const std::size_t slash = group.rfind('/');
            group = group.substr(0, slash == std::string_view::npos ? 0 : slash);
        }
    }
}

std::size_t resource_limit(decltype(RLIMIT_AS) what) {
    rlimit limit{};
    if (::getrlimit(what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
    return static_cast<std::size_t>(limit.rlim_cur);
}

std::size_t machine_bytes() {
    const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : unlimited;
}

}  // namespace

std::size_t memory_of_process(const control_group_files& files) {
    std::size_t least = std::min({machine_bytes(), resource_limit(RLIMIT_AS), resource_limit(RLIMIT_DATA)});
    for_each_group(files, "memory", [&](const std::string& group, int version) {
        if (version == 1)
            least = std::min(least, limit_in(group + "/memory.limit_in_bytes"));
        else
            least = std::min({least, limit_in(group + "/memory.max"), limit_in(group + "/memory.high")});
    });
    return least;
}

int processor_quota(const control_group_files& files) {
    std::int64_t least = std::numeric_limits<int>::max();
    for_each_group(files, "cpu", [&](const std::string& group, int version) {
        const std::string text = version == 1 ? contents_of(group + "/cpu.cfs_quota_us") + " " +  // -1: none
                                                    contents_of(group + "/cpu.cfs_period_us")
                                              : contents_of(group + "/cpu.max");  // "max 100000": none
        std::string_view rest = text;
        std::int64_t quota = 0, period = 0;
        if (take_number(rest, quota) && take_number(rest, period) && quota > 0 && period > 0)
            least = std::min(least, std::max<std::int64_t>(quota / period, 1));
    });
    return static_cast<int>(least);
}

}  // namespace boxsum
