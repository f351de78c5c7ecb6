#pragma once

/// What host and device both compute, in headers that either compiles.
#ifdef __CUDACC__
#define BOXSUM_HOST_DEVICE __host__ __device__
#else
#define BOXSUM_HOST_DEVICE
#endif
