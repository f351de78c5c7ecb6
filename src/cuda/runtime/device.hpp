#pragma once

#include <boxsum/cuda/device.hpp>

#include <cstddef>

namespace boxsum::cuda {

/// Shared memory that a block may have on the current device: 227 KiB on 9.0 and 10.0, 163 on 8.0, 99 on 8.6, 8.9 and
/// 12.0. Where there is no device, what every one gives.
std::size_t most_shared_bytes() noexcept;

/// Makes a device the calling thread's for a scope.
class device_scope {
  public:
    explicit device_scope(int device);
    device_scope(const device_scope&) = delete;
    device_scope& operator=(const device_scope&) = delete;
    ~device_scope();

  private:
    int before_ = 0;
    bool changed_ = false;
};

/// The same where nothing may be thrown: in destructors, also after the driver has gone.
class quiet_device_scope {
  public:
    explicit quiet_device_scope(int device) noexcept;
    quiet_device_scope(const quiet_device_scope&) = delete;
    quiet_device_scope& operator=(const quiet_device_scope&) = delete;
    ~quiet_device_scope();

  private:
    int before_ = 0;
    bool changed_ = false;
};

}  // namespace boxsum::cuda
