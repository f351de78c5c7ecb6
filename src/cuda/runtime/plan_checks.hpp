#pragma once

#include <boxsum/view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// What a run of a plan checks of its arguments. All throw invalid_argument, naming argument and values.
namespace boxsum::cuda {

void require_planned(std::string_view argument, std::string_view what, std::int64_t value, std::int64_t planned);

void require_type(std::string_view argument, dtype got, dtype planned);

void require_shape(std::string_view argument, const view_shape& got, const view_shape& planned);

/// Memory of one argument of a call.
struct memory_range {
    const char* argument = nullptr;
    const void* data = nullptr;
    std::size_t bytes = 0;
    bool written = false;
    std::int64_t first = 0;  ///< byte, from `data` on; below 0 where strides are negative
};

/// Not null, aligned to `element` bytes, not around the end of the address space, memory of the device.
void check_range(const memory_range& range, std::size_t element, int device);

/// Whether some range that is written shares addresses with another one: whether it is worth to look closer.
bool any_meet(std::span<const memory_range> ranges) noexcept;

}  // namespace boxsum::cuda
