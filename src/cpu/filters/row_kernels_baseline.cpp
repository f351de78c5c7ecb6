#define BOXSUM_ROWS baseline
#define BOXSUM_ROWS_BYTES 16
#include "cpu/filters/row_kernels_impl.hpp"
