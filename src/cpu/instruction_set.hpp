#pragma once

#include "cpu/simd/kernels.hpp"

#include <span>
#include <string_view>

namespace boxsum::cpu {

/// The kernel sets that were compiled and that this machine can run, best first; the scalar set is always the last.
std::span<const kernel_set* const> runnable_kernels() noexcept;

/// Their names, in the same order.
std::span<const std::string_view> runnable_names() noexcept;

/// The set of that name, "auto" being the best; null when it was not compiled or the machine lacks it.
const kernel_set* find_kernels(std::string_view name) noexcept;

}  // namespace boxsum::cpu
