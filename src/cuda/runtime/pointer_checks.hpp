#pragma once

#include <boxsum/cuda/stream.hpp>

#include <string_view>

namespace boxsum::cuda {

/// Throws invalid_argument, naming `argument` and where the memory is, unless it is device memory of `device` (or
/// managed memory). What was found out about an address is kept for the thread, until forget_pointers().
void check_device_pointer(std::string_view argument, const void* data, int device);

/// After device memory was freed: its addresses may become something else.
void forget_pointers() noexcept;

/// The device that a stream (not the legacy default one) belongs to.
int stream_device(stream_ref stream);

/// Throws invalid_argument unless the stream belongs to `device`; the legacy default stream belongs to every one.
void check_stream(stream_ref stream, int device);

}  // namespace boxsum::cuda
