// A process as others build them: many threads that make tables of growing images, one of which forks all the while, in
// a control group with little memory. The kernel ends a process that takes more.

#include "core/control_group.hpp"
#include "core/memory_limit.hpp"

#include <boxsum/sat.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace boxsum {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr int callers = 4;
constexpr std::int64_t largest = 1800;
/// All callers' largest image and table at once, the pool's sixteenth, and what a process has in any case.
constexpr std::size_t limit = callers * largest * largest * 5 + 64 * mib;

/// A control group with a memory limit, of either version, where this process may make one.
class memory_group {
  public:
    memory_group() {
        const std::string name = "boxsum-stress-" + std::to_string(::getpid());
        for (const auto& [root, file] :
             {std::pair{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, std::pair{"/sys/fs/cgroup", "memory.max"}}) {
            const fs::path folder = fs::path(root) / name;
            std::error_code failed;
            if (!fs::create_directory(folder, failed)) continue;
            if (wrote(folder / file, std::to_string(limit)) && ::access((folder / "cgroup.procs").c_str(), W_OK) == 0) {
                folder_ = folder;
                return;
            }
            fs::remove(folder, failed);
        }
    }
    memory_group(const memory_group&) = delete;
    memory_group& operator=(const memory_group&) = delete;
    ~memory_group() {
        std::error_code failed;
        if (folder_) ::rmdir(folder_->c_str());
    }

    bool made() const { return folder_.has_value(); }
    /// The calling process becomes its member.
    bool join() const { return wrote(*folder_ / "cgroup.procs", std::to_string(::getpid())); }

  private:
    static bool wrote(const fs::path& file, const std::string& text) {
        std::ofstream stream(file);
        return static_cast<bool>(stream << text << std::flush);
    }
    std::optional<fs::path> folder_;
};

/// The limit that the shared pool would find in such a group, for machines where none can be made.
std::size_t pool_limit_in_a_group() {
    const fs::path folder = fs::temp_directory_path() / ("boxsum-stress-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    std::ofstream(folder / "cgroup") << "0::/\n";
    std::ofstream(folder / "memory.max") << limit << '\n';
    const std::size_t found = memory_of_process({(folder / "cgroup").string(), folder.string()});
    fs::remove_all(folder);
    return default_pool_limit(found);
}

std::size_t peak_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmHWM:") {
            std::size_t kib = 0;
            status >> kib;
            return kib << 10;
        }
    return 0;
}

/// An image of ones and its table, n x n; whether the last entry is right.
bool makes_table(std::int64_t n) {
    const std::vector<std::uint8_t> ones(static_cast<std::size_t>(n * n), 1);
    const auto sums = sat<std::uint32_t>(image_view<const std::uint8_t>(ones.data(), n, n));
    return sums(n - 1, n - 1) == static_cast<std::uint32_t>(n * n);
}

bool child_makes_table() {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(300);
        ::_exit(makes_table(300) ? 0 : 1);
    }
    int status = -1;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool all_callers_are_right() {
    std::atomic<bool> right{true};
    std::vector<std::thread> threads;
    for (int t = 0; t < callers; ++t)
        threads.emplace_back([&right, t] {
            for (std::int64_t n = 200 + 10 * t; n <= largest; n += 50) {
                if (!makes_table(n)) right = false;
                if (t == 0 && !child_makes_table()) right = false;
            }
        });
    for (std::thread& t : threads) t.join();
    return right;
}

TEST(guest_stress, growing_forking_callers_stay_within_their_group) {
    const memory_group group;
    constexpr int wrong_result = 1, too_much = 2, not_joined = 3;
    const pid_t process = ::fork();
    if (process == 0) {
        ::alarm(600);  // it hangs, however busy the machine is
        if (group.made()) {
            if (!group.join()) ::_exit(not_joined);
        } else {
            memory_pool::shared().set_limit(pool_limit_in_a_group());
        }
        if (!all_callers_are_right()) ::_exit(wrong_result);
        ::_exit(peak_bytes() <= limit ? 0 : too_much);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(process, &status, 0), process);
    ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status)
                                   << (group.made() ? ": its group's limit, if it is 9" : "");
    EXPECT_EQ(WEXITSTATUS(status), 0) << "1: a wrong result or a lost child, 2: too much memory, 3: no group";
}

}  // namespace
}  // namespace boxsum
