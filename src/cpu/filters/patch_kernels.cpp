#include "cpu/filters/patch_kernels.hpp"

#include "cpu/instruction_set.hpp"

namespace boxsum::filters {

const patch_kernels& patches_of_this_machine() {
#if defined(__x86_64__)
    const unsigned has = cpu::machine_features();
    if ((has & cpu::has_avx512) != 0) return avx512::patches;
    if ((has & cpu::has_avx2) != 0) return avx2::patches;
#endif
    return baseline::patches;
}

}  // namespace boxsum::filters
