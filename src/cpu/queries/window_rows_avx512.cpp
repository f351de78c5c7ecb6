#define BOXSUM_ROWS avx512
#include "cpu/queries/window_rows_impl.hpp"
