#pragma once

#include "core/algorithm_record.hpp"
#include "reference/conformance.hpp"
#include "reference/histogram_conformance.hpp"

#include <boxsum/sat_plan.hpp>

#include <cstddef>

/// What the rest of the library asks of the CUDA runtime. Host-only; in a build without CUDA every function that needs
/// a device throws unsupported (unavailable.cpp).
namespace boxsum::cuda {

/// Workspace of a record for a problem: the header and what the record asks for; 0 for a record that needs neither.
std::size_t total_workspace_bytes(const algorithm_record& record, std::size_t record_bytes);

/// Splits a whole workspace (in `how.workspace`, `how.workspace_bytes`) into the header and what is behind it.
execution behind_header(execution how);

/// Enqueued behind a record's kernels: what a record that leaves scratch may have written becomes zero again.
void restore_contract(const algorithm_record& record, std::size_t record_bytes, const execution& how);

/// Runs a supported problem of a CUDA record on an initialised workspace (the whole, as for behind_header) and keeps
/// the workspace contract.
void enqueue_in_workspace(const algorithm_record& record, const problem& p, const buffers& memory, execution how);

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
