#define BOXSUM_ROWS baseline
#define BOXSUM_ROWS_BYTES 16
#include "apps/row_kernels_impl.hpp"
