#pragma once

/// Before a loop: its iterations do not depend on each other, although pointers do not tell.
#if defined(__clang__)
#define BOXSUM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define BOXSUM_INDEPENDENT _Pragma("GCC ivdep")
#endif
