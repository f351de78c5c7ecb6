#include "machine_info.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

namespace boxsum::cli {

std::string processor_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name"))
            if (const std::size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
    return {};
}

int available_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
    return std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));  // more of them than the set has room for
}

int bounded_threads(int threads) {
    return std::min(threads, available_processors());
}

std::int64_t memory_bytes() {
    return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace boxsum::cli
