#pragma once

#include "core/view_checks.hpp"

#include <boxsum/histogram_table.hpp>
#include <boxsum/view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// What a run of a plan checks of its arguments. All throw invalid_argument, naming argument and values.
namespace boxsum::cuda {

void require_planned(std::string_view argument, std::string_view what, std::int64_t value, std::int64_t planned);

void require_type(std::string_view argument, dtype got, dtype planned);

void require_shape(std::string_view argument, const view_shape& got, const view_shape& planned);

/// Of the argument `histograms`.
void require_histograms(const histogram_shape& got, const histogram_shape& planned);

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

/// A view as it was planned.
struct planned_view {
    const char* name = nullptr;  ///< null: none
    view_shape shape = {};
    byte_reach reach = {};
    bool written = false;

    planned_view() = default;
    planned_view(const char* argument, const view_shape& s, access how)
        : name(argument), shape(s), reach(checked_reach(argument, s, how)), written(how == access::write) {}
    planned_view(const char* argument, const std::optional<view_shape>& s, access how)
        : planned_view(s ? planned_view(argument, *s, how) : planned_view()) {}
};

/// Memory of the arguments of a run.
class call_memory {
  public:
    explicit call_memory(int device) : device_(device) {}

    /// Checks it: the planned shape, and as check_range().
    void add(const planned_view& planned, const const_any_view& view);

    /// Where the plan has it. What is given to a run and not to its plan is an error, never ignored.
    void add_optional(const char* argument, const planned_view& planned, const const_any_view& view);

    /// As any_meet().
    bool meet() const noexcept;

  private:
    std::array<memory_range, 9> ranges_;
    std::size_t count_ = 0;
    int device_;
};

/// Whether some range that is written shares addresses with another one: whether it is worth to look closer.
bool any_meet(std::span<const memory_range> ranges) noexcept;

}  // namespace boxsum::cuda
