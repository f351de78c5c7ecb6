#pragma once

#include "cpu/simd/kernels.hpp"

#include <span>
#include <string_view>

namespace boxsum::cpu {

/// What this machine can run and its operating system saves the registers of, as bits of a mask. The only place that
/// asks the processor: kernels of tables, histograms and filters are chosen by it.
enum machine_feature : unsigned {
    has_avx2 = 1,         ///< AVX2, FMA, F16C
    has_avx512 = 2,       ///< these, and F, BW, VL, DQ
    has_avx512_vnni = 4,  ///< these, and VNNI
    has_avx512_bits = 8,  ///< has_avx512, and VBMI, BITALG, VPOPCNTDQ
};
unsigned machine_features() noexcept;

/// From now on machine_features() are those of `allowed` that the machine has: what a lesser one would run, for
/// measurements and tests. No other thread calls the library meanwhile.
void allow_features(unsigned allowed) noexcept;

/// Names of the kernel sets that were compiled and that this machine can run, best first; the scalar set is always the
/// last.
std::span<const std::string_view> runnable_names() noexcept;

/// The first of them.
const kernel_set& best_kernels() noexcept;

/// The set of that name, "auto" being the best; null when it was not compiled or the machine lacks it.
const kernel_set* find_kernels(std::string_view name) noexcept;

}  // namespace boxsum::cpu
