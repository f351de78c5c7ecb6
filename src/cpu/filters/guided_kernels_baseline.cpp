#define BOXSUM_ROWS baseline
#include "cpu/filters/guided_kernels_impl.hpp"
