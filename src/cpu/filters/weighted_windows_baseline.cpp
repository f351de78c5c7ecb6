#define BOXSUM_ROWS baseline
#define BOXSUM_ROWS_BYTES 16
#include "cpu/filters/weighted_windows_impl.hpp"
