#pragma once

#include <boxsum/export.hpp>

#include <cstddef>
#include <string>

namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// Whether this library was built with CUDA. Without it `device_count()` is 0, and every function of this namespace
/// that needs a device throws unsupported ("built without CUDA").
bool built() noexcept;

/// Devices that the driver offers; 0 without a driver.
int device_count() noexcept;

/// The device of the calling thread, which plans, streams and buffers are made for. Throws unsupported where there is
/// none.
int current_device();

/// Makes `device` the calling thread's. Throws unsupported, naming it and how many there are.
void set_device(int device);

/// What the driver says of a device.
struct device_info {
    int device = 0;
    std::string name;
    int major = 0, minor = 0;  ///< compute capability
    int multiprocessors = 0;
    std::size_t memory_bytes = 0;
    std::size_t free_bytes = 0;  ///< at the time of the call
    std::size_t l2_bytes = 0;
    int driver_version = 0;   ///< of the CUDA driver's API: 13000 is 13.0
    int runtime_version = 0;  ///< of the runtime that this library was built with
};

/// Throws unsupported for a device that does not exist.
device_info describe_device(int device);

}  // namespace cuda
}  // namespace boxsum
