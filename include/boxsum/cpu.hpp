#pragma once

#include <boxsum/export.hpp>
#include <boxsum/sat.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace boxsum BOXSUM_EXPORT {

/// What the CPU backend found on this machine and derives its choices from.
struct cpu_info {
    std::string_view instruction_set;                    ///< of the kernels used by default: "avx512-vnni"
    std::span<const std::string_view> instruction_sets;  ///< those that can be forced here, best first
    /// At most used by default: the processors that the process may run on, bounded by its control group's quota and by
    /// OMP_NUM_THREADS. A call uses those that have time at once, and never waits long for one.
    int threads = 1;
    std::size_t l1_bytes = 0;  ///< data cache of a core; 0 where unknown
    std::size_t l2_bytes = 0;
    std::size_t l3_bytes = 0;              ///< last-level cache as the system reports it
    int l3_cpus = 1;                       ///< CPUs of this system that share it
    std::size_t streaming_from_bytes = 0;  ///< image plus tables: above this, one thread writes past the caches
    std::size_t streaming_from_bytes_of_threads = 0;  ///< the same of several threads
    std::size_t second_thread_from_bytes = 0;         ///< image plus tables from which two threads may be used
};

/// Reads what the system says on the first call, then costs nothing. Thread-safe.
const cpu_info& describe_cpu();

/// How one table is computed.
struct cpu_decision {
    std::string_view instruction_set;
    int threads = 1;
    store_policy store = store_policy::cached;  ///< never `automatic`
    std::string_view scheme = "wavefront";      ///< or "bands": how threads share the table
    std::size_t packed_bytes = 0;               ///< of copies without gaps, where pixels have gaps between them
};

/// What sat() does with the default algorithm: the number of threads grows with the bytes to move, and is smaller in
/// a call where others do not have time at once; stores are streaming where image and tables exceed three
/// quarters of the last-level cache with one thread, seven eighths with several (a system counts on 16 MiB per CPU of
/// it at most, whatever it is told), wherever rows start; integer tables of at most 8 MiB with their image are made in
/// bands. `threads` and `store` of the options override the former (as far as there are rows for the threads; the
/// kernels in plain C++ do not stream), the parameter "scheme" the latter. The decision is always that of the algorithm
/// "simd", and `options.parameters` are read as its parameters, whatever `options.algorithm` says. (sat() itself takes
/// parameters only beside a named algorithm.) Throws invalid_argument and unsupported as sat() does otherwise.
cpu_decision decide_sat(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options = {});

}  // namespace boxsum
