#pragma once

#include "core/problem.hpp"

#include <boxsum/sat.hpp>

namespace boxsum {

/// sat() for a form with an offset or an origin. The problem is checked, and its pixels lie side by side.
void make_shifted_tables(const problem& p, const const_any_view& image, const sat_outputs& outputs,
                         const sat_options& options);

}  // namespace boxsum
