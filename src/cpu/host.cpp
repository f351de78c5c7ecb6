#include "cpu/host.hpp"

#include "cpu/instruction_set.hpp"
#include "cpu/team.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace boxsum {
namespace cpu {
namespace {

/// Bytes per microsecond that one core moves in cache, read and written together; 60 to 100 thousand on the machines of
/// docs/decisions/cpu-tables.md. Only the order of magnitude matters.
constexpr double bytes_per_us = 50e3;

/// A second thread must have this many times its wake-up to do. Threads that sleep instead of spinning need some 50 us.
constexpr double work_per_wake_up = 4;
constexpr double least_work_us = 16;

/// A cache that the first core sees, and how many CPUs of this system share it.
struct cache {
    std::size_t bytes = 0;  ///< 0: unknown
    int cpus = 1;
};

/// From /sys where there is one: sysconf of glibc 2.36 says 320 MiB of a Zen 4 whose cores share 32 MiB (it counts the
/// package), and 0 in some guests.
cache find_cache(int sysconf_name, int level) {
    for (int index = 0; index < 8; ++index) {
        const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
        int found = 0;
        std::string type;
        std::string size;
        std::string sharing;
        std::ifstream(folder + "level") >> found;
        std::ifstream(folder + "type") >> type;
        std::ifstream(folder + "size") >> size;
        std::ifstream(folder + "shared_cpu_list") >> sharing;
        if (found != level || type == "Instruction" || size.size() < 2) continue;
        std::size_t value = 0;
        for (const char c : size) {
            if (c >= '0' && c <= '9') value = value * 10 + static_cast<std::size_t>(c - '0');
            if (c == 'K') value <<= 10;
            if (c == 'M') value <<= 20;
        }
        return {value, count_cpus(sharing)};
    }
    const long known = ::sysconf(sysconf_name);
    const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
    return {known > 0 ? static_cast<std::size_t>(known) : 0, level == 3 && cpus > 0 ? static_cast<int>(cpus) : 1};
}

cpu_info describe() {
    cpu_info info;
    info.instruction_set = runnable_names().front();
    info.instruction_sets = runnable_names();
    info.threads = available_threads();
    info.l1_bytes = find_cache(_SC_LEVEL1_DCACHE_SIZE, 1).bytes;
    info.l2_bytes = find_cache(_SC_LEVEL2_CACHE_SIZE, 2).bytes;
    const cache last = find_cache(_SC_LEVEL3_CACHE_SIZE, 3);
    info.l3_bytes = last.bytes;
    info.l3_cpus = last.cpus;
    info.wake_up_us = measure_wake_up_us(info.threads);
    info.streaming_from_bytes = usable_cache(info.l2_bytes, info.l3_bytes, info.l3_cpus) / 4 * 3;
    info.second_thread_from_bytes =
        static_cast<std::size_t>(2 * std::max(least_work_us, work_per_wake_up * info.wake_up_us) * bytes_per_us);
    return info;
}

/// For the whole process: what is found within a parallel region of the first caller, one thread that never sleeps,
/// does not hold outside. A thread of its own is outside.
cpu_info describe_outside_regions() {
    if (!in_parallel_region()) return describe();
    cpu_info info;
    try {
        std::thread([&info] { info = describe(); }).join();
    } catch (const std::system_error&) {  // no thread to be had: then there is one in any case
        info = describe();
    }
    return info;
}

}  // namespace

int count_cpus(std::string_view list) {
    int count = 0;
    int number = 0;
    int first = -1;  // of a range
    bool digits = false;
    const auto end_entry = [&] {
        if (digits) count += first < 0 ? 1 : std::max(number - first + 1, 1);
        number = 0;
        first = -1;
        digits = false;
    };
    for (const char c : list) {
        if (c >= '0' && c <= '9') {
            number = std::min(number * 10 + (c - '0'), 1 << 20);
            digits = true;
        } else if (c == '-') {
            first = number;
            number = 0;
        } else {
            end_entry();
        }
    }
    end_entry();
    return std::max(count, 1);
}

std::size_t usable_cache(std::size_t l2_bytes, std::size_t l3_bytes, int cpus) {
    constexpr std::size_t usual = std::size_t{32} << 20;
    const std::size_t most = most_cache_per_cpu * static_cast<std::size_t>(std::max(cpus, 1));
    return std::max(l2_bytes, std::min(l3_bytes != 0 ? l3_bytes : usual, most));
}

double measure_wake_up_us(int threads) {
    if (threads <= 1) return 0;
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    double least = most_wake_up_us;
    for (int i = 0; i < 40; ++i) {
        const auto start = clock::now();
        run_team(
            threads, [](void*, int, int) {}, nullptr);
        const auto end = clock::now();
        least = std::min(least, std::chrono::duration<double, std::micro>(end - start).count());
        if (i > 0 && end - begin > std::chrono::milliseconds(5)) break;  // the first region makes the threads
    }
    return least;
}

int choose_threads(std::int64_t bytes, int requested) {
    if (requested > 0) return requested;
    const int available = available_threads();
    if (available <= 1) return 1;
    const double per_thread = static_cast<double>(describe_cpu().second_thread_from_bytes) / 2;
    return std::clamp(static_cast<int>(std::min(static_cast<double>(bytes) / per_thread, 1e6)), 1, available);
}

store_policy choose_store(std::int64_t bytes, bool aligned, store_policy requested) {
    if (requested == store_policy::cached || !aligned) return store_policy::cached;
    if (requested == store_policy::streaming) return store_policy::streaming;
    return static_cast<std::uint64_t>(bytes) > describe_cpu().streaming_from_bytes ? store_policy::streaming
                                                                                   : store_policy::cached;
}

bool stores_wait_for_lines() {
#if defined(__x86_64__)
    static const bool intel = [] {
        __builtin_cpu_init();
        return __builtin_cpu_is("intel") != 0;
    }();
    return intel;
#else
    return false;
#endif
}

}  // namespace cpu

const cpu_info& describe_cpu() {
    static const cpu_info info = cpu::describe_outside_regions();
    return info;
}

}  // namespace boxsum
