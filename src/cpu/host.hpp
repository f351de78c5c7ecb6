#pragma once

#include <boxsum/cpu.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace boxsum::cpu {

/// The most threads for work that moves `bytes` bytes: `requested`, or for 0 one for each 16 us of it, as far as there
/// are processors.
int most_threads(std::int64_t bytes, int requested);

/// The same, but for 0 only those that are there at this moment (ready_threads() in team.hpp).
int choose_threads(std::int64_t bytes, int requested);

/// Streaming or cached, for image and tables of `bytes` altogether, made by `threads` threads. The image counts: it
/// passes through the cache as well (32f32f at 2048^2, 16 + 16 MiB, is written faster past 32 MiB of cache on Zen 5 and
/// on Granite Rapids). One thread writes as fast past the caches as near their end; several share the way to memory but
/// not that to the cache: 8u32u of 20 and 25 MiB, time of cached stores by that of streaming ones, 1.05 and 1.55 with
/// one thread, 0.48 and 0.82 with two (Zen 4, 32 MiB).
store_policy choose_store(std::int64_t bytes, int threads, store_policy requested);

/// CPUs in a list as the kernel writes it ("0-3,8,10-11"); at least 1.
int count_cpus(std::string_view list);

/// A last-level cache of more than this for each CPU that shares it belongs to CPUs that this system does not see, too:
/// the largest of today's (stacked on eight cores) have 12 MiB.
inline constexpr std::size_t most_cache_per_cpu = std::size_t{16} << 20;

/// What tables may count on in the caches of one core: the last level as far as it can be this system's, 32 MiB where
/// it is unknown (0), and no less than the second level. A guest of two cores that was told 480 MiB had 24 to 32
/// (docs/decisions/cpu-tables.md).
std::size_t usable_cache(std::size_t l2_bytes, std::size_t l3_bytes, int cpus);

/// Whether kernels ask for lines of the table before they write them: on Intel's processors (tile::fetch_table).
bool stores_wait_for_lines();

}  // namespace boxsum::cpu
