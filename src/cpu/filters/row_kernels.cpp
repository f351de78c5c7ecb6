#include "cpu/filters/row_kernels.hpp"

namespace boxsum::filters {

const row_kernels& rows_of_this_machine() {
#if defined(__x86_64__)
    static const row_kernels& best = []() -> const row_kernels& {
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
            return avx512::rows;
        if (__builtin_cpu_supports("avx2")) return avx2::rows;
        return baseline::rows;
    }();
    return best;
#else
    return baseline::rows;
#endif
}

}  // namespace boxsum::filters
