#pragma once

namespace boxsum::cuda {

/// What decides which kernels run, with how many blocks, and how they are launched: the device, and the code that is
/// loaded there, which in a library for several architectures is that of one of them.
struct device_limits {
    int multiprocessors = 0;
    /// Device and code are of compute capability 9.0 or later (`__CUDA_ARCH__ >= 900`): tiles are loaded by the copy
    /// engine (device/bulk_copy.cuh).
    bool copy_engine = false;

    /// Whether a launch may start before its predecessor on the stream has ended (launch_shape::overlaps_predecessor).
    /// The instructions that wait came with the copy engine (device/dependent_launch.cuh); older code does not wait.
    bool launches_overlap() const { return copy_engine; }
};

/// Of the current device.
device_limits limits_of_device();

/// Multiprocessors that shapes of launches are made for: those of an H100 (SXM) and an H200. Shapes are functions of
/// the job alone: plans keep them by it, strips of one image on several devices are cut alike, and tests know them
/// without a device. On a device with more or fewer the last blocks of a launch are waited for longer, no more.
inline constexpr int planned_multiprocessors = 132;

}  // namespace boxsum::cuda
