#pragma once

#include <boxsum/cuda/stream.hpp>

#include <string_view>

namespace boxsum::cuda {

/// Throws invalid_argument, naming `argument` and where the memory is, unless it is device memory of `device` (or
/// managed memory). What was found out about an address is kept for the thread, until forget_pointers().
void check_device_pointer(std::string_view argument, const void* data, int device);

/// After device memory was freed: its addresses may become something else.
void forget_pointers() noexcept;

/// Whether memory is the host's, page-locked or not.
bool is_host_memory(const void* data);

/// The device that a stream (not the legacy default one) belongs to.
int stream_device(stream_ref stream);

/// The device that work on a stream runs on: the stream's. For the legacy default stream it is the current one, and for
/// one that is being captured, which does not tell its own.
int device_of(stream_ref stream);

}  // namespace boxsum::cuda
