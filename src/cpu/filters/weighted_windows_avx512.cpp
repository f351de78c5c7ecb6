#define BOXSUM_ROWS avx512
#define BOXSUM_ROWS_BYTES 64
#include "cpu/filters/weighted_windows_impl.hpp"
