#define BOXSUM_ROWS baseline
#define BOXSUM_ROWS_BYTES 16
#include "cpu/filters/byte_windows_impl.hpp"
