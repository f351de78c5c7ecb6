#pragma once

#include <boxsum/export.hpp>

/// The version of the headers that a program was compiled with. `boxsum::version()` is the version of the library that
/// it runs with.
#define BOXSUM_VERSION_MAJOR 0
#define BOXSUM_VERSION_MINOR 9
#define BOXSUM_VERSION_PATCH 0
#define BOXSUM_VERSION_STRING "0.9.0"

namespace boxsum BOXSUM_EXPORT {

/// The version of the linked library, "major.minor.patch".
const char* version() noexcept;

/// What the linked library was built with: compiler, CUDA toolkit or "none", and the list of type pairs compiled for
/// CUDA ("min", "paper", "all" or "none"). One line, for bug reports.
const char* build_description() noexcept;

}  // namespace boxsum
