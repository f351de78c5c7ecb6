#pragma once

#include <cstddef>
#include <string>

namespace boxsum {

/// Where the operating system says which control groups this process is in, and where their files are. Tests substitute
/// both. In a container the path of a group may be the host's: what lies at the top of the folder counts in any case.
struct control_group_files {
    std::string groups = "/proc/self/cgroup";
    std::string folder = "/sys/fs/cgroup";
};

/// Bytes that this process may have: the least of the machine's memory, its resource limits, and the limits of its
/// control group and of all groups around it (versions 1 and 2).
std::size_t memory_of_process(const control_group_files& files = {});

/// Processors' worth of time that this process may have: the least quota of its control groups, rounded down, 1 at
/// least; a large number where there is none.
int processor_quota(const control_group_files& files = {});

}  // namespace boxsum
