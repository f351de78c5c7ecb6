#pragma once

#include "verify/conformance.hpp"
#include "verify/histogram_conformance.hpp"

/// The conformance cases on a device. Host-only; in a build without CUDA they throw unsupported.
namespace boxsum::cuda {

/// How the runner of the conformance cases treats the workspace.
enum class workspace_reuse {
    fresh,   ///< poisoned, then initialised, for every case
    shared,  ///< initialised once; all cases of all records follow one another in it
    exact,   ///< fresh, and every block is allocated for its case with nothing behind its last element: memory checkers
             ///< then see every access outside
};

/// Runs device records on host blocks: whole blocks with their poisoned gaps go to the device and come back, at the
/// same alignment; the bytes around the workspace are checked. Throws error when they were written, cuda_error when a
/// kernel failed. Each runner has its stream and memory; it may be called by one thread at a time.
record_runner device_runner(workspace_reuse reuse = workspace_reuse::fresh);

/// The same for records of integral histograms, whose workspaces are poisoned and nothing else before every case. Other
/// than for `exact`, every block lies between guards.
histogram_runner device_histogram_runner(workspace_reuse reuse = workspace_reuse::fresh);

}  // namespace boxsum::cuda
