#define BOXSUM_ROWS baseline
#include "cpu/queries/window_rows_impl.hpp"
