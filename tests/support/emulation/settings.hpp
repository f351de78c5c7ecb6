#pragma once

#include <cstdint>
#include <stdexcept>

/// CUDA kernels of this project, run on a CPU for tests. README.md says what is emulated and how to add a kernel.
namespace boxsum::emulation {

/// In which order blocks of a launch start. Hardware promises none.
enum class block_order : std::uint8_t { forward, backward, shuffled };

/// What comes of copies between the two devices.
enum class peer_copies : std::uint8_t {
    arrive,
    refused,  ///< no device can access the other one's memory, nor do copies begin
    lost,     ///< it can, they say, but nothing arrives
};

/// What the next launches run on. Everything random comes from the seed, so a failure comes again.
struct settings {
    std::uint64_t seed = 1;
    block_order order = block_order::forward;
    int resident_blocks =
        3;                ///< that run at the same time; a block that waits for one that is not there waits for ever
    int preemption = 16;  ///< one in so many atomics, barriers and collectives hands the turn to other threads
    int multiprocessors = 4;       ///< as cudaDeviceGetAttribute tells
    int compute_capability = 9;    ///< major; below 9 there is no copy engine, and launches do not overlap
    int code = 9;                  ///< the same of the code that is loaded; it is no newer than the device
    int shared_bytes = 227 << 10;  ///< that a block may have
    peer_copies peers = peer_copies::arrive;
    int refused_launch = 0;  ///< the so many-th from here on is refused; 0: none. Counts down
};

/// The settings of the launches that follow. Not for several threads.
settings& configure();

/// Copied to all devices so far.
std::uint64_t bytes_from_host();

/// Launches so far that may start before their predecessors have ended.
std::uint64_t overlapping_launches();

/// Whether the code that runs was compiled for compute capability 9.0 or later.
inline bool runs_code_of_9() {
    return configure().compute_capability >= 9 && configure().code >= 9;
}

/// A kernel that does what no correct kernel does: a divergent barrier, a deadlock, a write outside its memory. The
/// message names the threads, and the source lines where they are.
class failure : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Other settings for a scope.
class scoped_settings {
  public:
    explicit scoped_settings(const settings& now) : before_(configure()) { configure() = now; }
    scoped_settings(const scoped_settings&) = delete;
    scoped_settings& operator=(const scoped_settings&) = delete;
    ~scoped_settings() { configure() = before_; }

  private:
    settings before_;
};

}  // namespace boxsum::emulation
