#define BOXSUM_ROWS baseline
#define BOXSUM_ROWS_BYTES 16
#include "cpu/convolve/row_sums_impl.hpp"
