#pragma once

/// BOXSUM_EXPORT: what a shared library of boxsum shows. Stands behind `namespace boxsum` in the public headers, so
/// that everything they declare is exported and nothing that sources add, and before function templates that sources
/// instantiate: GCC takes the namespace's for functions alone. A shared library is built,
/// and its users compile, with BOXSUM_SHARED, which the CMake target and the pkg-config file define. Of a static one
/// nothing is exported, so that whoever links it into a library of their own does not show boxsum's names.
#if defined(BOXSUM_SHARED)
#define BOXSUM_EXPORT __attribute__((visibility("default")))
#else
#define BOXSUM_EXPORT
#endif
