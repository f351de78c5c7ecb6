#pragma once

#include <boxsum/shadow.hpp>

#include <cstdint>

namespace boxsum {

/// What variance_shadows() and its namesake on devices compute from, besides the views.
struct shadow_job {
    std::int64_t rows = 0, cols = 0;  ///< of the map
    double offset = 0;                ///< that every depth of the map is less
};

/// Throws what variance_shadows() promises for wrong arguments. Looks at no memory.
shadow_job checked_shadows(const shadow_inputs& inputs, const shadow_outputs& outputs, const shadow_options& options);

}  // namespace boxsum
