#define BOXSUM_ROWS avx512
#define BOXSUM_ROWS_BYTES 64
#include "cpu/filters/row_kernels_impl.hpp"
