#define BOXSUM_ROWS avx2
#include "cpu/queries/window_rows_impl.hpp"
