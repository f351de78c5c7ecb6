#pragma once

#include <boxsum/error.hpp>

namespace boxsum {

/// What everything that needs CUDA does in a build without.
[[noreturn]] inline void refuse() {
    throw unsupported("device: this boxsum was built without CUDA");
}

}  // namespace boxsum
