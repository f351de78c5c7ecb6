#define BOXSUM_ROWS avx2
#define BOXSUM_ROWS_BYTES 32
#include "apps/row_kernels_impl.hpp"
