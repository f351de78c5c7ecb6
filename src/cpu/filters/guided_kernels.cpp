#include "cpu/filters/guided_kernels.hpp"

#include "cpu/instruction_set.hpp"

namespace boxsum::filters {

const guided_kernels& guided_of_this_machine() {
#if defined(__x86_64__)
    const unsigned has = cpu::machine_features();
    if ((has & cpu::has_avx512) != 0) return avx512::guided;
    if ((has & cpu::has_avx2) != 0) return avx2::guided;
#endif
    return baseline::guided;
}

}  // namespace boxsum::filters
