#include "cpu/instruction_set.hpp"

#include <array>
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

struct runnable {
    std::array<const kernel_set*, 4> sets{};
    std::array<std::string_view, 4> names{};
    std::size_t count = 0;

    runnable() {
#if defined(__x86_64__)
        // These builtins ask CPUID, and the operating system whether it saves the registers.
        __builtin_cpu_init();
        const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
        const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
        if (avx512 && __builtin_cpu_supports("avx512vnni")) add(avx512_vnni_kernels);
        if (avx512) add(avx512_kernels);
        if (avx2) add(avx2_kernels);
#elif defined(__aarch64__)
        add(neon_kernels);  // part of the base architecture
#endif
        add(scalar_kernels);
    }

    void add(const kernel_set& set) {
        sets[count] = &set;
        names[count] = set.name;
        ++count;
    }
};

const runnable& detected() noexcept {
    static const runnable result;
    return result;
}

}  // namespace

std::span<const kernel_set* const> runnable_kernels() noexcept {
    return {detected().sets.data(), detected().count};
}

std::span<const std::string_view> runnable_names() noexcept {
    return {detected().names.data(), detected().count};
}

const kernel_set* find_kernels(std::string_view name) noexcept {
    if (name == "auto") return runnable_kernels().front();
    for (const kernel_set* set : runnable_kernels())
        if (name == set->name) return set;
    return nullptr;
}

}  // namespace boxsum::cpu
