#pragma once

#include "histogram/plan.hpp"
#include "program/record.hpp"
#include "program/target.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/histogram_table.hpp>
#include <boxsum/table.hpp>

#include <cstdint>
#include <memory>
#include <vector>

/// What goes through src/pipeline, on the CPU or on devices.
namespace boxsum::bench {

/// Tensors of a stream of images into host memory, by every algorithm and number of buffers of the case. The first
/// tensor of each is compared with a plain loop's.
std::vector<histogram_row> measure_stream(const stream_case& c, const histogram_bench_options& options,
                                          const target& where);

/// Host memory for the results of measure_large(), page-locked for devices. Page-locking takes longer than all
/// computations, so that memory serves all cases, where it can be had: as much as the largest needs.
class result_memory {
  public:
    result_memory(const std::vector<large_case>& cases, bool pinned);

    /// Throws out_of_memory, before the system would end the process.
    histogram_view<std::uint32_t> view(const large_case& c);

    /// What page-locking all of it took so far.
    double pinning_seconds() const { return pinning_seconds_; }

  private:
    static std::int64_t bytes_of(const large_case& c);
    void allocate(std::int64_t bytes);

    bool pinned_;
    std::int64_t largest_ = 0, bytes_ = 0;
    double pinning_seconds_ = 0;
    host_buffer memory_;
    std::shared_ptr<void> locked_;  ///< before the memory goes
};

/// One image, bins as tasks: kept where they were computed, and into host memory; by 1, 2, 4 ... and all devices of the
/// machine, or on the CPU by 1 worker and one for each thread. Histograms of boxes are compared with a direct count.
std::vector<histogram_row> measure_large(const large_case& c, const histogram_bench_options& options,
                                         const target& where, result_memory& memory);

/// Host memory that this process may still use: the machine's, and its control group's if that has a limit.
std::int64_t available_host_bytes();

/// Makes the system back `bytes` of fresh memory, piece by piece, waiting where nothing is free: a virtual machine may
/// be given its memory only when it is used, and reports little of it before. Throws out_of_memory when for `patience`
/// seconds none came.
void touch_host_memory(void* data, std::int64_t bytes, double patience);

}  // namespace boxsum::bench
