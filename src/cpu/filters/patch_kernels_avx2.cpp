#define BOXSUM_ROWS avx2
#include "cpu/filters/patch_kernels_impl.hpp"
