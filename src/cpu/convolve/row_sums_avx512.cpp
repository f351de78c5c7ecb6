#define BOXSUM_ROWS avx512
#define BOXSUM_ROWS_BYTES 64
#include "cpu/convolve/row_sums_impl.hpp"
