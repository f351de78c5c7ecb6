#define BOXSUM_ROWS baseline
#include "cpu/filters/patch_kernels_impl.hpp"
