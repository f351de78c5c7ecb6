#define BOXSUM_ROWS avx512
#include "cpu/filters/patch_kernels_impl.hpp"
