#include "cpu/host.hpp"

#include "cpu/instruction_set.hpp"
#include "cpu/team.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <string>

namespace boxsum {
namespace cpu {
namespace {

/// Bytes per microsecond that one core moves in cache, read and written together; 60 to 100 thousand on the machines of
/// docs/performance-cpu.md. Only the order of magnitude matters.
constexpr double bytes_per_us = 50e3;

/// A second thread must have this many times its wake-up to do. Threads that sleep instead of spinning need some 50 us.
constexpr double work_per_wake_up = 4;
constexpr double least_work_us = 16;

/// A cache that one core sees. From /sys where there is one: sysconf of glibc 2.36 says 320 MiB of a Zen 4 whose cores
/// share 32 MiB (it counts the package), and 0 in some guests.
std::size_t cache_bytes(int sysconf_name, int level) {
    for (int index = 0; index < 8; ++index) {
        const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
        int found = 0;
        std::string type;
        std::string size;
        std::ifstream(folder + "level") >> found;
        std::ifstream(folder + "type") >> type;
        std::ifstream(folder + "size") >> size;
        if (found != level || type == "Instruction" || size.size() < 2) continue;
        std::size_t value = 0;
        for (const char c : size) {
            if (c >= '0' && c <= '9') value = value * 10 + static_cast<std::size_t>(c - '0');
            if (c == 'K') value <<= 10;
            if (c == 'M') value <<= 20;
        }
        return value;
    }
    const long known = ::sysconf(sysconf_name);
    return known > 0 ? static_cast<std::size_t>(known) : 0;
}

/// The median cost of an empty region of all threads, once they run.
double measure_wake_up_us(int threads) {
    if (threads <= 1) return 0;
    using clock = std::chrono::steady_clock;
    std::array<double, 15> samples{};
    for (double& sample : samples) {
        const auto start = clock::now();
        run_team(
            threads, [](void*, int, int) {}, nullptr);
        sample = std::chrono::duration<double, std::micro>(clock::now() - start).count();
    }
    std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
    return samples[samples.size() / 2];
}

cpu_info describe() {
    cpu_info info;
    info.instruction_set = runnable_names().front();
    info.instruction_sets = runnable_names();
    info.threads = available_threads();
    info.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 1);
    info.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 2);
    info.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 3);
    info.wake_up_us = measure_wake_up_us(info.threads);
    constexpr std::size_t usual_l3 = std::size_t{32} << 20;
    info.streaming_from_bytes = info.l3_bytes != 0 ? info.l3_bytes : std::max(info.l2_bytes, usual_l3);
    info.second_thread_from_bytes =
        static_cast<std::size_t>(2 * std::max(least_work_us, work_per_wake_up * info.wake_up_us) * bytes_per_us);
    return info;
}

}  // namespace

int choose_threads(std::int64_t bytes, int requested) {
    if (requested > 0) return requested;
    const int available = available_threads();
    if (available <= 1) return 1;
    const double per_thread = static_cast<double>(describe_cpu().second_thread_from_bytes) / 2;
    return std::clamp(static_cast<int>(std::min(static_cast<double>(bytes) / per_thread, 1e6)), 1, available);
}

store_policy choose_store(std::int64_t table_bytes, bool aligned, store_policy requested) {
    if (requested == store_policy::cached || !aligned) return store_policy::cached;
    if (requested == store_policy::streaming) return store_policy::streaming;
    return static_cast<std::uint64_t>(table_bytes) > describe_cpu().streaming_from_bytes ? store_policy::streaming
                                                                                         : store_policy::cached;
}

}  // namespace cpu

const cpu_info& describe_cpu() {
    static const cpu_info info = cpu::describe();
    return info;
}

}  // namespace boxsum
