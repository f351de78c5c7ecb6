#pragma once

#include <boxsum/cuda/sat.hpp>

namespace boxsum::cuda {

/// The plan of the device for these views; of the last calls' plans, or made.
sat_plan cached_plan(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options, int device);

}  // namespace boxsum::cuda
