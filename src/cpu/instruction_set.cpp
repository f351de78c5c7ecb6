#include "cpu/instruction_set.hpp"

#include <array>
#include <atomic>
#include <cstddef>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace boxsum::cpu {
namespace {

#if defined(__x86_64__)
/// clang 14 has no __builtin_cpu_supports("f16c").
bool has_f16c() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

constexpr unsigned detected = 1u << 31;

/// What machine_features() found, once it has looked. No guarded static, which a fork may leave taken.
constinit std::atomic<unsigned> known{0};

unsigned detect() {
    unsigned found = detected;
#if defined(__x86_64__)
    // These builtins ask CPUID, and the operating system whether it saves the registers.
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c()) return found;
    found |= has_avx2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
        return found;
    found |= has_avx512;
    if (__builtin_cpu_supports("avx512vnni")) found |= has_avx512_vnni;
    if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bitalg") &&
        __builtin_cpu_supports("avx512vpopcntdq"))
        found |= has_avx512_bits;
#endif
    return found;
}

/// Best first. Each needs what the next one needs, so those that can run are the last ones of the list.
#if defined(__x86_64__)
constexpr std::array<const kernel_set*, 4> sets{&avx512_vnni_kernels, &avx512_kernels, &avx2_kernels, &scalar_kernels};
constexpr std::array<std::string_view, 4> names{"avx512-vnni", "avx512", "avx2", "scalar"};
std::size_t first_runnable() noexcept {
    const unsigned has = machine_features();
    return (has & has_avx512_vnni) != 0 ? 0 : (has & has_avx512) != 0 ? 1 : (has & has_avx2) != 0 ? 2 : 3;
}
#elif defined(__aarch64__)  // where it is part of the base architecture
constexpr std::array<const kernel_set*, 2> sets{&neon_kernels, &scalar_kernels};
constexpr std::array<std::string_view, 2> names{"neon", "scalar"};
std::size_t first_runnable() noexcept {
    return 0;
}
#else
constexpr std::array<const kernel_set*, 1> sets{&scalar_kernels};
constexpr std::array<std::string_view, 1> names{"scalar"};
std::size_t first_runnable() noexcept {
    return 0;
}
#endif

}  // namespace

unsigned machine_features() noexcept {
    // Whoever comes first at the same time finds the same.
    unsigned found = known.load(std::memory_order_relaxed);
    if (found == 0) known.store(found = detect(), std::memory_order_relaxed);
    return found & ~detected;
}

void use_only(unsigned features) noexcept {
    known.store((detect() & features) | detected, std::memory_order_relaxed);
}

std::span<const std::string_view> runnable_names() noexcept {
    return std::span(names).subspan(first_runnable());
}

const kernel_set& best_kernels() noexcept {
    return *sets[first_runnable()];
}

const kernel_set* find_kernels(std::string_view name) noexcept {
    if (name == "auto") return &best_kernels();
    for (std::size_t i = first_runnable(); i < sets.size(); ++i)
        if (name == names[i]) return sets[i];
    return nullptr;
}

}  // namespace boxsum::cpu
