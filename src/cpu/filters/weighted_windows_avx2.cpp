#define BOXSUM_ROWS avx2
#define BOXSUM_ROWS_BYTES 32
#include "cpu/filters/weighted_windows_impl.hpp"
