#pragma once

#include "convolve/job.hpp"
#include "core/problem.hpp"

namespace boxsum::convolution {

/// A job as the registry takes it, to which it points.
inline problem as_problem(const job& j) {
    problem p;
    p.what = operation::convolve;
    p.image = j.image;
    p.table = j.result;
    p.convolution = &j;
    return p;
}

}  // namespace boxsum::convolution
