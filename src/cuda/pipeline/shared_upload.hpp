#pragma once

#include "cuda/pipeline/device_input.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace boxsum::detail {

/// The image of a run on several devices that reach each other's memory: each has an equal share of its rows, and of
/// the weights', from the host, over its own link, and copies the others' shares from their memory.
///
///     cuda:0   | share 0 from the host       | tasks ...
///                  | share 1 from cuda:1   |
///     cuda:1   | share 1 from the host       | tasks ...
///                  | share 0 from cuda:0   |
///
/// A share travels in pieces, each of which goes on to the others while the next one comes.
/// Devices wait for each other by events. A thread waits for others no longer than what it wants of them would take
/// from the host: a share that nobody has begun by then, because its worker is late or failed, comes from there. A
/// worker that ends or fails later takes nothing away, unless its device is lost with what others copy. Thread-safe.
class shared_upload {
  public:
    /// At least two, all different. They reach each other.
    explicit shared_upload(std::vector<int> devices) : devices_(std::move(devices)), begun_(devices_.size()) {}

    /// Enqueues the upload of the share of the input's device. The input is held until the end of the run, so that
    /// others may copy from it when its worker has ended, or failed.
    void begin(const bin_job& job, std::shared_ptr<device_input> input);

    /// Enqueues the way of all other shares to the input, which has begun. Returns what they are copied from.
    std::vector<std::shared_ptr<const device_input>> complete(const bin_job& job, device_input& input);

  private:
    std::size_t share_of(const device_input& input) const;
    row_range rows_of(std::size_t share, const device_input& input) const;
    std::shared_ptr<const device_input> wait_for(std::size_t share, std::chrono::steady_clock::time_point deadline);

    const std::vector<int> devices_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::shared_ptr<const device_input>> begun_;  ///< one per share
};

}  // namespace boxsum::detail
