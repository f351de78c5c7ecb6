#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace boxsum::cli {

/// Bytes that images, tables and collected inputs of this process may take together: what the machine can give without
/// swapping, what its control groups leave and its resource limits allow, as found by the first call, or less by
/// set_memory_limit(). Linux promises more than it has and kills the process that believes it.
std::uint64_t memory_limit();

/// What control groups leave: those of the groups that `groups` lists, as /proc/self/cgroup does, and of the ones
/// around them in `tree`, as /sys/fs/cgroup is, of either version. The largest number where none has a limit.
std::uint64_t left_of_control_groups(const std::string& groups, const std::string& tree);

/// --memory: lowers the limit.
void set_memory_limit(std::uint64_t bytes);

/// Bytes that are reserved now.
std::uint64_t memory_in_use() noexcept;

/// Throws out_of_memory, with the sum, when `bytes` more for `what` ("the tables") exceed the limit. To be asked before
/// a command starts what it cannot finish.
void check_memory(std::uint64_t bytes, const std::string& what);

/// A share of the limit, as long as it lives.
class memory_reservation {
  public:
    memory_reservation() = default;

    /// Throws out_of_memory as check_memory() does.
    memory_reservation(std::uint64_t bytes, const std::string& what);
    memory_reservation(memory_reservation&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
    memory_reservation& operator=(memory_reservation&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~memory_reservation();

  private:
    std::uint64_t bytes_ = 0;
};

}  // namespace boxsum::cli
