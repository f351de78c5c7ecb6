#define BOXSUM_ROWS avx2
#include "cpu/filters/guided_kernels_impl.hpp"
