#pragma once

#include <boxsum/sat.hpp>

namespace boxsum {

/// Whether a call has pixels that may not count, or wants to know how many do.
bool some_may_not_count(const sat_inputs& inputs, const sat_outputs& outputs);
bool some_may_not_count(const sat_shapes& shapes);

/// Throws what sat() promises for shapes of such calls that make_problem() takes.
void check_sampled(const sat_shapes& shapes);

/// Throws what sat() promises for such calls but for what is asked of memory; of views on devices, too.
void check_sampled(const sat_inputs& inputs, const sat_outputs& outputs);

/// sat() of such calls: tables of an image in which pixels that do not count are 0, and of what counts.
void sampled_sat(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options);

}  // namespace boxsum
