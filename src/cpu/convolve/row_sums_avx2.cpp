#define BOXSUM_ROWS avx2
#define BOXSUM_ROWS_BYTES 32
#include "cpu/convolve/row_sums_impl.hpp"
