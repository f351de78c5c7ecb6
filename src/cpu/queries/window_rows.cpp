#include "cpu/queries/window_rows.hpp"

#include "cpu/instruction_set.hpp"

namespace boxsum::cpu {

const window_row_kernels& window_rows_of_this_machine() {
#if defined(__x86_64__)
    const unsigned has = machine_features();
    if ((has & has_avx512) != 0) return avx512::window_rows;
    if ((has & has_avx2) != 0) return avx2::window_rows;
#endif
    return baseline::window_rows;
}

}  // namespace boxsum::cpu
