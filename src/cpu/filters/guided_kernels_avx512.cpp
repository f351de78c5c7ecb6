#define BOXSUM_ROWS avx512
#include "cpu/filters/guided_kernels_impl.hpp"
