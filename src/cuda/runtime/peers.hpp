#pragma once

#include <boxsum/cuda/memory.hpp>

#include <cstddef>
#include <span>

/// Device memory that other devices read without the host in between.
namespace boxsum::cuda {

/// Whether each of these devices, all different, reads the buffers_for_peers of all others. Two that were not asked for
/// before are allowed to, and try it. What goes wrong with CUDA there is the answer no: one does without.
bool reach_each_other(std::span<const int> devices);

/// A device_buffer that devices which reach this one may be given to copy from, by cudaMemcpyAsync.
device_buffer buffer_for_peers(std::size_t bytes, stream_ref stream);

/// Lets a device into the buffers_for_peers of another one, those that are there and those that come.
/// cudaDeviceEnablePeerAccess is not for stream-ordered memory, and would map all that the caller allocates.
void let_read(int reader, int owner);

/// Whether what is copied from one device arrives at the other one.
bool copies_arrive(int from, int to);

}  // namespace boxsum::cuda
