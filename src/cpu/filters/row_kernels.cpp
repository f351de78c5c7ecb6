#include "cpu/filters/row_kernels.hpp"

#include "cpu/instruction_set.hpp"

namespace boxsum::filters {

const row_kernels& rows_of_this_machine() {
#if defined(__x86_64__)
    const unsigned has = cpu::machine_features();
    if ((has & cpu::has_avx512) != 0) return avx512::rows;
    if ((has & cpu::has_avx2) != 0) return avx2::rows;
#endif
    return baseline::rows;
}

}  // namespace boxsum::filters
