#include "cpu/host.hpp"

#include "core/small_file.hpp"
#include "cpu/instruction_set.hpp"
#include "cpu/team.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>

namespace boxsum {
namespace cpu {
namespace {

/// Bytes per microsecond that one core moves in cache, read and written together; 60 to 100 thousand on the machines of
/// docs/decisions/cpu-tables.md. Only the order of magnitude matters.
constexpr double bytes_per_us = 50e3;

/// What a thread must have to do, so that it is worth a question to it and the lines of the table that two cores share.
constexpr double least_work_us = 16;
constexpr double least_bytes = least_work_us * bytes_per_us;

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
        const std::string levels = contents_of(folder + "level");
        const std::string size = contents_of(folder + "size");
        std::string_view rest = levels;
        int found = 0;
        if (!take_number(rest, found) || found != level || contents_of(folder + "type").starts_with("Instruction"))
            continue;
        std::size_t value = 0;
        for (const char c : size) {
            if (c >= '0' && c <= '9') value = value * 10 + static_cast<std::size_t>(c - '0');
            if (c == 'K') value <<= 10;
            if (c == 'M') value <<= 20;
        }
        if (value == 0) continue;
        return {value, count_cpus(contents_of(folder + "shared_cpu_list"))};
    }
    const long known = ::sysconf(sysconf_name);
    const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
    return {known > 0 ? static_cast<std::size_t>(known) : 0, level == 3 && cpus > 0 ? static_cast<int>(cpus) : 1};
}

cpu_info describe() {
    cpu_info info;
    info.instruction_set = runnable_names().front();
    info.instruction_sets = runnable_names();
    info.threads = threads_of_process();
    info.l1_bytes = find_cache(_SC_LEVEL1_DCACHE_SIZE, 1).bytes;
    info.l2_bytes = find_cache(_SC_LEVEL2_CACHE_SIZE, 2).bytes;
    const cache last = find_cache(_SC_LEVEL3_CACHE_SIZE, 3);
    info.l3_bytes = last.bytes;
    info.l3_cpus = last.cpus;
    const std::size_t usable = usable_cache(info.l2_bytes, info.l3_bytes, info.l3_cpus);
    info.streaming_from_bytes = usable / 4 * 3;
    info.streaming_from_bytes_of_threads = usable / 8 * 7;
    info.second_thread_from_bytes = static_cast<std::size_t>(2 * least_bytes);
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

int most_threads(std::int64_t bytes, int requested) {
    if (requested > 0) return requested;
    if (static_cast<double>(bytes) < 2 * least_bytes) return 1;
    const double worthwhile = std::min(static_cast<double>(bytes) / least_bytes, 1e6);
    return std::min(static_cast<int>(worthwhile), available_threads());
}

int choose_threads(std::int64_t bytes, int requested) {
    const int most = most_threads(bytes, requested);
    return requested > 0 ? most : ready_threads(most, static_cast<double>(bytes) / bytes_per_us);
}

store_policy choose_store(std::int64_t bytes, int threads, store_policy requested) {
    if (requested != store_policy::automatic) return requested;
    const cpu_info& cpu = describe_cpu();
    const std::size_t from = threads > 1 ? cpu.streaming_from_bytes_of_threads : cpu.streaming_from_bytes;
    return static_cast<std::uint64_t>(bytes) > from ? store_policy::streaming : store_policy::cached;
}

bool stores_wait_for_lines() {
#if defined(__x86_64__)
    __builtin_cpu_init();  // asks the processor once
    return __builtin_cpu_is("intel") != 0;
#else
    return false;
#endif
}

}  // namespace cpu

const cpu_info& describe_cpu() {
    // Whoever comes first at the same time finds the same. No guarded static, which a fork may leave taken.
    static constinit std::atomic<const cpu_info*> known{nullptr};
    const cpu_info* info = known.load(std::memory_order_acquire);
    if (info == nullptr) {
        const cpu_info* const found = new cpu_info(cpu::describe());
        if (known.compare_exchange_strong(info, found, std::memory_order_acq_rel)) return *found;
        delete found;
    }
    return *info;
}

}  // namespace boxsum
