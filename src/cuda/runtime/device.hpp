#pragma once

#include <boxsum/device.hpp>

namespace boxsum::cuda {

/// Makes a device the calling thread's for a scope.
class device_scope {
  public:
    explicit device_scope(int device) : before_(current_device()) {
        if (device != before_) set_device(device);
        changed_ = device != before_;
    }
    device_scope(const device_scope&) = delete;
    device_scope& operator=(const device_scope&) = delete;
    ~device_scope();

  private:
    int before_;
    bool changed_ = false;
};

}  // namespace boxsum::cuda
